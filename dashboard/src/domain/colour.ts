// A brand's one colour, and what queue pages make of it: the same sums as in crates/themes/src/colour.rs, so that the
// dashboard shows beforehand what visitors will see.

/** Contrast of text with what is behind it that WCAG 2.2 AA asks for. */
const READABLE = 4.5
/** The same for the accent on dark pages. */
const READABLE_ON_DARK = 6
const BLACK: Rgb = [0, 0, 0]
const WHITE: Rgb = [255, 255, 255]
const LIGHT_PAGE: Rgb = [247, 248, 250]
const DARK_PAGE: Rgb = [18, 20, 25]
const DARK_CARD: Rgb = [27, 30, 37]

/** The built-in theme's own colour. */
export const DEFAULT_COLOUR = '#2e5bd6'

type Rgb = readonly [number, number, number]

/** The colours of a page, all as `#rrggbb`. */
export interface Palette {
  brand: string
  /** Black or white, whichever is easier to read on it. */
  onBrand: string
  /** As dark as a light page needs it. */
  accentLight: string
  /** As light as a dark page needs it. */
  accentDark: string
  pageLight: string
  pageDark: string
  /** The glow at the top. */
  glowLight: string
  glowDark: string
}

/** Whether a text is a colour as the API takes it. */
export const isColour = (text: string) => /^#[0-9a-f]{6}$/i.test(text)

/** What pages make of a colour. */
export function palette(colour: string): Palette {
  const brand = parsed(colour)
  const light = mixed(LIGHT_PAGE, brand, 2)
  const dark = mixed(DARK_PAGE, brand, 3)
  return {
    brand: written(brand),
    onBrand: written(ratio(brand, WHITE) >= ratio(brand, BLACK) ? WHITE : BLACK),
    accentLight: written(readableOn(brand, [WHITE, light], READABLE, BLACK)),
    accentDark: written(readableOn(brand, [DARK_CARD, dark], READABLE_ON_DARK, WHITE)),
    pageLight: written(light),
    pageDark: written(dark),
    glowLight: written(mixed(light, brand, 14)),
    glowDark: written(mixed(dark, brand, 24)),
  }
}

/** Contrast of two colours, from 1 to 21. */
export const contrast = (one: string, other: string) => ratio(parsed(one), parsed(other))

function ratio(one: Rgb, other: Rgb): number {
  const [a, b] = [luminance(one), luminance(other)]
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
}

function luminance(rgb: Rgb): number {
  const [red, green, blue] = rgb.map((channel) => {
    const share = channel / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }) as unknown as Rgb
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function mixed(one: Rgb, other: Rgb, percent: number): Rgb {
  return one.map((channel, index) => Math.round(channel + ((other[index] ?? 0) - channel) * (percent / 100))) as unknown as Rgb
}

function readableOn(colour: Rgb, grounds: Rgb[], least: number, other: Rgb): Rgb {
  for (let percent = 0; percent <= 100; percent += 4) {
    const found = mixed(colour, other, percent)
    if (grounds.every((ground) => ratio(found, ground) >= least)) return found
  }
  return other
}

function parsed(colour: string): Rgb {
  const value = Number.parseInt(colour.slice(1), 16)
  return [value >> 16, (value >> 8) & 255, value & 255]
}

function written(rgb: Rgb): string {
  return `#${rgb.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`
}
