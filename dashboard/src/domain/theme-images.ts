import { isImage, textOf, type ThemeFiles } from './theme-files'

/** An image file and the themes that have it. */
export interface ThemeImage {
  path: string
  themes: string[]
  content: Uint8Array<ArrayBuffer>
}

/** The image files of themes. For equal paths, the content of the first theme is used. */
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

/** Whether the browser can render an image. */
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
