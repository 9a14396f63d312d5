//! Schedules of a job queue, and runs by hand (S4).

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vestibule_core::Micros;
use vestibule_core::jobs::{JobId, JobSchedule, NewJob};

use super::jobs::enqueued_by_hand;
use super::service::{audit, find_editable, find_visible};
use super::views::EnqueuedJob;
use crate::access::Principal;
use crate::body::Segments;
use crate::codes::Code;
use crate::problem::Problem;
use crate::state::Admin;

pub(super) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new().routes(routes!(list_schedules)).routes(routes!(run_schedule))
}

/// The schedules of a job queue.
#[derive(Serialize, ToSchema)]
pub(crate) struct ScheduleList {
    /// The schedules, as in the settings of the job queue.
    schedules: Vec<ScheduleView>,
}

/// A schedule, and when it runs next.
#[derive(Serialize, ToSchema)]
pub(crate) struct ScheduleView {
    /// ID of the schedule.
    id: String,
    /// When it runs.
    cron: String,
    /// Time zone of `cron`.
    time_zone: String,
    /// When it runs next, in seconds since 1970; `null` if it never runs again.
    next_run_at: Option<u64>,
}

impl ScheduleView {
    fn of(schedule: &JobSchedule, now: Micros) -> Self {
        let JobSchedule { id, cron, time_zone, .. } = schedule;
        Self {
            id: id.to_string(),
            cron: cron.to_string(),
            time_zone: time_zone.to_string(),
            next_run_at: schedule.next_after(now).map(Micros::seconds),
        }
    }
}

/// List the schedules of a job queue
///
/// They are part of its settings. A missed run is made up for if it is at most an hour old.
#[utoipa::path(get, path = "/job-queues/{job_queue}/schedules", tag = "job queues",
    responses((status = 200, description = "The schedules", body = ScheduleList)))]
pub(crate) async fn list_schedules(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
) -> Result<Json<ScheduleList>, Problem> {
    let (_, cached) = find_visible(&admin, &principal, &id).await?;
    let now = admin.now().await?;
    let schedules = cached.settings.schedules.iter().map(|schedule| ScheduleView::of(schedule, now)).collect();
    Ok(Json(ScheduleList { schedules }))
}

/// Run a schedule now
///
/// Enqueues a job of the schedule, beside those at its times.
#[utoipa::path(post, path = "/job-queues/{job_queue}/schedules/{schedule}/run", tag = "job queues",
    responses(
        (status = 202, description = "Queued", body = EnqueuedJob,
            headers(("X-Job-Id" = String, description = "ID of the job"), ("Location" = String, description = "Path of the job"))),
        (status = 404, description = "`unknown_job_queue` or `unknown_schedule`"),
        (status = 503, description = "`job_queue_full`, `not_queued`, `store_unavailable`: nothing is queued. `enqueue_unconfirmed`: the job may or may not be queued"),
    ))]
pub(crate) async fn run_schedule(
    State(admin): State<Admin>,
    principal: Principal,
    Segments((id, schedule)): Segments<(String, String)>,
) -> Result<Response, Problem> {
    let (job_queues, cached) = find_editable(&admin, &principal, &id).await?;
    let settings = &cached.settings;
    let found = settings.schedules.iter().find(|it| it.id.as_str() == schedule);
    let job = found.and_then(|schedule| NewJob::of_schedule(&settings.id, schedule, JobId::random()));
    let job = job.ok_or(Problem::Plain(StatusCode::NOT_FOUND, Code::UnknownSchedule))?;
    let event = audit(&principal, "job_queue.run_schedule", settings).with("schedule", schedule);
    enqueued_by_hand(&admin, job_queues, settings, job, event).await
}
