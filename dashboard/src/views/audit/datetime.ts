/** A time in seconds as the value of a `datetime-local` input; empty if undefined. */
export function local(at: number | undefined): string {
  if (at === undefined) return ''
  const time = new Date(at * 1000)
  return new Date(at * 1000 - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

/** The value of such an input in seconds; `undefined` if empty or incomplete. */
export function seconds(text: string): number | undefined {
  const time = new Date(text).getTime()
  return Number.isNaN(time) ? undefined : Math.floor(time / 1000)
}
