import { body, client, confirmation } from './client'
import type { SessionState } from './types'

export const listSessions = (queue: string, state: SessionState, from?: string, limit = 50) =>
  body(client.GET('/api/v1/queues/{queue}/sessions', { params: { path: { queue }, query: { state, from, limit } } }))

/** Finds sessions by support code or ID in all queues. */
export const searchSessions = (code: string) => body(client.GET('/api/v1/sessions', { params: { query: { code } } }))

export const admitSession = (queue: string, session: string) =>
  body(client.POST('/api/v1/queues/{queue}/sessions/{session}/admit', { params: { path: { queue, session } } }))

export const endSession = (queue: string, session: string, token?: string) =>
  body(client.POST('/api/v1/queues/{queue}/sessions/{session}/end', { params: { path: { queue, session }, header: confirmation(token) } }))
