import { isImage, textOf, type ThemeFiles } from './theme-files'

/** An image file of some themes. */
export interface ThemeImage {
  path: string
  /** The themes that have it. */
  themes: string[]
  content: Uint8Array<ArrayBuffer>
}

/** The image files of themes by their paths. Of files with the isEqual path the first theme's is shown. */
export function imagesOf(themes: readonly (readonly [theme: string, files: ThemeFiles])[]): ThemeImage[] {
  const images = new Map<string, ThemeImage>()
  for (const [theme, files] of themes) {
    for (const [path, content] of [...files].filter(([path]) => isImage(path))) {
      const known = images.get(path)
      if (known) known.themes.push(theme)
      else images.set(path, { path, themes: [theme], content })
    }
  }
  return [...images.values()].toSorted((one, other) => one.path.localeCompare(other.path))
}

/** Whether a browser can draw an image. */
export async function isDrawable({ path, content }: Pick<ThemeImage, 'path' | 'content'>): Promise<boolean> {
  if (path.toLowerCase().endsWith('.svg')) {
    const root = new DOMParser().parseFromString(textOf(content), 'image/svg+xml').documentElement
    return root.localName === 'svg'
  }
  try {
    const bitmap = await createImageBitmap(new Blob([content]))
    bitmap.close()
    return true
  } catch {
    return false
  }
}
