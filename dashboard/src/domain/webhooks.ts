/** The types of the events that a webhook delivers, in the order of the documentation. */
export const WEBHOOK_EVENT_TYPES = [
  'queue.updated',
  'queue.reset',
  'queue.state_changed',
  'queue.admitted',
  'queue.attention',
  'job.dead_lettered',
  'order.outcome_unknown',
] as const

/** Selects all queues of the tenant. */
export const ALL_QUEUES = '*'
