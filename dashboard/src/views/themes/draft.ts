import { computed, shallowRef, watch, type ComputedRef, type Ref, type ShallowRef } from 'vue'
import { useQuery, type UseQueryReturnType } from '@tanstack/vue-query'

import { queryClient, queryKeys } from '@/api/queries'
import { useAction } from '@/composables/useAction'
import { unzip } from '@/domain/archive'
import { areSame, base64, themeIn, type ThemeFiles } from '@/domain/theme-files'
import { CODES, problemOf, type Problem } from '@/api/problem'
import { validateTheme, listVersions, activateVersion, downloadVersion, downloadLive, deactivateTheme, createVersion } from '@/api/themes'
import type { ThemeVersions, ThemeVersionView } from '@/api/types'

/** A theme that is edited: files in this page, based on a stored version. */
export interface ThemeDraft {
  versions: UseQueryReturnType<ThemeVersions, Error>
  files: ShallowRef<ThemeFiles>
  /** The version that the files are based on; none if nothing was uploaded yet, though files may have been copied by hand. */
  base: ShallowRef<ThemeVersionView | undefined>
  /** Whether the files differ from it. */
  isChanged: ComputedRef<boolean>
  /** Why the last action failed. */
  problem: ComputedRef<Problem | undefined>
  /** Whether the server validated the files as they are now. */
  isChecked: Ref<boolean>
  isBusy: ComputedRef<boolean>
  /** Starts again with the files of a version. */
  open(version: ThemeVersionView): Promise<boolean>
  write(path: string, content: Uint8Array<ArrayBuffer> | undefined): void
  writeAll(files: ThemeFiles): void
  /** Validates the files on the server. */
  check(): Promise<boolean>
  /** Stores the files as a version, which visitors do not see yet. */
  save(): Promise<boolean>
  /** Makes a version live. */
  publish(version: ThemeVersionView): Promise<boolean>
  /** Deactivates the theme. */
  unpublish(): Promise<boolean>
  /** Discards the changes. */
  drop(): void
}

/** Starts with the newest version. Without any version, a theme that `isLive` starts with the files that were copied by hand. */
export function useThemeDraft(theme: string, isLive = false): ThemeDraft {
  const files = shallowRef<ThemeFiles>(new Map())
  const initial = shallowRef<ThemeFiles>(new Map())
  const base = shallowRef<ThemeVersionView>()
  const isChecked = shallowRef(false)
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
          else if (isLive) await begin(await downloadLive(theme))
        }
        return found
      },
      gcTime: 0,
    },
    queryClient,
  )

  async function begin(archive: ArrayBuffer): Promise<void> {
    initial.value = themeIn(await unzip(archive))
    files.value = initial.value
  }

  async function read(version: ThemeVersionView): Promise<void> {
    await begin(await downloadVersion(theme, version.id))
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
    isChecked.value = true
  })
  const saving = useAction(async () => {
    const kept = files.value
    base.value = await createVersion(theme, uploaded(kept))
    initial.value = kept
    isChecked.value = true
    await versions.refetch()
  })
  const publishing = useAction(async (version: ThemeVersionView) => {
    const live = await atKnownRevision((revision) => activateVersion(theme, version.id, revision))
    if (base.value?.id === live.id) base.value = live
    await versions.refetch()
  })
  const unpublishing = useAction(async () => {
    await atKnownRevision((revision) => deactivateTheme(theme, revision))
    await versions.refetch()
  })
  const tasks = [opening, checking, saving, publishing, unpublishing]

  function write(path: string, content: Uint8Array<ArrayBuffer> | undefined): void {
    const now = new Map(files.value)
    if (content) now.set(path, content)
    else now.delete(path)
    files.value = now
  }

  watch(files, () => (isChecked.value = false))
  /** An action clears the problems of the others. */
  const run = <A extends unknown[]>(task: { run(...given: A): Promise<boolean> }) => (...given: A) => {
    for (const { problem } of tasks) problem.value = undefined
    return task.run(...given)
  }

  return {
    versions,
    files,
    base,
    isChanged,
    isChecked,
    problem: computed(() => tasks.find(({ problem }) => problem.value)?.problem.value),
    isBusy: computed(() => tasks.some(({ isBusy }) => isBusy.value)),
    open: run(opening),
    write,
    writeAll: (all) => (files.value = new Map(all)),
    check: run(checking),
    save: run(saving),
    publish: run(publishing),
    unpublish: run(unpublishing),
    drop: () => (files.value = initial.value),
  }
}

function uploaded(files: ThemeFiles) {
  return [...files].map(([path, content]) => ({ path, base64: base64(content) }))
}
