import { effectScope, nextTick, ref } from 'vue'
import { expect, test } from 'vitest'

import { useStableOrder } from './useStableOrder'

function list() {
  const given = ref(['a', 'b', 'c'])
  const scope = effectScope()
  const steady = scope.run(() => useStableOrder(() => given.value, (item) => item))!
  return { given, ...steady }
}

const pointer = { pointerType: 'mouse' } as PointerEvent

test('items follow the given order without hover or focus', async () => {
  const { given, items } = list()
  given.value = ['c', 'b', 'a']
  await nextTick()
  expect(items.value).toEqual(['c', 'b', 'a'])
})

test('items keep their order on hover and new ones come last', async () => {
  const { given, items, on } = list()
  on.pointerenter!(pointer)
  for (const order of [['c', 'b', 'a'], ['d', 'c', 'a'], ['b', 'd', 'c', 'a']]) {
    given.value = order
    await nextTick()
  }
  expect(items.value).toEqual(['a', 'c', 'd', 'b'])
  on.pointerleave!(pointer)
  expect(items.value).toEqual(['b', 'd', 'c', 'a'])
})

test('items keep their order while the list has focus', async () => {
  const { given, items, on } = list()
  const element = document.createElement('div')
  element.append(document.createElement('a'))
  const focus = (relatedTarget: Element | null) => ({ currentTarget: element, relatedTarget }) as unknown as FocusEvent
  on.focusin!(focus(null))
  on.pointerenter!(pointer)
  on.pointerleave!(pointer)
  given.value = ['c', 'b', 'a']
  await nextTick()
  on.focusout!(focus(element.firstElementChild))
  expect(items.value).toEqual(['a', 'b', 'c'])
  on.focusout!(focus(null))
  expect(items.value).toEqual(['c', 'b', 'a'])
})
