import { expect, test } from 'vitest'

const sources = import.meta.glob<string>('../views/**/*.vue', { query: '?raw', import: 'default', eager: true })

test('every view with a list imports the list styles', () => {
  const lists = Object.entries(sources).filter(([, source]) => /class="table list\b/.test(source))
  expect(lists.length).toBeGreaterThan(5)
  expect(lists.filter(([, source]) => !source.includes("import '@/styles/list.css'")).map(([path]) => path)).toEqual([])
})
