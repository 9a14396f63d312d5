import { body, client, confirmation } from './client'

export const listSessions = (queue: string, from?: string, limit = 50) =>
  body(client.GET('/api/v1/queues/{queue}/sessions', { params: { path: { queue }, query: { from, limit } } }))

/** Finds a session by ID or support code. */
export const findSession = (queue: string, session: string) =>
  body(client.GET('/api/v1/queues/{queue}/sessions/{session}', { params: { path: { queue, session } } }))

export const admitSession = (queue: string, session: string) =>
  body(client.POST('/api/v1/queues/{queue}/sessions/{session}/admit', { params: { path: { queue, session } } }))

export const endSession = (queue: string, session: string, token?: string) =>
  body(client.POST('/api/v1/queues/{queue}/sessions/{session}/end', { params: { path: { queue, session }, header: confirmation(token) } }))
