// Types of the API by their schema names.
import type { components, paths } from './schema'

type Schemas = components['schemas']

export type Principal = Schemas['CurrentPrincipal']
export type AuditEvent = Schemas['AuditEvent']
export type AuditPage = Schemas['AuditPage']
export type CreatedToken = Schemas['CreatedToken']
export type FieldChange = Schemas['FieldChange']
export type QueueForecast = Schemas['QueueForecast']
export type QueueReport = Schemas['QueueReport']
export type QueueHistory = Schemas['QueueHistory']
export type ImportResult = Schemas['ImportResult']
export type Job = Schemas['Job']
export type JobAttempt = Schemas['JobAttempt']
export type JobQueueDraft = Schemas['JobQueueDraft']
export type JobQueuePatch = Schemas['JobQueuePatch']
export type JobQueueSettings = Schemas['JobQueueSettingsView']
export type JobQueueWebhook = NonNullable<JobQueueSettings['webhook']>
export type JobSchedule = JobQueueSettings['schedules'][number]
export type JobTargetKind = JobQueueSettings['target']['kind']
export type JobQueueStats = Schemas['JobQueueStats']
export type JobQueueView = Schemas['JobQueueView']
export type Controls = Schemas['Controls']
export type OperatorDraft = Schemas['OperatorDraft']
export type OperatorPatch = Schemas['OperatorPatch']
export type OperatorView = Schemas['OperatorView']
export type QueueStatsEntry = Schemas['QueueStatsEntry']
export type PlannedChange = Schemas['PlannedChange']
export type QrCodeImage = Schemas['QrCodeImage']
export type QueueClone = Schemas['QueueClone']
export type QueueDraft = Schemas['QueueDraft']
export type QueueProtection = Schemas['QueueProtection']
export type QueuePatch = Schemas['QueuePatch']
export type QueueSettings = Schemas['QueueSettings']
export type QueueStats = Schemas['QueueStats']
export type Role = Schemas['Role']
export type SessionPage = Schemas['SessionPageView']
export type FoundSession = Schemas['FoundSession']
export type SessionState = FoundSession['state']
export const SESSION_STATES: readonly SessionState[] = ['waiting', 'active', 'ended']
export type SignInMethods = Schemas['SignInMethods']
export type SettingsDraft = Schemas['SettingsDraft']
export type TenantDraft = Schemas['TenantDraft']
export type TenantPatch = Schemas['TenantPatch']
export type TenantView = Schemas['TenantView']
export type ThemeDraftPreview = Schemas['ThemeDraftPreview']
export type PreviewQuery = NonNullable<paths['/api/v1/themes/{theme}/preview']['get']['parameters']['query']>
export type PreviewState = NonNullable<ThemeDraft['states']>[number]
export type ThemeVersions = Schemas['ThemeVersions']
export type ThemeVersionView = Schemas['ThemeVersionView']
export type ThemeView = Schemas['ThemeView']
export type ThemeList = Schemas['ThemeList']
export type ThemeDraft = Schemas['ThemeDraft']
export type TokenDraft = Schemas['TokenDraft']
export type TokenView = Schemas['TokenView']
export type TotpSetup = Schemas['TotpSetup']
export type UrlTestResult = Schemas['UrlTestResult']
export type UrlTest = Schemas['UrlTest']
export type Validated = Schemas['Validated']

/** A network with many joins. */
export type NetworkEntry = Schemas['NetworkEntry']
/** Measures against automated clients. */
export type Protection = NonNullable<QueueSettings['protection']>
/** How a queue knows the accounts of a site. */
export type Identity = NonNullable<Protection['identity']>
/** How a queue treats a network. */
export type NetworkClass = NonNullable<Protection['networks']>[string]
/** Texts of the operator message by language tag; `default` for all other languages. */
export type OperatorMessage = NonNullable<QueueSettings['message']>
/** A change of the operator message: `null` removes a language, or the whole message. */
export type MessagePatch = Record<string, string | null> | null
/** The mode of a queue. */
export type Mode = QueueSettings['mode']
/** An event of a queue. */
export type QueueEvent = NonNullable<QueueSettings['events']>[number]
/** A batch of invitation codes. */
export type InvitationBatch = NonNullable<QueueSettings['invitations']>[number]
/** An event with its phase and its draw. */
export type EventState = Schemas['EventState']
export type EventStats = Schemas['EventStats']
/** A rule of a queue. */
export type Rule = QueueSettings['rules'][number]
/** Content types of jobs that the dashboard sends. */
export type PayloadType = 'application/json' | 'text/plain'
