import { useRouter } from 'vue-router'

import { useTask } from '@/composables/task'
import { removeTheme } from '@/services/themes'
import { useConfirmation } from '@/stores/confirmation'
import { useNotices } from '@/stores/notices'
import type { ThemeVersionView } from '@/services/types'

import { useThemeTexts } from './texts'
import type { Work } from './work'

/** What is done with a theme, with what is asked before and said after it. */
export interface Steps {
  check(): Promise<void>
  save(): Promise<void>
  /** Resolves to whether it was published. */
  publish(version: ThemeVersionView): Promise<boolean>
  open(version: ThemeVersionView): Promise<void>
  unpublish(): Promise<void>
  /** Removes the theme, and leaves its page. */
  remove(): Promise<boolean>
}

export function useSteps(work: Work, theme: string): Steps {
  const t = useThemeTexts()
  const confirmation = useConfirmation()
  const notices = useNotices()
  const router = useRouter()

  async function check(): Promise<void> {
    if (await work.check()) notices.done(t.value.checked)
  }

  async function save(): Promise<void> {
    if (await work.save()) notices.done(t.value.saved)
  }

  async function publish(version: ThemeVersionView): Promise<boolean> {
    if (!(await confirmation.ask({ title: t.value.publishTitle, body: t.value.publishBody, action: t.value.publish }))) return false
    const isDone = await work.publish(version)
    if (isDone) notices.done(t.value.published)
    return isDone
  }

  async function open(version: ThemeVersionView): Promise<void> {
    const question = { title: t.value.openTitle, body: t.value.unsavedBody, action: t.value.discard, isDangerous: true }
    if (!work.isChanged.value || (await confirmation.ask(question))) await work.open(version)
  }

  async function unpublish(): Promise<void> {
    const question = { title: t.value.unpublishTitle, body: t.value.unpublishBody, action: t.value.unpublish, isDangerous: true }
    if ((await confirmation.ask(question)) && (await work.unpublish())) notices.done(t.value.unpublished)
  }

  const { run: remove } = useTask(async () => {
    const question = { title: t.value.removeTitle(theme), body: t.value.removeBody, action: t.value.remove, isDangerous: true, typed: theme }
    if (!(await confirmation.confirmed((token) => removeTheme(theme, token), question))) return
    work.drop()
    notices.done(t.value.removed(theme))
    await router.push({ name: 'themes' })
  }, true)

  return { check, save, publish, open, unpublish, remove }
}
