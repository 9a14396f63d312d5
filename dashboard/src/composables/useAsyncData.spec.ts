import { effectScope } from 'vue'
import { expect, test } from 'vitest'

import { Problem } from '@/api/problem'

import { useAsyncData, type AsyncData } from './useAsyncData'

const within = <T>(ask: () => Promise<T>) => effectScope().run(() => useAsyncData(ask)) as AsyncData<T>

test('an answer to an older question is dropped', async () => {
  const answers: ((text: string) => void)[] = []
  const loaded = within(() => new Promise<string>((resolve) => answers.push(resolve)))
  const second = loaded.load()
  answers[1]?.('new')
  await second
  answers[0]?.('old')
  await Promise.resolve()
  expect(loaded.value.value).toBe('new')
  expect(loaded.isLoading.value).toBe(false)
})

test('what is there stays when asking anew fails', async () => {
  let fails = false
  const ask = () => (fails ? Promise.reject(new Problem(0)) : Promise.resolve('here'))
  const loaded = within(ask)
  await loaded.load()
  fails = true
  await loaded.load()
  expect(loaded.value.value).toBe('here')
  expect(loaded.problem.value?.code).toBe('unreachable')
})
