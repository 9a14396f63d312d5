import { apiUrl } from './client'

/** Maximum number of codes of a download: functions behind a load balancer send at most 1 MB, about 8,000 codes. */
export const CODES_PER_DOWNLOAD = 5_000

/** The codes of a batch from a number on, as CSV. Downloads are in the audit log. */
export const codesCsvUrl = (queue: string, batch: string, from: number, count: number) =>
  apiUrl('/api/v1/queues/{queue}/invitations/{batch}/codes', { path: { queue, batch }, query: { from, count } })
