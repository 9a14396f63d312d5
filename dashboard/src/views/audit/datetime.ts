/** A time in seconds, as the browser's field for a local time takes it; empty for none. */
export function local(at: number | undefined): string {
  if (at === undefined) return ''
  const time = new Date(at * 1000)
  return new Date(at * 1000 - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

/** What such a field holds, in seconds; `undefined` where it is empty or half typed. */
export function seconds(text: string): number | undefined {
  const time = new Date(text).getTime()
  return Number.isNaN(time) ? undefined : Math.floor(time / 1000)
}
