import { t, wait } from '@/i18n'

interface Estimate {
  p50: number
  p90: number
}

/** Median and 90th percentile of an estimate; one text if both are formatted alike. */
export function estimate(seconds: Estimate | null | undefined): [string, string?] {
  const [median, most] = [wait(seconds?.p50), wait(seconds?.p90)]
  if (median !== most) return [median, t('live.upTo', { wait: most })]
  return seconds?.p90 ? [t('live.about', { wait: median })] : [median]
}

/** An estimate within a sentence. */
export function estimatedRange({ p50, p90 }: Estimate): string {
  const [median, most] = [wait(p50), wait(p90)]
  return median === most ? t('live.about', { wait: median }) : t('live.range', { from: median, to: most })
}
