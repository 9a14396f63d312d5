import { useRouter } from 'vue-router'

import { t } from '@/i18n'
import { useAction } from '@/composables/useAction'
import { removeTheme } from '@/api/themes'
import { useConfirmationStore } from '@/stores/confirmation'
import { useNotificationStore } from '@/stores/notifications'
import type { ThemeVersionView } from '@/api/types'

import type { ThemeDraft } from './draft'

/** Actions on a theme with confirmations and messages. */
export interface ThemeActions {
  check(): Promise<void>
  save(): Promise<void>
  /** Resolves to whether the version was activated. `isUnused` if no queue uses the theme. */
  activate(version: ThemeVersionView, isUnused: boolean): Promise<boolean>
  open(version: ThemeVersionView): Promise<void>
  deactivate(): Promise<void>
  /** Removes the theme and leaves its page. */
  remove(): Promise<boolean>
}

export function useThemeActions(work: ThemeDraft, theme: string): ThemeActions {
  const confirmation = useConfirmationStore()
  const notifications = useNotificationStore()
  const router = useRouter()

  async function check(): Promise<void> {
    if (await work.check()) notifications.done(t('themes.checked'))
  }

  async function save(): Promise<void> {
    if (await work.save()) notifications.done(t('themes.saved'))
  }

  async function activate(version: ThemeVersionView, isUnused: boolean): Promise<boolean> {
    if (!(await confirmation.ask({ title: t('themes.activateTitle'), body: t('themes.activateBody'), action: t('themes.activate') }))) return false
    const isDone = await work.activate(version)
    if (isDone) notifications.done(isUnused ? t('themes.activatedUnused') : t('themes.activated'))
    return isDone
  }

  async function open(version: ThemeVersionView): Promise<void> {
    const question = { title: t('themes.openTitle'), body: t('themes.unsavedBody'), action: t('themes.discard'), isDangerous: true }
    if (!work.isChanged.value || (await confirmation.ask(question))) await work.open(version)
  }

  async function deactivate(): Promise<void> {
    const isCopied = work.versions.data.value?.revision === 0
    const body = isCopied ? t('themes.deactivateCopiedBody') : t('themes.deactivateBody')
    const question = { title: t('themes.deactivateTitle'), body, action: t('themes.deactivate'), isDangerous: true }
    if ((await confirmation.ask(question)) && (await work.deactivate())) notifications.done(t('themes.deactivated'))
  }

  const { run: remove } = useAction(async () => {
    const question = { title: t('themes.removeTitle', { theme }), body: t('themes.removeBody'), action: t('themes.remove'), isDangerous: true, typed: theme }
    if (!(await confirmation.confirmed((token) => removeTheme(theme, token), question))) return
    work.drop()
    notifications.done(t('themes.removed', { theme }))
    await router.push({ name: 'themes' })
  }, true)

  return { check, save, activate, open, deactivate, remove }
}
