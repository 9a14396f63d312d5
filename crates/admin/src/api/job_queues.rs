//! Job queues: their settings and statistics. [`jobs`] has the jobs in them.

mod cancel;
mod consume;
mod dead_letters;
mod jobs;
mod schedules;
mod service;
mod views;
mod webhook;

use axum::Json;
use axum::extract::State;
use http::{HeaderMap, StatusCode};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vestibule_core::jobs::{JobQueueSettings, SigningSecret};
use vestibule_core::settings::RetiredSecret;
use vestibule_core::{Micros, QueueId};
use vestibule_runtime::CachedJobQueue;

use self::service::{Edited, audit, change, create, find_editable, find_visible, patched, read_editable, remove};
use self::views::{JobQueueStats, JobQueueView};
use crate::access::{Principal, may_change};
use crate::api::queues::service::IfMatch;
use crate::body::{Body, JsonBody, Segments};
use crate::codes::Code;
use crate::confirmation::confirmed;
use crate::describe::describe;
use crate::job_refusal::JobRefusal;
use crate::problem::Problem;
use crate::state::Admin;

pub(crate) use self::consume::FailedJob;
pub(crate) use self::jobs::JobDraft;
pub(crate) use self::service::refuse_pull;
pub(crate) use self::views::settings_for;

pub(crate) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new()
        .routes(routes!(list_job_queues, create_job_queue))
        .routes(routes!(get_job_queue, update_job_queue, remove_job_queue))
        .routes(routes!(get_job_queue_stats))
        .routes(routes!(get_job_queue_secret))
        .routes(routes!(rotate_job_queue_secret))
        .routes(routes!(pause_job_queue))
        .routes(routes!(resume_job_queue))
        .routes(routes!(cancel::drain_job_queue))
        .merge(jobs::routes())
        .merge(consume::routes())
        .merge(schedules::routes())
        .merge(webhook::routes())
        .merge(dead_letters::routes())
}

/// Seconds for which the old signing secret signs, too, after a rotation.
const RETIRED_SECRET_TTL: u64 = 86_400;

/// The settings of a job queue.
pub(crate) struct JobQueueDraft;
/// A JSON merge patch (RFC 7396): absent settings stay, `null` resets to the default.
pub(crate) struct JobQueuePatch;

describe! {
    JobQueueDraft = JobQueueSettings, Request;
    JobQueuePatch = JobQueueSettings, Patch without ["id", "tenant"];
}

/// A list of job queues.
#[derive(Serialize, ToSchema)]
pub(crate) struct JobQueueList {
    /// The job queues by ID.
    job_queues: Vec<JobQueueView>,
}

/// List job queues
///
/// Returns the job queues that you have access to, with their settings and statistics. The list is empty where job queues are
/// not available.
#[utoipa::path(get, path = "/job-queues", tag = "job queues",
    responses((status = 200, description = "The job queues", body = JobQueueList)))]
pub(crate) async fn list_job_queues(
    State(admin): State<Admin>,
    principal: Principal,
) -> Result<Json<JobQueueList>, Problem> {
    let Some(job_queues) = &admin.jobs else { return Ok(Json(JobQueueList { job_queues: Vec::new() })) };
    let mut views = Vec::new();
    for cached in job_queues.all().await?.iter().filter(|it| principal.can_view(&it.settings.tenant)) {
        views.push(JobQueueView::of(&principal, job_queues, cached).await);
    }
    Ok(Json(JobQueueList { job_queues: views }))
}

/// Create a job queue
///
/// A name that ends with `.fifo` makes it a FIFO job queue. Without a secret in `target`, one is generated.
#[utoipa::path(post, path = "/job-queues", tag = "job queues", request_body = JobQueueDraft,
    responses(
        (status = 201, description = "Created", body = JobQueueView, headers(("ETag" = String))),
        (status = 409, description = "The ID is in use, or the deployment has the maximum number of job queues"),
        (status = 422, description = "Invalid settings, or the tenant's list of origins does not allow the handler"),
    ))]
pub(crate) async fn create_job_queue(
    State(admin): State<Admin>,
    principal: Principal,
    Body(settings): Body<JobQueueSettings>,
) -> Result<(StatusCode, JobQueueView), Problem> {
    let (job_queues, created) = create(&admin, &principal, settings).await?;
    Ok((StatusCode::CREATED, JobQueueView::of(&principal, job_queues, &created).await))
}

/// Get a job queue
///
/// The revision of the settings is the `ETag`.
#[utoipa::path(get, path = "/job-queues/{job_queue}", tag = "job queues",
    responses((status = 200, description = "Settings and statistics", body = JobQueueView, headers(("ETag" = String)))))]
pub(crate) async fn get_job_queue(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
) -> Result<JobQueueView, Problem> {
    let (job_queues, cached) = find_visible(&admin, &principal, &id).await?;
    Ok(JobQueueView::of(&principal, job_queues, &cached).await)
}

/// Update a job queue
///
/// Applies a JSON merge patch to the revision in `If-Match`. It applies to the next jobs that start, in other processes within 5
/// seconds. A secret in `target` replaces the current one at once; to keep both for a while, rotate it.
#[utoipa::path(patch, path = "/job-queues/{job_queue}", tag = "job queues",
    request_body(content = JobQueuePatch, content_type = "application/merge-patch+json"),
    params(("If-Match" = String, Header, description = "The `ETag` of the revision to update, or `*` for any")),
    responses(
        (status = 200, description = "The job queue after the update", body = JobQueueView, headers(("ETag" = String))),
        (status = 412, description = "Changed by someone else; nothing was written"),
        (status = 422, description = "Invalid settings, or the tenant's list of origins does not allow the handler"),
        (status = 428, description = "`If-Match` is missing"),
        (status = 504, description = "The store did not respond; the change may or may not have been applied"),
    ))]
pub(crate) async fn update_job_queue(
    State(admin): State<Admin>,
    principal: Principal,
    headers: HeaderMap,
    Segments(id): Segments<String>,
    JsonBody(patch): JsonBody,
) -> Result<JobQueueView, Problem> {
    find_editable(&admin, &principal, &id).await?;
    let (if_match, patch) = (IfMatch::of(&headers)?, Value::Object(patch));
    let edit = |current: &CachedJobQueue| patched(current, &patch);
    let (job_queues, changed) = change(&admin, &principal, &id, if_match, "job_queue.update", edit).await?;
    Ok(JobQueueView::of(&principal, job_queues, &changed).await)
}

/// Remove a job queue
///
/// Only a job queue without jobs and dead letters can be removed. Stop its producers first. Needs a confirmation.
#[utoipa::path(delete, path = "/job-queues/{job_queue}", tag = "job queues",
    params(("X-Vestibule-Confirm" = Option<String>, Header, description = "The confirmation token of the first response")),
    responses(
        (status = 204, description = "Removed"),
        (status = 409, description = "`job_queue_not_empty`: it has jobs or dead letters. `job_queue_in_use`: rules hold orders in it"),
    ))]
pub(crate) async fn remove_job_queue(
    State(admin): State<Admin>,
    principal: Principal,
    headers: HeaderMap,
    Segments(id): Segments<String>,
) -> Result<StatusCode, Problem> {
    let (job_queues, current) = read_editable(&admin, &principal, &id).await?;
    let settings = &current.settings;
    if job_queues.has_jobs(settings).await? {
        return Err(Problem::Job(JobRefusal::JobQueueNotEmpty));
    }
    if let Some(queue) = holding_queue(&admin, settings).await? {
        return Err(Problem::Job(JobRefusal::JobQueueInUse(queue)));
    }
    let effect = || Code::WillRemoveJobQueue.with("job_queue", settings.id.as_str());
    let subject = format!("job_queue.remove {} {}", settings.id, current.revision);
    confirmed(&admin, &principal, &headers, &subject, effect).await?;
    remove(&admin, &principal, job_queues, &current).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A queue whose rules hold orders in this job queue. Without it, they would be forwarded without its pace.
async fn holding_queue(admin: &Admin, settings: &JobQueueSettings) -> Result<Option<QueueId>, Problem> {
    admin.directory.refresh().await?;
    let queues = admin.directory.queues();
    let holding = queues.iter().map(|it| &it.settings).find(|it| it.holds_orders_in(settings));
    Ok(holding.map(|it| it.id.clone()))
}

/// Get job queue stats
#[utoipa::path(get, path = "/job-queues/{job_queue}/stats", tag = "job queues",
    responses((status = 200, description = "The statistics", body = JobQueueStats)))]
pub(crate) async fn get_job_queue_stats(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
) -> Result<Json<JobQueueStats>, Problem> {
    let (job_queues, cached) = find_visible(&admin, &principal, &id).await?;
    let stats = job_queues.job_store().stats(&cached.settings).await?;
    Ok(Json(JobQueueStats::of(&stats)))
}

/// The secret that signs calls of handlers.
#[derive(Serialize, ToSchema)]
pub(crate) struct JobQueueSecret {
    /// `whsec_` and the key in base64, as the libraries of Standard Webhooks take it.
    secret: String,
    /// Until when the secret before the last rotation signs, too, in seconds since 1970; `null` if it does not.
    previous_until: Option<u64>,
}

impl JobQueueSecret {
    fn of(cached: &CachedJobQueue, now: Micros) -> Result<Self, Problem> {
        let secret = cached.settings.target.secret.as_ref().map(SigningSecret::reveal);
        let secret = secret.ok_or(Problem::Plain(StatusCode::CONFLICT, Code::NoSigningSecret))?;
        let retired = cached.retired_secret.as_ref().map(|retired| retired.until);
        Ok(Self { secret, previous_until: retired.filter(|until| *until > now.seconds()) })
    }
}

/// Get the signing secret
///
/// Handlers verify calls with it. The audit log records who read it.
#[utoipa::path(get, path = "/job-queues/{job_queue}/secret", tag = "job queues",
    responses((status = 200, description = "The secret", body = JobQueueSecret),
        (status = 409, description = "`no_signing_secret`: the target is not `http`")))]
pub(crate) async fn get_job_queue_secret(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
) -> Result<Json<JobQueueSecret>, Problem> {
    let (_, cached) = read_editable(&admin, &principal, &id).await?;
    let secret = JobQueueSecret::of(&cached, admin.now().await?)?;
    may_change(&*admin.records, principal.operator.as_str()).await?;
    audit(&principal, "job_queue.read_secret", &cached.settings).log(&admin).await;
    Ok(Json(secret))
}

/// Rotate the signing secret
///
/// Generates a new secret. For 24 hours calls have two signatures, also one of the old secret, so that handlers can be changed
/// meanwhile. A further rotation within that time ends the oldest secret at once, and needs a confirmation.
#[utoipa::path(post, path = "/job-queues/{job_queue}/secret/rotate", tag = "job queues",
    params(("X-Vestibule-Confirm" = Option<String>, Header, description = "The confirmation token of the first response")),
    responses(
        (status = 200, description = "The new secret", body = JobQueueSecret),
        (status = 409, description = "`no_signing_secret`: the target is not `http`"),
        (status = 504, description = "The store did not respond; read the secret before you rotate it again"),
    ))]
pub(crate) async fn rotate_job_queue_secret(
    State(admin): State<Admin>,
    principal: Principal,
    headers: HeaderMap,
    Segments(id): Segments<String>,
) -> Result<Json<JobQueueSecret>, Problem> {
    let now = admin.now().await?;
    let (_, cached) = read_editable(&admin, &principal, &id).await?;
    if JobQueueSecret::of(&cached, now)?.previous_until.is_some() {
        let effect = || Code::WillEndSecret.with("job_queue", id.as_str());
        let subject = format!("job_queue.rotate_secret {id} {}", cached.revision);
        confirmed(&admin, &principal, &headers, &subject, effect).await?;
    }
    let edit = |current: &CachedJobQueue| {
        let mut settings = current.settings.clone();
        // Without a secret, a new one is generated when the settings are written.
        let old = settings.target.secret.take();
        let until = now.seconds() + RETIRED_SECRET_TTL;
        Ok(Edited { settings, retired_secret: old.map(|secret| RetiredSecret { secret, until }) })
    };
    let (_, changed) = change(&admin, &principal, &id, IfMatch::Any, "job_queue.rotate_secret", edit).await?;
    Ok(Json(JobQueueSecret::of(&changed, now)?))
}

/// Pause a job queue
///
/// It accepts jobs and starts none. Jobs that run are finished. Nothing changes if it is paused already.
#[utoipa::path(post, path = "/job-queues/{job_queue}/pause", tag = "job queues",
    responses(
        (status = 200, description = "The job queue", body = JobQueueView),
        (status = 504, description = "The store did not respond; the job queue may or may not be paused"),
    ))]
pub(crate) async fn pause_job_queue(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
) -> Result<JobQueueView, Problem> {
    set_paused(&admin, &principal, &id, true).await
}

/// Resume a job queue
///
/// Nothing changes if it is not paused.
#[utoipa::path(post, path = "/job-queues/{job_queue}/resume", tag = "job queues",
    responses(
        (status = 200, description = "The job queue", body = JobQueueView),
        (status = 504, description = "The store did not respond; the job queue may or may not be paused"),
    ))]
pub(crate) async fn resume_job_queue(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
) -> Result<JobQueueView, Problem> {
    set_paused(&admin, &principal, &id, false).await
}

async fn set_paused(admin: &Admin, principal: &Principal, id: &str, paused: bool) -> Result<JobQueueView, Problem> {
    let action = if paused { "job_queue.pause" } else { "job_queue.resume" };
    let edit = |current: &CachedJobQueue| {
        Ok(Edited::settings(current, JobQueueSettings { paused, ..current.settings.clone() }))
    };
    let (job_queues, changed) = change(admin, principal, id, IfMatch::Any, action, edit).await?;
    Ok(JobQueueView::of(principal, job_queues, &changed).await)
}
