import { expect, test } from 'vitest'

import { events } from './events'

const stream = (...chunks: string[]) => {
  const encoder = new TextEncoder()
  return new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(encoder.encode(chunk))
      controller.close()
    },
  })
}

const all = async (...chunks: string[]) => {
  const found = []
  for await (const event of events(stream(...chunks))) found.push(event)
  return found
}

test('events are found wherever the stream is cut', async () => {
  const text = 'event: stats\ndata: {"queues":["é"]}\n\n: keep alive\n\nevent: stats\ndata: 2\n\n'
  const wanted = [
    { name: 'stats', data: '{"queues":["é"]}' },
    { name: 'stats', data: '2' },
  ]
  for (let cut = 0; cut < text.length; cut += 1) expect(await all(text.slice(0, cut), text.slice(cut))).toEqual(wanted)
})

test('an event without a name is a message, and data of several lines is one', async () => {
  expect(await all('data: a\r\ndata:b\r\n\r\n')).toEqual([{ name: 'message', data: 'a\nb' }])
})

test('an event that did not come whole is none', async () => {
  expect(await all('data: a\n\ndata: b\n')).toEqual([{ name: 'message', data: 'a' }])
})
