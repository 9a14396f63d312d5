//! The audit log: who changed what, when, and with which request. Events consist of settings, names and numbers and never
//! contain secrets.
//!
//! Several capped logs keep operators from displacing each other's events: one for superusers and for changes outside the
//! API, one for each tenant, one for sign-ins. The changes of an operator in a day are limited as well, and of repeated events
//! of an account only some are stored. The log of the process has every event, too, for an append-only log store.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tracing::{debug, error, info, warn};
use utoipa::ToSchema;
use vestibule_core::jobs::{JobQueueId, JobQueueSettings, WebhookEvent, WebhookEventType, WebhookSubject};
use vestibule_core::settings::{
    FieldChange, JobQueueChange, JobQueuePlan, Settings, StoredJobQueue, Tenant, differences,
};
use vestibule_core::{Clock as _, MICROS_PER_SECOND, Micros, QueueId, StoreError, SystemClock, TenantId};
use vestibule_records::{LogName, RecordStore};
use vestibule_runtime::JobQueuesWritten;

use crate::access::{Principal, count_change};
use crate::audit_changes::shortened;
use crate::audit_repeats::Repeats;
use crate::describe::FieldChangeSchema;
use crate::problem::Problem;
use crate::state::Admin;
use crate::themes::OwnedTheme;

/// Prefix of account actions.
const OF_ACCOUNTS: &str = "account.";
/// Action of the reset of a queue.
pub(crate) const RESET: &str = "queue.reset";

/// An event of the audit log.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub(crate) struct AuditEvent {
    /// ID of the event; IDs increase with time.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) id: String,
    /// Time in seconds since 1970, by the clock of the store.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) at: u64,
    /// Name of the operator; `null` for a failed sign-in with an unknown name.
    pub(crate) operator: Option<String>,
    /// ID of the API token.
    pub(crate) token: Option<String>,
    /// ID of the request.
    pub(crate) request: String,
    /// The action, such as `queue.update`.
    pub(crate) action: String,
    /// The affected tenant.
    #[schema(value_type = Option<String>)]
    pub(crate) tenant: Option<TenantId>,
    /// The affected queue.
    #[schema(value_type = Option<String>)]
    pub(crate) queue: Option<QueueId>,
    /// Another affected object: a session, operator, token, theme or job queue.
    pub(crate) subject: Option<String>,
    /// Revision of the queue settings, or of the theme, after the change.
    pub(crate) revision: Option<u64>,
    /// Changed fields with old and new values; of long values the changed parts, such as `events.sale.name`.
    #[schema(value_type = Vec<FieldChangeSchema>)]
    pub(crate) changes: Vec<FieldChange>,
    /// Whether the action was completed.
    #[serde(default)]
    pub(crate) outcome: AuditOutcome,
    /// How the change was made.
    #[serde(default)]
    pub(crate) via: Via,
}

impl AuditEvent {
    /// Adds a number or word that goes with it: how many were released.
    pub(crate) fn add(&mut self, field: &str, value: impl Into<Value>) {
        self.changes.push(FieldChange { field: field.to_owned(), from: Value::Null, to: value.into() });
    }
}

/// How a change was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    /// The API: the dashboard, or a script with a token.
    #[default]
    Api,
    /// A command of the program, such as `vestibule apply`.
    CommandLine,
    /// The settings file, at startup or reload.
    SettingsFile,
    /// The value of a beacon, which `vestibule serve` recorded.
    Beacon,
}

/// Whether an action was completed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AuditOutcome {
    /// Completed.
    #[default]
    Done,
    /// Partly completed, as described by `changes`; the next part may have been completed too.
    Incomplete,
    /// The store, the storage of jobs or the theme storage did not respond; the action may or may not have been completed.
    Unknown,
}

/// Builds an audit event.
pub(crate) struct AuditEventBuilder {
    event: AuditEvent,
    log_name: LogName,
    /// Whether settings or properties of the affected object changed.
    has_changes: bool,
}

impl AuditEventBuilder {
    /// An event caused by this principal.
    pub(crate) fn of(principal: &Principal, action: &str) -> Self {
        let event = AuditEvent {
            operator: Some(principal.operator.to_string()),
            token: principal.token.clone(),
            request: principal.request.0.clone(),
            action: action.to_owned(),
            ..AuditEvent::default()
        };
        let by_superuser = principal.is_superuser() && !action.starts_with(OF_ACCOUNTS);
        Self::new(event, if by_superuser { LogName::Audit } else { LogName::AccountAudit })
    }

    /// An event without a verified principal.
    pub(crate) fn unknown(action: &str, request: &str, operator: Option<String>) -> Self {
        let (request, action) = (request.to_owned(), action.to_owned());
        Self::new(AuditEvent { operator, request, action, ..AuditEvent::default() }, LogName::AccountAudit)
    }

    const fn new(event: AuditEvent, log_name: LogName) -> Self {
        Self { event, log_name, has_changes: false }
    }

    pub(crate) fn tenant(mut self, tenant: &TenantId) -> Self {
        self.event.tenant = Some(tenant.clone());
        if self.log_name != LogName::Audit {
            self.log_name = LogName::TenantAudit(tenant.clone());
        }
        self
    }

    pub(crate) fn queue(mut self, settings: &Settings) -> Self {
        self.event.queue = Some(settings.id.clone());
        self.event.revision = Some(settings.line.revision);
        self.tenant(&settings.tenant)
    }

    pub(crate) fn theme(self, theme: &OwnedTheme) -> Self {
        let event = match theme.tenant_id() {
            Some(tenant) => self.tenant(tenant),
            None => self,
        };
        event.subject(&theme.id)
    }

    pub(crate) fn subject(mut self, subject: &impl ToString) -> Self {
        self.event.subject = Some(subject.to_string());
        self
    }

    pub(crate) fn changes(mut self, changes: Vec<FieldChange>) -> Self {
        self.event.changes = shortened(changes);
        self.has_changes = true;
        self
    }

    /// The revision of a job queue or theme after the change.
    pub(crate) fn revision(mut self, revision: u64) -> Self {
        self.event.revision = Some(revision);
        self
    }

    /// One number or word that goes with it: how many were released.
    pub(crate) fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.event.add(field, value);
        self
    }

    /// Marks the action as incomplete: the store stopped responding.
    pub(crate) fn incomplete(mut self) -> Self {
        self.event.outcome = AuditOutcome::Incomplete;
        self
    }

    /// Writes the event of a failed write if it may have been applied. Returns the problem.
    pub(crate) async fn failed(mut self, admin: &Admin, problem: Problem) -> Problem {
        if let Problem::OutcomeUnknown(_) | Problem::ThemeStorageUnavailable(_) = problem {
            self.event.outcome = AuditOutcome::Unknown;
            self.log(admin).await;
        }
        problem
    }

    /// Writes the event of a write to the store.
    pub(crate) async fn written<T>(self, admin: &Admin, result: Result<T, StoreError>) -> Result<T, Problem> {
        self.concluded(admin, result.map_err(Problem::of_write)).await
    }

    /// Writes the event of an action that succeeded or may have.
    pub(crate) async fn concluded<T>(self, admin: &Admin, result: Result<T, Problem>) -> Result<T, Problem> {
        match result {
            Ok(value) => {
                self.log(admin).await;
                Ok(value)
            }
            Err(problem) => Err(self.failed(admin, problem).await),
        }
    }

    /// Writes the event of an action in parts. If a part fails after others changed something, the action is incomplete, which
    /// is no failure.
    pub(crate) async fn concluded_after(
        self,
        admin: &Admin,
        changed: u64,
        result: Result<(), Problem>,
    ) -> Result<(), Problem> {
        match result {
            Err(error) if changed > 0 => {
                warn!(%error, action = self.event.action, changed, "action incomplete");
                self.incomplete().log(admin).await;
                Ok(())
            }
            result => self.concluded(admin, result).await,
        }
    }

    /// The type of the webhook event about this, if there is one.
    fn webhook_type(&self) -> Option<WebhookEventType> {
        match self.event.action.as_str() {
            _ if self.event.outcome != AuditOutcome::Done || self.event.queue.is_none() => None,
            RESET => Some(WebhookEventType::QueueReset),
            _ => self.has_changes.then_some(WebhookEventType::QueueUpdated),
        }
    }

    /// Writes the event, and publishes it for webhooks. If the audit log cannot be written, the action stays, and the log of the
    /// process has the event.
    pub(crate) async fn log(self, admin: &Admin) {
        let webhook_type = self.webhook_type();
        let Self { mut event, log_name: log, .. } = self;
        if event.action.starts_with(OF_ACCOUNTS) {
            let (operator, subject) = (event.operator.as_deref(), event.subject.as_deref());
            let repeats = Repeats::count(&*admin.records, &event.action, operator, subject).await;
            if let Some((field, count)) = repeats.total {
                event.add(field, count);
            }
            if !repeats.is_stored {
                report(&event);
                return;
            }
        } else if let Some(operator) = &event.operator {
            count_change(&*admin.records, operator).await;
        }
        append(&*admin.records, &log, &event).await;
        let now = admin.now().await.unwrap_or_else(|_| SystemClock::new().now());
        if let Err(error) = admin.records.trim(&log, before(now, admin.audit_days)).await {
            debug!(%error, "old events of the audit log could not be dropped yet");
        }
        if let (Some(job_queues), Some(event)) =
            (&admin.jobs, webhook_type.and_then(|it| webhook_event(it, event, now)))
        {
            job_queues.publish(&event).await;
        }
    }
}

/// The webhook event about an audit event of a queue. It says neither who did it nor from where.
fn webhook_event(event_type: WebhookEventType, event: AuditEvent, at: Micros) -> Option<WebhookEvent> {
    let subject = WebhookSubject::Queue(event.queue?);
    let webhook = WebhookEvent::new(event_type, event.tenant?, subject, at).with("revision", event.revision);
    Some(if event_type == WebhookEventType::QueueReset {
        event.changes.into_iter().fold(webhook, |webhook, change| webhook.with(&change.field, change.to))
    } else {
        webhook.with("changes", json!(event.changes))
    })
}

/// The time before which events are dropped.
pub(crate) const fn before(now: Micros, days: u64) -> Micros {
    Micros(now.0.saturating_sub(days * 86_400 * MICROS_PER_SECOND))
}

/// Writes an event to the log of the process. Returns its text.
fn report(event: &AuditEvent) -> String {
    let fields = json!(event);
    let text = fields.to_string();
    // What is set, as the API spells it.
    let field = |name: &str| fields[name].as_str().filter(|value| !value.is_empty());
    info!(
        operator = field("operator"),
        action = field("action"),
        request = field("request"),
        queue = field("queue"),
        subject = field("subject"),
        outcome = field("outcome"),
        via = field("via"),
        entry = text,
        "audit event"
    );
    text
}

async fn append(records: &dyn RecordStore, log: &LogName, event: &AuditEvent) {
    let text = report(event);
    if let Err(error) = records.append(log, &text).await {
        error!(%error, entry = text, "the audit log could not be written");
    }
}

/// Audits that a queue was created, changed or removed outside the API; `None` if it did not or does not exist.
pub async fn audit_queue(records: &dyn RecordStore, via: Via, before: Option<&Settings>, after: Option<&Settings>) {
    let Some(queue) = after.or(before) else { return };
    let value = |settings: Option<&Settings>| settings.map_or(Value::Null, Settings::to_value);
    let revision = after.map(|after| after.line.revision);
    let event = AuditEvent { queue: Some(queue.id.clone()), revision, ..AuditEvent::default() };
    append_external_change(records, via, "queue", &queue.tenant, event, &value(before), &value(after)).await;
}

/// Audits that a tenant was created, changed or removed outside the API; `None` if it did not or does not exist.
pub async fn audit_tenant(records: &dyn RecordStore, via: Via, before: Option<&Tenant>, after: Option<&Tenant>) {
    let Some(tenant) = after.or(before) else { return };
    let value = |tenant: Option<&Tenant>| tenant.map_or(Value::Null, |tenant| json!(tenant));
    append_external_change(records, via, "tenant", &tenant.id, AuditEvent::default(), &value(before), &value(after))
        .await;
}

/// Audits the job queues that were created, changed or removed outside the API.
pub async fn audit_job_queues(records: &dyn RecordStore, via: Via, plan: &JobQueuePlan, outcome: &JobQueuesWritten) {
    let was_written = |id: &JobQueueId| outcome.written.iter().any(|settings| settings.id == *id);
    for JobQueueChange { settings, replaces, changes, .. } in
        plan.changed.iter().filter(|it| was_written(&it.settings.id))
    {
        let verb = if *replaces == 0 { "create" } else { "update" };
        let changes = shortened(changes.iter().cloned());
        let event = AuditEvent { changes, revision: Some(replaces + 1), ..of_job_queue(settings, verb, via) };
        append(records, &LogName::Audit, &event).await;
    }
    for StoredJobQueue { settings, .. } in plan.removed.iter().filter(|it| outcome.removed.contains(&it.settings.id)) {
        append(records, &LogName::Audit, &of_job_queue(settings, "remove", via)).await;
    }
}

fn of_job_queue(settings: &JobQueueSettings, verb: &str, via: Via) -> AuditEvent {
    let (tenant, subject) = (Some(settings.tenant.clone()), Some(settings.id.to_string()));
    AuditEvent { action: format!("job_queue.{verb}"), tenant, subject, via, ..AuditEvent::default() }
}

async fn append_external_change(
    records: &dyn RecordStore,
    via: Via,
    kind: &str,
    tenant: &TenantId,
    event: AuditEvent,
    before: &Value,
    after: &Value,
) {
    let verb = match (before.is_null(), after.is_null()) {
        (true, _) => "create",
        (false, true) => "remove",
        (false, false) => "update",
    };
    let changes = if after.is_null() { Vec::new() } else { differences(before, after) };
    if verb == "update" && changes.is_empty() {
        return;
    }
    let changes = shortened(changes);
    let event = AuditEvent { action: format!("{kind}.{verb}"), tenant: Some(tenant.clone()), changes, via, ..event };
    append(records, &LogName::Audit, &event).await;
}

/// Audits that an operator was created outside the API.
pub(crate) async fn audit_operator(records: &dyn RecordStore, action: &str, name: &str, changes: Vec<FieldChange>) {
    let event = AuditEvent {
        action: action.to_owned(),
        subject: Some(name.to_owned()),
        changes,
        via: Via::CommandLine,
        ..AuditEvent::default()
    };
    append(records, &LogName::Audit, &event).await;
}

/// The store sets the time, as it does the ID.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(time: &u64) -> bool {
    *time == 0
}
