// What the API takes and answers, by its own names.
import type { components } from './schema'

type Schemas = components['schemas']

export type Account = Schemas['Account']
export type AuditEntry = Schemas['AuditEntry']
export type AuditPage = Schemas['AuditPage']
export type ConflictingField = Schemas['ConflictingField']
export type CreatedToken = Schemas['CreatedToken']
export type FieldChange = Schemas['FieldChange']
export type History = Schemas['History']
export type Levers = Schemas['Levers']
export type OperatorDraft = Schemas['OperatorDraft']
export type OperatorPatch = Schemas['OperatorPatch']
export type OperatorView = Schemas['OperatorView']
export type OverviewQueue = Schemas['OverviewQueue']
export type QueueClone = Schemas['QueueClone']
export type QueueDraft = Schemas['QueueDraft']
export type QueuePatch = Schemas['QueuePatch']
export type QueueSettings = Schemas['QueueSettings']
export type QueueStats = Schemas['QueueStats']
export type Role = Schemas['Role']
export type SessionPage = Schemas['SessionPage']
export type SessionView = Schemas['SessionView']
export type SignInWays = Schemas['SignInWays']
export type TenantDraft = Schemas['TenantDraft']
export type TenantPatch = Schemas['TenantPatch']
export type TenantView = Schemas['TenantView']
export type TokenDraft = Schemas['TokenDraft']
export type TokenView = Schemas['TokenView']
export type UrlMet = Schemas['UrlMet']
export type UrlTest = Schemas['UrlTest']
export type Validated = Schemas['Validated']

/** Whether and whom a queue admits. */
export type Mode = QueueSettings['mode']
/** A rule of a queue. */
export type Rule = QueueSettings['rules'][number]
