import { readFileSync } from 'node:fs'

import { expect, test } from 'vitest'

test('a dialog that opens over another one dims it', () => {
  const style = readFileSync('src/components/BaseDialog.vue', 'utf8').split('<style>')[1] ?? ''
  const layerOf = (selector: string) => Number(/z-index: (\d+)/.exec(style.split(`\n${selector} {`)[1] ?? '')?.[1])
  // The later one of the same layer is in front, so the overlay of the second dialog covers the first dialog.
  expect(layerOf('.overlay')).toBe(layerOf('.dialog'))
})
