//! Dead letters: jobs that failed for good, and held orders whose outcome is unknown.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use http::{HeaderMap, StatusCode};
use serde::Serialize;
use tokio::time::Instant;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vestibule_core::fields::{Bounded, Flag, List, Omissible, Text};
use vestibule_core::jobs::{
    DeadLetterPosition, Detail, JOB_BATCH, JobId, JobQueueSettings, JobState, JobTargetKind, JobView, Resolution,
};
use vestibule_core::{Micros, fields};
use vestibule_runtime::JobQueues;

use super::service::{audit, find_editable};
use super::views::Job;
use crate::access::Principal;
use crate::body::{Body, Query, Segments, wrong};
use crate::codes::Code;
use crate::confirmation::confirmed;
use crate::describe::describe;
use crate::problem::Problem;
use crate::state::Admin;

/// Maximum number of dead letters of a page.
const PAGE_MAX: u64 = 100;
/// Maximum length of the start of a page.
const POSITION_MAX: usize = 64;
/// Maximum number of dead letters that a request names.
const SELECTED_MAX: usize = 1_000;
/// Maximum length of a job ID in a request.
const JOB_ID_MAX: usize = 32;
/// How long one request replays, deletes or drains jobs.
pub(super) const BATCHES_LIMIT: Duration = Duration::from_secs(10);

pub(super) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new()
        .routes(routes!(list_dead_letters))
        .routes(routes!(get_dead_letter, delete_dead_letter))
        .routes(routes!(delete_dead_letters))
        .routes(routes!(replay_dead_letters))
        .routes(routes!(resolve_dead_letter))
}

fields! {
    /// The wanted dead letters.
    pub(crate) struct DeadLettersQuery {
        /// Return dead letters before this position: `next` of the previous page.
        before: Omissible<Text<POSITION_MAX>>,
        /// Maximum number of results.
        limit: Bounded<1, PAGE_MAX> = 50,
    }
}

describe!(query DeadLettersQuery);

/// A page of dead letters.
#[derive(Serialize, ToSchema)]
pub(crate) struct DeadLetterPage {
    /// The dead letters, the newest first, without payloads and progress.
    dead_letters: Vec<Job>,
    /// Start of the next page as `before`; `null` at the end.
    next: Option<String>,
}

/// List dead letters
///
/// The jobs that failed for good, the newest first, with their reasons and the start of the last response. They are kept for
/// `dead_letter_retention`.
#[utoipa::path(get, path = "/job-queues/{job_queue}/dead-letters", tag = "job queues",
    params(DeadLettersQuery),
    responses((status = 200, description = "The dead letters", body = DeadLetterPage),
        (status = 404, description = "`unknown_job_queue`")))]
pub(crate) async fn list_dead_letters(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
    Query(DeadLettersQuery { before, limit }): Query<DeadLettersQuery>,
) -> Result<Json<DeadLetterPage>, Problem> {
    let (job_queues, cached) = find_editable(&admin, &principal, &id).await?;
    let before = before.map(|text| position(&text).ok_or_else(|| wrong("before", Code::PageStart))).transpose()?;
    // A backend returns at most this many.
    let limit = usize::try_from(limit).unwrap_or(JOB_BATCH).min(JOB_BATCH);
    let found = job_queues.job_store().dead_letters(&cached.settings, before, limit).await;
    let found = found?;
    let last = found.last().filter(|_| found.len() == limit).and_then(position_of);
    let next = last.map(|DeadLetterPosition { ended_at, sequence }| format!("{}-{sequence}", ended_at.0));
    let without_progress = found.into_iter().map(|view| JobView { progress: Vec::new(), ..view });
    let dead_letters = without_progress.map(|view| Job::of(&cached.settings, view)).collect();
    Ok(Json(DeadLetterPage { dead_letters, next }))
}

fn position_of(dead_letter: &JobView) -> Option<DeadLetterPosition> {
    Some(DeadLetterPosition { ended_at: dead_letter.ended_at?, sequence: dead_letter.sequence })
}

/// Parses the start of a page.
fn position(text: &str) -> Option<DeadLetterPosition> {
    let (ended_at, sequence) = text.split_once('-')?;
    Some(DeadLetterPosition { ended_at: Micros(ended_at.parse().ok()?), sequence: sequence.parse().ok()? })
}

/// Get a dead letter
///
/// With its payload. Held orders have none.
#[utoipa::path(get, path = "/job-queues/{job_queue}/dead-letters/{job}", tag = "job queues",
    responses((status = 200, description = "The dead letter", body = Job),
        (status = 404, description = "`unknown_job_queue`, or `unknown_dead_letter`")))]
pub(crate) async fn get_dead_letter(
    State(admin): State<Admin>,
    principal: Principal,
    Segments((job_queue, job)): Segments<(String, String)>,
) -> Result<Json<Job>, Problem> {
    let (job_queues, cached) = find_editable(&admin, &principal, &job_queue).await?;
    let found = read(job_queues, &cached.settings, parsed(&job)?).await?;
    Ok(Json(Job::of(&cached.settings, found)))
}

fn unknown() -> Problem {
    Problem::Plain(StatusCode::NOT_FOUND, Code::UnknownDeadLetter)
}

fn parsed(job: &str) -> Result<JobId, Problem> {
    JobId::from_code(job).map_err(|_| unknown())
}

async fn read(job_queues: &JobQueues, settings: &JobQueueSettings, job: JobId) -> Result<JobView, Problem> {
    let found = job_queues.job_store().get(settings, &[job], Detail::Contents).await?;
    let found = found.into_iter().next().flatten();
    found.filter(|view| matches!(view.state, JobState::Failed | JobState::Unknown)).ok_or_else(unknown)
}

/// Delete a dead letter
#[utoipa::path(delete, path = "/job-queues/{job_queue}/dead-letters/{job}", tag = "job queues",
    responses((status = 204, description = "Deleted"),
        (status = 404, description = "`unknown_job_queue`, or `unknown_dead_letter`")))]
pub(crate) async fn delete_dead_letter(
    State(admin): State<Admin>,
    principal: Principal,
    Segments((job_queue, job)): Segments<(String, String)>,
) -> Result<StatusCode, Problem> {
    let (job_queues, cached) = find_editable(&admin, &principal, &job_queue).await?;
    let job = parsed(&job)?;
    let event = audit(&principal, "job_queue.delete_dead_letter", &cached.settings).with("job", job.to_string());
    let deleted = match job_queues.job_store().delete_dead(&cached.settings, &[job]).await {
        Ok(deleted) => deleted,
        Err(error) => return Err(event.failed(&admin, Problem::of_write(error)).await),
    };
    if deleted != [true] {
        return Err(unknown());
    }
    event.log(&admin).await;
    Ok(StatusCode::NO_CONTENT)
}

fields! {
    /// Some dead letters, or all.
    pub(crate) struct DeadLetterSelection {
        /// IDs of the jobs.
        job_ids: List<Text<JOB_ID_MAX>, 0, SELECTED_MAX> = Vec::new(),
        /// All dead letters that there are now.
        all: Flag = false,
    }
}

describe!(request DeadLetterSelection);

impl DeadLetterSelection {
    /// The jobs; `None` if all are selected.
    fn jobs(&self) -> Result<Option<Vec<JobId>>, Problem> {
        if self.all != self.job_ids.is_empty() {
            return Err(wrong("job_ids", Code::SomeOrAll));
        }
        let jobs =
            self.job_ids.iter().map(|job| JobId::from_code(job).map_err(|_| wrong("job_ids", Code::JobIdFormat)));
        (!self.all).then(|| jobs.collect::<Result<Vec<JobId>, _>>()).transpose()
    }
}

/// What a deletion has done.
#[derive(Serialize, ToSchema)]
pub(crate) struct DeletedDeadLetters {
    /// Dead letters that were deleted.
    deleted: u64,
    /// Whether all wanted jobs were considered. `false`: there are more, or the store stopped responding and more may
    /// have been deleted; repeat the request.
    complete: bool,
}

/// Delete dead letters
///
/// Deletes several dead letters, or all that there are now. Jobs that are no dead letters any more are left out. `all` needs a
/// confirmation.
#[utoipa::path(post, path = "/job-queues/{job_queue}/dead-letters/delete", tag = "job queues",
    params(("X-Vestibule-Confirm" = Option<String>, Header, description = "The confirmation token of the first response")),
    request_body = DeadLetterSelection,
    responses((status = 200, description = "How many were deleted", body = DeletedDeadLetters),
        (status = 404, description = "`unknown_job_queue`"),
        (status = 504, description = "The storage of jobs did not respond to the first part; some may have been deleted")))]
pub(crate) async fn delete_dead_letters(
    State(admin): State<Admin>,
    principal: Principal,
    headers: HeaderMap,
    Segments(id): Segments<String>,
    Body(selection): Body<DeadLetterSelection>,
) -> Result<Json<DeletedDeadLetters>, Problem> {
    let (job_queues, cached) = find_editable(&admin, &principal, &id).await?;
    let settings = &cached.settings;
    let jobs = selection.jobs()?;
    if jobs.is_none() {
        let stats = job_queues.job_store().stats(settings).await?;
        let code = || if settings.holds_orders() { Code::WillDeleteOrders } else { Code::WillDeleteDeadLetters };
        let effect = || code().with("job_queue", settings.id.as_str()).with("dead", stats.dead);
        confirmed(&admin, &principal, &headers, &format!("job_queue.delete_dead_letters {}", settings.id), effect)
            .await?;
    }
    let mut done = DeletedDeadLetters { deleted: 0, complete: true };
    let result = match jobs {
        Some(jobs) => delete_some(job_queues, settings, &jobs, &mut done).await,
        None => delete_all(job_queues, settings, &mut done).await,
    };
    let event = audit(&principal, "job_queue.delete_dead_letters", settings).with("deleted", done.deleted);
    done.complete &= result.is_ok();
    event.concluded_after(&admin, done.deleted, result).await?;
    Ok(Json(done))
}

async fn delete_some(
    job_queues: &JobQueues,
    settings: &JobQueueSettings,
    jobs: &[JobId],
    done: &mut DeletedDeadLetters,
) -> Result<(), Problem> {
    for batch in jobs.chunks(JOB_BATCH) {
        let deleted = job_queues.job_store().delete_dead(settings, batch).await;
        let deleted = deleted.map_err(Problem::of_write)?;
        done.deleted += deleted.iter().filter(|was_dead| **was_dead).count() as u64;
    }
    Ok(())
}

/// From the newest to the oldest, so that those that come meanwhile stay.
async fn delete_all(
    job_queues: &JobQueues,
    settings: &JobQueueSettings,
    done: &mut DeletedDeadLetters,
) -> Result<(), Problem> {
    let (started, mut before) = (Instant::now(), None);
    loop {
        let batch = job_queues.job_store().dead_letters(settings, before, JOB_BATCH).await;
        let batch = batch?;
        let jobs: Vec<JobId> = batch.iter().map(|dead_letter| dead_letter.id).collect();
        delete_some(job_queues, settings, &jobs, done).await?;
        before = batch.last().and_then(position_of);
        done.complete = batch.len() < JOB_BATCH;
        if done.complete || started.elapsed() > BATCHES_LIMIT {
            return Ok(());
        }
    }
}

/// What a replay has done.
#[derive(Serialize, ToSchema)]
pub(crate) struct Replayed {
    /// Jobs that were put back.
    replayed: u64,
    /// Whether all wanted jobs were considered. `false`: there are more, or the store stopped responding and more may
    /// have been put back; repeat the request.
    complete: bool,
}

/// Replay dead letters
///
/// Puts jobs back to the end of their groups, in the order in which they were accepted, with new sequence numbers, the same IDs and no
/// failed attempts. Jobs that are no dead letters any more are left out. Held orders are never replayed.
#[utoipa::path(post, path = "/job-queues/{job_queue}/dead-letters/replay", tag = "job queues",
    request_body = DeadLetterSelection,
    responses((status = 200, description = "How many were put back", body = Replayed),
        (status = 404, description = "`unknown_job_queue`"),
        (status = 409, description = "`not_replayable`: the jobs are held orders"),
        (status = 504, description = "The storage of jobs did not respond to the first part; some may have been put back")))]
pub(crate) async fn replay_dead_letters(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
    Body(selection): Body<DeadLetterSelection>,
) -> Result<Json<Replayed>, Problem> {
    let (job_queues, cached) = find_editable(&admin, &principal, &id).await?;
    let settings = &cached.settings;
    if settings.target.kind == JobTargetKind::Origin {
        return Err(Problem::Plain(StatusCode::CONFLICT, Code::NotReplayable));
    }
    let jobs = selection.jobs()?;
    let mut done = Replayed { replayed: 0, complete: true };
    let result = match jobs {
        Some(jobs) => replay_some(job_queues, settings, &jobs, &mut done).await,
        None => replay_all(job_queues, settings, &mut done).await,
    };
    if done.replayed > 0 {
        job_queues.wake(&settings.id).notify_one();
    }
    let event = audit(&principal, "job_queue.replay", settings).with("replayed", done.replayed);
    done.complete &= result.is_ok();
    event.concluded_after(&admin, done.replayed, result).await?;
    Ok(Json(done))
}

async fn replay_some(
    job_queues: &JobQueues,
    settings: &JobQueueSettings,
    jobs: &[JobId],
    done: &mut Replayed,
) -> Result<(), Problem> {
    let jobs = in_order(job_queues, settings, jobs).await?;
    for batch in jobs.chunks(JOB_BATCH) {
        let replayed = job_queues.backend().replay(settings, batch).await;
        let replayed = replayed.map_err(Problem::of_write)?;
        done.replayed += replayed.iter().filter(|was_dead| **was_dead).count() as u64;
    }
    Ok(())
}

/// The jobs in the order in which they are put back: those of a FIFO job queue as they were accepted, others as they were named.
async fn in_order(job_queues: &JobQueues, settings: &JobQueueSettings, jobs: &[JobId]) -> Result<Vec<JobId>, Problem> {
    if !settings.id.is_fifo() {
        return Ok(jobs.to_vec());
    }
    let mut ordered = Vec::with_capacity(jobs.len());
    for batch in jobs.chunks(JOB_BATCH) {
        ordered.extend(job_queues.job_store().get(settings, batch, Detail::Status).await?.into_iter().flatten());
    }
    ordered.sort_by_key(|view| view.sequence);
    Ok(ordered.into_iter().map(|view| view.id).collect())
}

async fn replay_all(job_queues: &JobQueues, settings: &JobQueueSettings, done: &mut Replayed) -> Result<(), Problem> {
    let (started, mut until) = (Instant::now(), None);
    loop {
        let batch = job_queues.backend().replay_all(settings, until).await;
        let batch = batch.map_err(Problem::of_write)?;
        done.replayed += batch.replayed;
        until = Some(batch.until);
        done.complete = !batch.has_more;
        if done.complete || started.elapsed() > BATCHES_LIMIT {
            return Ok(());
        }
    }
}

fields! {
    /// What became of a held order whose outcome is unknown.
    pub(crate) struct OrderResolution {
        /// `placed`: the shop has processed the order. `not_placed`: it has not, and the visitor can submit it again.
        outcome: Resolution,
    }
}

describe!(request OrderResolution);

/// Resolve a held order
///
/// Records what became of a held order whose outcome is unknown. Find it out in the shop, which received the job ID as
/// `Idempotency-Key`. The visitor's page shows it.
#[utoipa::path(post, path = "/job-queues/{job_queue}/dead-letters/{job}/resolve", tag = "job queues",
    request_body = OrderResolution,
    responses((status = 204, description = "Recorded"),
        (status = 404, description = "`unknown_job_queue`, or `unknown_dead_letter`: there is no held order with an unknown outcome and this ID")))]
pub(crate) async fn resolve_dead_letter(
    State(admin): State<Admin>,
    principal: Principal,
    Segments((job_queue, job)): Segments<(String, String)>,
    Body(OrderResolution { outcome }): Body<OrderResolution>,
) -> Result<StatusCode, Problem> {
    let (job_queues, cached) = find_editable(&admin, &principal, &job_queue).await?;
    let job = parsed(&job)?;
    let event = audit(&principal, "job_queue.resolve_order", &cached.settings);
    let event = event.with("job", job.to_string()).with("outcome", outcome.as_str());
    match job_queues.job_store().resolve(&cached.settings, job, outcome).await {
        Ok(true) => {}
        Ok(false) => return Err(unknown()),
        Err(error) => return Err(event.failed(&admin, Problem::of_write(error)).await),
    }
    event.log(&admin).await;
    Ok(StatusCode::NO_CONTENT)
}
