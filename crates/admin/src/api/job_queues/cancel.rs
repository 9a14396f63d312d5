//! Canceling one job, and all jobs that wait.

use axum::Json;
use axum::extract::State;
use http::{HeaderMap, StatusCode};
use serde::Serialize;
use tokio::time::Instant;
use utoipa::ToSchema;
use vestibule_core::jobs::{Canceled, JobId};

use super::dead_letters::BATCHES_LIMIT;
use super::service::{audit, find_editable};
use crate::access::Principal;
use crate::body::Segments;
use crate::codes::Code;
use crate::confirmation::confirmed;
use crate::job_refusal::JobRefusal;
use crate::problem::Problem;
use crate::state::Admin;

/// Cancel a job
///
/// Deletes a job that has not been received. A held order becomes a dead letter instead, and its visitor can submit it again.
#[utoipa::path(delete, path = "/job-queues/{job_queue}/jobs/{job}", tag = "job queues",
    responses((status = 204, description = "Canceled"),
        (status = 404, description = "`unknown_job_queue`, or `unknown_job`: there is no such job, or its result has expired"),
        (status = 409, description = "`job_leased`: the job runs. `job_finished`: it is completed or a dead letter")))]
pub(crate) async fn cancel_job(
    State(admin): State<Admin>,
    principal: Principal,
    Segments((job_queue, job)): Segments<(String, String)>,
) -> Result<StatusCode, Problem> {
    let (job_queues, cached) = find_editable(&admin, &principal, &job_queue).await?;
    let job = JobId::from_code(&job).map_err(|_| Problem::Job(JobRefusal::UnknownJob))?;
    let event = audit(&principal, "job_queue.cancel_job", &cached.settings).with("job", job.to_string());
    let canceled = match job_queues.job_store().cancel(&cached.settings, &[job]).await {
        Ok(canceled) => canceled.into_iter().next().unwrap_or(Canceled::Unknown),
        Err(error) => return Err(event.failed(&admin, Problem::of_write(error)).await),
    };
    let refusal = match canceled {
        Canceled::Canceled => {
            event.log(&admin).await;
            return Ok(StatusCode::NO_CONTENT);
        }
        Canceled::Leased => JobRefusal::JobLeased,
        Canceled::Finished => JobRefusal::JobFinished,
        Canceled::Unknown => JobRefusal::UnknownJob,
    };
    Err(Problem::Job(refusal))
}

/// What draining has done.
#[derive(Serialize, ToSchema)]
pub(crate) struct DrainedJobs {
    /// Jobs that were canceled.
    canceled: u64,
    /// Whether no job waits any more. `false`: there are more, or the store stopped responding and more may
    /// have been canceled; repeat the request.
    complete: bool,
}

/// Drain a job queue
///
/// Cancels all jobs that wait: they are deleted, and held orders become dead letters. Jobs that run are finished. Needs a
/// confirmation. Pause the job queue first if no further job is to start meanwhile.
#[utoipa::path(post, path = "/job-queues/{job_queue}/drain", tag = "job queues",
    params(("X-Vestibule-Confirm" = Option<String>, Header, description = "The confirmation token of the first response")),
    responses((status = 200, description = "How many were canceled", body = DrainedJobs),
        (status = 504, description = "The storage of jobs did not respond to the first part; some jobs may have been canceled")))]
pub(crate) async fn drain_job_queue(
    State(admin): State<Admin>,
    principal: Principal,
    headers: HeaderMap,
    Segments(id): Segments<String>,
) -> Result<Json<DrainedJobs>, Problem> {
    let (job_queues, cached) = find_editable(&admin, &principal, &id).await?;
    let settings = &cached.settings;
    let stats = job_queues.job_store().stats(settings).await?;
    let code = || if settings.holds_orders() { Code::WillCancelOrders } else { Code::WillDrainJobQueue };
    let effect = || code().with("job_queue", settings.id.as_str()).with("waiting", stats.waiting);
    confirmed(&admin, &principal, &headers, &format!("job_queue.drain {}", settings.id), effect).await?;
    let (started, mut done) = (Instant::now(), DrainedJobs { canceled: 0, complete: false });
    let mut result = Ok(());
    while result.is_ok() && !done.complete && started.elapsed() <= BATCHES_LIMIT {
        match job_queues.job_store().drain(settings).await {
            Ok(batch) => {
                done.canceled += batch.canceled;
                done.complete = !batch.has_more;
            }
            Err(error) => result = Err(Problem::of_write(error)),
        }
    }
    let event = audit(&principal, "job_queue.drain", settings).with("canceled", done.canceled);
    event.concluded_after(&admin, done.canceled, result).await?;
    Ok(Json(done))
}
