//! Finds, checks and writes job queues.

use std::sync::Arc;

use serde_json::Value;
use vestibule_core::fields::Object as _;
use vestibule_core::jobs::{JobQueueId, JobQueueSettings, JobTargetKind};
use vestibule_core::settings::{
    JOB_QUEUES_MAX, JobQueueChange, JobQueuePlan, RetiredSecret, StoredJobQueue, Tenant, differences,
};
use vestibule_runtime::{CachedJobQueue, JobQueues};

use crate::access::{Principal, Role};
use crate::api::queues::service::{IfMatch, can_create_for, no_tenant};
use crate::audit::AuditEventBuilder;
use crate::body::wrong;
use crate::codes::Code;
use crate::job_refusal::JobRefusal;
use crate::merge_patch::merge;
use crate::problem::Problem;
use crate::state::Admin;

/// Attempts to apply a change without a revision over concurrent changes.
const ATTEMPTS: usize = 5;

/// The job queues of this deployment, and one of them.
pub(super) type Found<'a> = (&'a Arc<JobQueues>, Arc<CachedJobQueue>);

/// The job queues of this deployment, and one that the principal may see.
pub(super) async fn find_visible<'a>(admin: &'a Admin, principal: &Principal, id: &str) -> Result<Found<'a>, Problem> {
    let unknown = || Problem::Job(JobRefusal::UnknownJobQueue);
    let job_queues = admin.jobs.as_ref().ok_or_else(unknown)?;
    let id: JobQueueId = id.parse().map_err(|_| unknown())?;
    let found = job_queues.get(&id).await?.filter(|found| principal.can_view(&found.settings.tenant));
    Ok((job_queues, found.ok_or_else(unknown)?))
}

/// The same for one that the principal may operate.
pub(super) async fn find_editable<'a>(admin: &'a Admin, principal: &Principal, id: &str) -> Result<Found<'a>, Problem> {
    let found = find_visible(admin, principal, id).await?;
    principal.at_least(Role::Operator)?;
    Ok(found)
}

/// A job queue that the principal may operate, as it is stored now.
pub(super) async fn read_editable<'a>(admin: &'a Admin, principal: &Principal, id: &str) -> Result<Found<'a>, Problem> {
    let (job_queues, cached) = find_editable(admin, principal, id).await?;
    let found = job_queues.read(&cached.settings.id).await?.filter(|it| principal.can_view(&it.settings.tenant));
    Ok((job_queues, found.ok_or(Problem::Job(JobRefusal::UnknownJobQueue))?))
}

/// An audit event about a job queue.
pub(super) fn audit(principal: &Principal, action: &str, settings: &JobQueueSettings) -> AuditEventBuilder {
    AuditEventBuilder::of(principal, action).tenant(&settings.tenant).subject(&settings.id)
}

/// Creates a job queue.
pub(super) async fn create<'a>(
    admin: &'a Admin,
    principal: &Principal,
    settings: JobQueueSettings,
) -> Result<(&'a Arc<JobQueues>, CachedJobQueue), Problem> {
    can_create_for(principal, &settings.tenant)?;
    let job_queues = admin.jobs.as_ref().ok_or_else(|| wrong("id", Code::NoJobQueues))?;
    // One at a time: parallel requests would exceed the limit together.
    let _creating = admin.creating_job_queue.lock().await;
    let tenants = admin.store.tenants().await?;
    let tenant = tenants.into_iter().find(|tenant| tenant.id == settings.tenant);
    let tenant = tenant.ok_or_else(|| no_tenant(&settings.tenant))?;
    refuse_outside(&tenant, principal, &settings)?;
    refuse_pull(job_queues, &settings)?;
    if job_queues.read(&settings.id).await?.is_some() {
        return Err(Problem::AlreadyExists(Code::ThisId));
    }
    let all = job_queues.all().await?;
    if all.len() >= JOB_QUEUES_MAX {
        return Err(Problem::LimitReached(JOB_QUEUES_MAX));
    }
    let of_tenant = all.iter().filter(|it| it.settings.tenant == tenant.id).count();
    if let Some(fault) = tenant.job_queue_count_refusal(of_tenant + 1) {
        return Err(wrong("tenant", fault));
    }
    let event = audit(principal, "job_queue.create", &settings);
    let change = JobQueueChange { settings, retired_secret: None, replaces: 0, changes: Vec::new() };
    let stored = write(admin, job_queues, event, change, &Value::Null).await?.ok_or(Problem::ConcurrentChange)?;
    Ok((job_queues, CachedJobQueue { stored, tenant: Some(tenant.into()) }))
}

/// Refuses a handler that the tenant's list of origins does not allow.
fn refuse_outside(tenant: &Tenant, principal: &Principal, settings: &JobQueueSettings) -> Result<(), Problem> {
    Problem::unless_valid(tenant.job_queue_refusal(settings, principal.is_superuser()).into_iter().collect())
}

/// Refuses consumers of jobs that nobody could receive.
pub(crate) fn refuse_pull(job_queues: &JobQueues, settings: &JobQueueSettings) -> Result<(), Problem> {
    if settings.target.kind == JobTargetKind::Pull && !job_queues.backend().supports_pull() {
        return Err(wrong("target.kind", Code::PullNeedsRedis));
    }
    Ok(())
}

/// What an operation makes of a job queue.
pub(super) struct Edited {
    pub(super) settings: JobQueueSettings,
    pub(super) retired_secret: Option<RetiredSecret>,
}

impl Edited {
    /// Other settings, with the same secrets as before.
    pub(super) fn settings(before: &CachedJobQueue, settings: JobQueueSettings) -> Self {
        Self { settings, retired_secret: before.retired_secret.clone() }
    }
}

/// Applies a merge patch to the settings of a job queue.
pub(super) fn patched(current: &CachedJobQueue, patch: &Value) -> Result<Edited, Problem> {
    let before = current.settings.to_value();
    let mut after = before.clone();
    merge(&mut after, patch);
    for field in ["id", "tenant"] {
        if after.get(field) != before.get(field) {
            return Err(wrong(field, Code::Immutable));
        }
    }
    let mut settings = JobQueueSettings::from_json(&after).map_err(Problem::ValidationFailed)?;
    Problem::unless_valid(settings.continue_from(&current.settings))?;
    Ok(Edited::settings(current, settings))
}

/// Edits a job queue over the revision of `If-Match`. An edit that changes nothing writes nothing.
pub(super) async fn change<'a>(
    admin: &'a Admin,
    principal: &Principal,
    id: &str,
    if_match: IfMatch,
    action: &str,
    edit: impl Fn(&CachedJobQueue) -> Result<Edited, Problem>,
) -> Result<(&'a Arc<JobQueues>, CachedJobQueue), Problem> {
    for _ in 0..ATTEMPTS {
        let (job_queues, current) = read_editable(admin, principal, id).await?;
        if if_match.revision().is_some_and(|known| known != current.revision) {
            return Err(Problem::OtherRevision(current.revision));
        }
        let Edited { settings, retired_secret } = edit(&current)?;
        if settings == current.settings && retired_secret == current.retired_secret {
            return Ok((job_queues, CachedJobQueue::clone(&current)));
        }
        if settings.target.url != current.settings.target.url {
            let tenant = current.tenant.as_ref().ok_or_else(|| no_tenant(&settings.tenant))?;
            refuse_outside(tenant, principal, &settings)?;
        }
        if settings.target.kind != current.settings.target.kind {
            refuse_pull(job_queues, &settings)?;
        }
        let event = audit(principal, action, &settings);
        let before = current.settings.to_shown_value();
        let change = JobQueueChange { settings, retired_secret, replaces: current.revision, changes: Vec::new() };
        if let Some(stored) = write(admin, job_queues, event, change, &before).await? {
            return Ok((job_queues, CachedJobQueue { stored, tenant: current.tenant.clone() }));
        }
    }
    Err(Problem::ConcurrentChange)
}

/// Writes and audits a change. Returns what is stored now; `None`: someone else changed the job queue at the same time.
async fn write(
    admin: &Admin,
    job_queues: &JobQueues,
    event: AuditEventBuilder,
    change: JobQueueChange,
    before: &Value,
) -> Result<Option<StoredJobQueue>, Problem> {
    let planned = differences(before, &change.settings.to_shown_value());
    let (revision, retired_secret) = (change.replaces + 1, change.retired_secret.clone());
    let plan = JobQueuePlan { changed: vec![change], ..JobQueuePlan::default() };
    let written = match job_queues.execute(&plan).await {
        Ok(written) => written.written.into_iter().next(),
        Err(error) => return Err(event.changes(planned).failed(admin, Problem::of_write(error)).await),
    };
    let Some(settings) = written else { return Ok(None) };
    // With the secret that was generated meanwhile.
    let changes = differences(before, &settings.to_shown_value());
    event.changes(changes).revision(revision).log(admin).await;
    Ok(Some(StoredJobQueue { settings, revision, retired_secret, restored_from: None }))
}

/// Removes and audits a job queue that has neither jobs nor dead letters.
pub(super) async fn remove(
    admin: &Admin,
    principal: &Principal,
    job_queues: &JobQueues,
    current: &CachedJobQueue,
) -> Result<(), Problem> {
    let event = audit(principal, "job_queue.remove", &current.settings);
    let plan = JobQueuePlan { removed: vec![current.stored.clone()], ..JobQueuePlan::default() };
    let written = match job_queues.execute(&plan).await {
        Ok(written) => written,
        Err(error) => return Err(event.failed(admin, Problem::of_write(error)).await),
    };
    if !written.not_empty.is_empty() {
        return Err(Problem::Job(JobRefusal::JobQueueNotEmpty));
    }
    if written.removed.is_empty() {
        return Err(Problem::ConcurrentChange);
    }
    event.log(admin).await;
    Ok(())
}
