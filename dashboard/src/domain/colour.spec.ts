import { expect, test } from 'vitest'

import { contrast, isColour, palette } from './colour'

test('a colour that reads on both pages stays as it is', () => {
  expect(palette('#c2185b')).toMatchObject({ brand: '#c2185b', onBrand: '#ffffff', accentLight: '#c2185b' })
})

test('whatever the brand, everything can be read', () => {
  for (const colour of ['#ffff00', '#000000', '#ffffff', '#7fffd4', '#123456', '#808080', '#ff0000']) {
    const made = palette(colour)
    expect(contrast(made.onBrand, made.brand)).toBeGreaterThanOrEqual(4.5)
    expect(contrast(made.accentLight, made.pageLight)).toBeGreaterThanOrEqual(4.5)
    expect(contrast(made.accentDark, made.pageDark)).toBeGreaterThanOrEqual(4.5)
  }
})

test('a bright colour is darkened for light pages', () => {
  expect(palette('#ffd400').accentLight).not.toBe('#ffd400')
  expect(palette('#ffd400').onBrand).toBe('#000000')
})

test('only six hexadecimal digits are a colour', () => {
  expect(['#C2185b', '#fff', 'c2185b', '#c2185g', ''].map(isColour)).toEqual([true, false, false, false, false])
})
