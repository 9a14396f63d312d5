import { send } from './http'

export const listSessions = (queue: string, from?: string, limit = 50) =>
  send('get', '/api/v1/queues/{queue}/sessions', { path: { queue }, query: { from, limit } })

/** By its id, or by the support code that its visitor reads out. */
export const findSession = (queue: string, session: string) =>
  send('get', '/api/v1/queues/{queue}/sessions/{session}', { path: { queue, session } })

export const admitSession = (queue: string, session: string) =>
  send('post', '/api/v1/queues/{queue}/sessions/{session}/admit', { path: { queue, session } })

export const endSession = (queue: string, session: string, confirm?: string) =>
  send('post', '/api/v1/queues/{queue}/sessions/{session}/end', { path: { queue, session }, confirm })
