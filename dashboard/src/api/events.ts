/** A server-sent event. */
export interface ServerEvent {
  name: string
  data: string
}

/**
 * Takes a stream of server-sent events apart. The browser's own reader hides why a stream was refused, so it can't tell an
 * ended sign-in from a server that does not stream.
 */
export async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const blocks = (rest + decoder.decode(value, { stream: true })).replaceAll('\r\n', '\n').split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        const event = parsed(block)
        if (event.data) yield event
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

function parsed(block: string): ServerEvent {
  const lines = block.split('\n')
  const values = (field: string) =>
    lines.filter((line) => line.startsWith(`${field}:`)).map((line) => line.slice(field.length + 1).replace(/^ /, ''))
  return { name: values('event').at(-1) ?? 'message', data: values('data').join('\n') }
}
