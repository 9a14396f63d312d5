//! Job queues: their settings and statistics. [`jobs`] has the jobs in them.

mod jobs;
mod schedules;
mod service;
mod views;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vestibule_core::jobs::{JobQueueSettings, SigningSecret};
use vestibule_core::settings::{JobQueueChange, JobQueuePlan, differences};

use self::service::{find_editable, find_visible};
use self::views::{JobQueueStats, JobQueueView};
use crate::access::Principal;
use crate::audit::AuditEventBuilder;
use crate::body::Segments;
use crate::describe::describe;
use crate::job_refusal::JobRefusal;
use crate::problem::Problem;
use crate::state::Admin;

pub(crate) use self::jobs::JobDraft;
pub(crate) use self::views::settings_without_secret;

pub(crate) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new()
        .routes(routes!(list_job_queues))
        .routes(routes!(get_job_queue))
        .routes(routes!(get_job_queue_stats))
        .routes(routes!(get_job_queue_secret))
        .routes(routes!(pause_job_queue))
        .routes(routes!(resume_job_queue))
        .merge(jobs::routes())
        .merge(schedules::routes())
}

/// The settings of a job queue.
pub(crate) struct JobQueueDraft;

describe!(JobQueueDraft = JobQueueSettings, Request);

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
        views.push(JobQueueView::of(job_queues, cached).await);
    }
    Ok(Json(JobQueueList { job_queues: views }))
}

/// Get a job queue
#[utoipa::path(get, path = "/job-queues/{job_queue}", tag = "job queues",
    params(("job_queue" = String, Path, description = "ID of the job queue")),
    responses((status = 200, description = "Settings and statistics", body = JobQueueView)))]
pub(crate) async fn get_job_queue(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
) -> Result<Json<JobQueueView>, Problem> {
    let (job_queues, cached) = find_visible(&admin, &principal, &id).await?;
    Ok(Json(JobQueueView::of(job_queues, &cached).await))
}

/// Get job queue stats
#[utoipa::path(get, path = "/job-queues/{job_queue}/stats", tag = "job queues",
    params(("job_queue" = String, Path, description = "ID of the job queue")),
    responses((status = 200, description = "The statistics", body = JobQueueStats)))]
pub(crate) async fn get_job_queue_stats(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
) -> Result<Json<JobQueueStats>, Problem> {
    let (job_queues, cached) = find_visible(&admin, &principal, &id).await?;
    let stats = job_queues.backend().stats(&cached.settings).await.map_err(Problem::of_job_read)?;
    Ok(Json(JobQueueStats::of(&stats)))
}

/// The secret that signs calls of handlers.
#[derive(Serialize, ToSchema)]
pub(crate) struct JobQueueSecret {
    /// `whsec_` and the key in base64, as the libraries of Standard Webhooks take it.
    secret: String,
}

/// Get the signing secret
///
/// Handlers verify calls with it. The audit log records who read it.
#[utoipa::path(get, path = "/job-queues/{job_queue}/secret", tag = "job queues",
    params(("job_queue" = String, Path, description = "ID of the job queue")),
    responses((status = 200, description = "The secret", body = JobQueueSecret)))]
pub(crate) async fn get_job_queue_secret(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
) -> Result<Json<JobQueueSecret>, Problem> {
    let (_, cached) = find_editable(&admin, &principal, &id).await?;
    let secret = cached.settings.target.secret.as_ref().map(SigningSecret::reveal);
    let secret = secret.ok_or(Problem::Job(JobRefusal::UnknownJobQueue))?;
    audit(&principal, "job_queue.read_secret", &cached.settings).log(&admin).await;
    Ok(Json(JobQueueSecret { secret }))
}

fn audit(principal: &Principal, action: &str, settings: &JobQueueSettings) -> AuditEventBuilder {
    AuditEventBuilder::of(principal, action).tenant(&settings.tenant).subject(&settings.id)
}

/// Pause a job queue
///
/// It accepts jobs and starts none. Jobs that run are finished. Nothing changes if it is paused already.
#[utoipa::path(post, path = "/job-queues/{job_queue}/pause", tag = "job queues",
    params(("job_queue" = String, Path, description = "ID of the job queue")),
    responses(
        (status = 200, description = "The job queue", body = JobQueueView),
        (status = 504, description = "The store did not respond; the job queue may or may not be paused"),
    ))]
pub(crate) async fn pause_job_queue(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
) -> Result<Json<JobQueueView>, Problem> {
    set_paused(&admin, &principal, &id, true).await
}

/// Resume a job queue
///
/// Nothing changes if it is not paused.
#[utoipa::path(post, path = "/job-queues/{job_queue}/resume", tag = "job queues",
    params(("job_queue" = String, Path, description = "ID of the job queue")),
    responses(
        (status = 200, description = "The job queue", body = JobQueueView),
        (status = 504, description = "The store did not respond; the job queue may or may not be paused"),
    ))]
pub(crate) async fn resume_job_queue(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
) -> Result<Json<JobQueueView>, Problem> {
    set_paused(&admin, &principal, &id, false).await
}

async fn set_paused(
    admin: &Admin,
    principal: &Principal,
    id: &str,
    paused: bool,
) -> Result<Json<JobQueueView>, Problem> {
    let (job_queues, cached) = find_editable(admin, principal, id).await?;
    if cached.settings.paused != paused {
        let settings = JobQueueSettings { paused, ..cached.settings.clone() };
        let changes = differences(&cached.settings.to_shown_value(), &settings.to_shown_value());
        let action = if paused { "job_queue.pause" } else { "job_queue.resume" };
        let event = audit(principal, action, &settings).changes(changes.clone());
        let change = JobQueueChange { settings, replaces: cached.revision, changes };
        let plan = JobQueuePlan { changed: vec![change], ..JobQueuePlan::default() };
        let written = match job_queues.execute(&plan).await {
            Ok(written) => written,
            Err(error) => return Err(event.failed(admin, Problem::of_write(error)).await),
        };
        if !written.skipped.is_empty() {
            return Err(Problem::ConcurrentChange);
        }
        event.revision(cached.revision + 1).log(admin).await;
    }
    let (_, cached) = find_visible(admin, principal, id).await?;
    Ok(Json(JobQueueView::of(job_queues, &cached).await))
}
