import { computed, shallowRef, type ComputedRef, type ShallowRef } from 'vue'
import { useQuery, type UseQueryReturnType } from '@tanstack/vue-query'

import { queryClient, queryKeys } from '@/api/queries'
import { useAction } from '@/composables/useAction'
import { unzip } from '@/domain/archive'
import { areSame, base64, themeIn, type ThemeFiles } from '@/domain/theme-files'
import { CODES, problemOf, type Problem } from '@/api/problem'
import { validateTheme, listVersions, activateVersion, downloadVersion, downloadLive, deactivateTheme, createVersion } from '@/api/themes'
import type { ThemeVersions, ThemeVersionView } from '@/api/types'

/** A draft of a theme: edited files, based on a stored version. */
export interface ThemeDraft {
  versions: UseQueryReturnType<ThemeVersions, Error>
  files: ShallowRef<ThemeFiles>
  /** The version that the draft is based on; `undefined` before the first upload, also for files that were copied by hand. */
  base: ShallowRef<ThemeVersionView | undefined>
  /** Whether the files differ from the base. */
  isChanged: ComputedRef<boolean>
  /** Problem of the last action. */
  problem: ComputedRef<Problem | undefined>
  /** Whether the files are those of the last action. */
  isTried: ComputedRef<boolean>
  isBusy: ComputedRef<boolean>
  /** Replaces the draft by the files of a version. */
  open(version: ThemeVersionView): Promise<boolean>
  write(path: string, content: Uint8Array<ArrayBuffer> | undefined): void
  writeAll(files: ThemeFiles): void
  /** Validates the files. */
  check(): Promise<boolean>
  /** Saves the files as a version that is not live yet. */
  save(): Promise<boolean>
  /** Activates a version. */
  activate(version: ThemeVersionView): Promise<boolean>
  /** Deactivates the theme. */
  deactivate(): Promise<boolean>
  /** Discards the changes. */
  drop(): void
}

/** A draft that starts with the newest version, or with the files that were copied by hand if there is no version and the theme `isLive`. */
export function useThemeDraft(theme: string, isLive = false): ThemeDraft {
  const files = shallowRef<ThemeFiles>(new Map())
  const initial = shallowRef<ThemeFiles>(new Map())
  const base = shallowRef<ThemeVersionView>()
  const tried = shallowRef<ThemeFiles>()
  const isChanged = computed(() => !areSame(files.value, initial.value))

  const versions = useQuery(
    {
      queryKey: queryKeys.themeVersions(theme),
      queryFn: async () => {
        const found = await listVersions(theme)
        base.value = found.versions.find(({ id }) => id === base.value?.id) ?? base.value
        const first = found.versions[0]
        if (!base.value && !isChanged.value) {
          if (first) await read(first)
          else if (isLive) await load(await downloadLive(theme))
        }
        return found
      },
      gcTime: 0,
    },
    queryClient,
  )

  async function load(archive: ArrayBuffer): Promise<void> {
    initial.value = themeIn(await unzip(archive))
    files.value = initial.value
  }

  async function read(version: ThemeVersionView): Promise<void> {
    await load(await downloadVersion(theme, version.id))
    base.value = version
  }

  /** Changes what is live, over the revision that the operator sees. After a conflict, the current versions are loaded. */
  async function atKnownRevision<T>(change: (revision: number) => Promise<T>): Promise<T> {
    try {
      return await change(versions.data.value?.revision ?? 0)
    } catch (error) {
      if (problemOf(error).code === CODES.revisionConflict) await versions.refetch()
      throw error
    }
  }

  const opening = useAction(read)
  const checking = useAction(async () => {
    await validateTheme(theme, uploaded(files.value))
  })
  const saving = useAction(async () => {
    const kept = files.value
    base.value = await createVersion(theme, uploaded(kept))
    initial.value = kept
    await versions.refetch()
  })
  const activating = useAction(async (version: ThemeVersionView) => {
    const live = await atKnownRevision((revision) => activateVersion(theme, version.id, revision))
    if (base.value?.id === live.id) base.value = live
    await versions.refetch()
  })
  const deactivating = useAction(async () => {
    await atKnownRevision((revision) => deactivateTheme(theme, revision))
    await versions.refetch()
  })
  const tasks = [opening, checking, saving, activating, deactivating]

  function write(path: string, content: Uint8Array<ArrayBuffer> | undefined): void {
    const now = new Map(files.value)
    if (content) now.set(path, content)
    else now.delete(path)
    files.value = now
  }

  /** Running a task clears the problems of all tasks. */
  const run = <A extends unknown[]>(task: { run(...args: A): Promise<boolean> }) => (...args: A) => {
    for (const { problem } of tasks) problem.value = undefined
    tried.value = files.value
    return task.run(...args)
  }

  return {
    versions,
    files,
    base,
    isChanged,
    isTried: computed(() => files.value === tried.value),
    problem: computed(() => tasks.find(({ problem }) => problem.value)?.problem.value),
    isBusy: computed(() => tasks.some(({ isBusy }) => isBusy.value)),
    open: run(opening),
    write,
    writeAll: (all) => (files.value = new Map(all)),
    check: run(checking),
    save: run(saving),
    activate: run(activating),
    deactivate: run(deactivating),
    drop: () => (files.value = initial.value),
  }
}

function uploaded(files: ThemeFiles) {
  return [...files].map(([path, content]) => ({ path, base64: base64(content) }))
}
