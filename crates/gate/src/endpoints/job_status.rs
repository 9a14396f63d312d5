//! `GET /_vestibule/jobs/{job_queue}/{job}`: what became of a job, for the session that may follow it.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;
use tracing::warn;
use vestibule_core::Ticket;
use vestibule_core::jobs::{Detail, FailureReason, JobId, JobQueueId, JobResponse, JobState, JobView, Progress};
use vestibule_runtime::{CachedJobQueue, Decision, JobQueues, Outcome, Queue};
use vestibule_themes::{JOB_POLL_SECONDS, JobDetails, JobNews};

use super::jobs::{find_job_queue, tickets_of_tenant};
use crate::answer::{Answer, JobReport, Reply};
use crate::cache_headers::set_private_cache;
use crate::cors::{CorsOrigin, cors_origin};
use crate::error::GateError;
use crate::held::OrderOutcome;
use crate::request::{Credential, RequestInfo};
use crate::respond::{finish, refuse, respond};
use crate::state::Gate;
use crate::visit::renew;

/// Maximum number of characters of a handler's text on the page.
const DETAIL_MAX: usize = 500;

/// A job that a visitor may follow.
pub(super) struct VisibleJob {
    pub(super) job_queues: Arc<JobQueues>,
    pub(super) job_queue: Arc<CachedJobQueue>,
    pub(super) view: JobView,
    pub(super) cors_origin: CorsOrigin,
    queue: Arc<Queue>,
    ticket: Ticket,
}

pub(crate) async fn job_status(
    State(gate): State<Gate>,
    Path((job_queue, job)): Path<(String, String)>,
    info: RequestInfo,
) -> Response {
    let found = match find_visible_job(&gate, &info, &job_queue, &job).await {
        Ok(found) => found,
        Err(error) => return refuse(&info, error),
    };
    let id = found.view.id;
    if info.wants_page() {
        let details = details_of(&found.job_queue, &found.view);
        let news = news_of(&found.job_queue, found.view);
        let credential = Credential::Ticket(found.ticket);
        // Each load is a visit, so the session stays present.
        let visit = renew(&gate, found.queue, credential).await;
        let job_queue = Some(found.job_queue.settings.id.clone());
        let report = JobReport { news, job: Some(id), job_queue, url: None, details, retry_after: None };
        let reply = Reply::JobPage(StatusCode::OK, report);
        return respond(&gate, &info, Answer::new(visit, reply)).await;
    }
    let mut response = Json(JobStatus::of(&found.job_queue.settings.id, found.view)).into_response();
    set_private_cache(response.headers_mut());
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(JOB_POLL_SECONDS));
    finish(response, Some(found.cors_origin), Decision::without_queue(Outcome::Endpoint))
}

/// A job of this visitor's session. Jobs of others are not found.
pub(super) async fn find_visible_job(
    gate: &Gate,
    info: &RequestInfo,
    job_queue: &str,
    job: &str,
) -> Result<VisibleJob, GateError> {
    let (job_queues, job_queue) = find_job_queue(gate, job_queue).await?;
    let job: JobId = job.parse().map_err(|_| GateError::UnknownJob)?;
    let tickets = tickets_of_tenant(gate, info, &job_queue).await?;
    if tickets.is_empty() {
        return Err(GateError::TicketRequired);
    }
    let view = read_job(&job_queues, &job_queue, job).await?.ok_or(GateError::UnknownJob)?;
    let is_of_session = |(_, ticket): &(_, Ticket)| view.session.is_some_and(|session| ticket.is_of_bearer(session));
    let (queue, ticket) = tickets.into_iter().find(is_of_session).ok_or(GateError::UnknownJob)?;
    let cors_origin = cors_origin(&gate.directory, info, &queue.settings)?;
    Ok(VisibleJob { job_queues, job_queue, view, cors_origin, queue, ticket })
}

/// A job with its result; `None` if the backend does not know it.
pub(super) async fn read_job(
    job_queues: &JobQueues,
    job_queue: &CachedJobQueue,
    job: JobId,
) -> Result<Option<JobView>, GateError> {
    let read = job_queues.job_store().get(&job_queue.settings, &[job], Detail::Result).await;
    let views = read.map_err(|error| {
        warn!(job_queue = %job_queue.settings.id, %job, %error, "a job could not be read");
        GateError::StoreUnavailable
    })?;
    Ok(views.into_iter().next().flatten())
}

fn news_of(job_queue: &CachedJobQueue, view: JobView) -> JobNews {
    if job_queue.settings.holds_orders() {
        return OrderOutcome::of(Some(view)).news();
    }
    match view.state {
        JobState::Queued | JobState::Running | JobState::Retrying => JobNews::JobQueued,
        JobState::Completed => JobNews::JobCompleted,
        JobState::Failed => JobNews::JobFailed,
        JobState::Unknown => JobNews::JobUnknown,
    }
}

/// What the page shows beside the news. The response to an order is a page of its own.
fn details_of(job_queue: &CachedJobQueue, view: &JobView) -> JobDetails {
    let response = view.result.as_ref().filter(|_| !job_queue.settings.holds_orders()).and_then(JobResponse::text);
    JobDetails {
        position: view.position(),
        progress: view.progress.last().filter(|_| view.state == JobState::Running).and_then(progress_text),
        response: response.and_then(plain_text),
    }
}

/// A message that is a text, or has one as its `status`. The script of the page reads it in the same way.
fn progress_text(progress: &Progress) -> Option<String> {
    let message: Value = serde_json::from_str(progress.message.as_str()).ok()?;
    let text = message.get("status").unwrap_or(&message).as_str()?;
    Some(start_of(text))
}

/// The start of a response for people: neither markup nor data, of which the end may be missing.
fn plain_text(response: &str) -> Option<String> {
    let text = response.strip_prefix('\u{feff}').unwrap_or(response).trim();
    let is_data = text.starts_with(['<', '{', '[', '"']) || serde_json::from_str::<IgnoredAny>(text).is_ok();
    (!is_data).then(|| start_of(text))
}

fn start_of(text: &str) -> String {
    text.trim().chars().take(DETAIL_MAX).collect()
}

/// What became of a job, as JSON.
#[derive(Debug, Serialize)]
pub(super) struct JobStatus {
    job_id: JobId,
    job_queue: JobQueueId,
    state: JobState,
    ahead: Option<u64>,
    receive_count: u64,
    enqueued_at: u64,
    pub(super) progress: Vec<JobProgress>,
    response: Option<JobStatusResponse>,
    reason: Option<FailureReason>,
    poll_after: u64,
}

/// A progress message of the handler.
#[derive(Debug, Serialize)]
pub(super) struct JobProgress {
    pub(super) id: u64,
    at: u64,
    message: Option<Box<RawValue>>,
}

/// The response that completed a job.
#[derive(Debug, Serialize)]
struct JobStatusResponse {
    status: u16,
    /// Where it redirects to; held orders only.
    location: Option<String>,
    /// The start of the body, if it is text.
    body: Option<String>,
}

impl JobStatus {
    pub(super) fn of(job_queue: &JobQueueId, view: JobView) -> Self {
        let progress = view.progress.into_iter().map(|progress| JobProgress {
            id: progress.id,
            at: progress.at.seconds(),
            // As it was written: as values of Rust, some numbers would change.
            message: serde_json::from_str(progress.message.as_str()).ok(),
        });
        let response = view.result.map(|result| JobStatusResponse {
            body: result.text().map(str::to_owned),
            status: result.status,
            location: result.location,
        });
        Self {
            job_id: view.id,
            job_queue: job_queue.clone(),
            state: view.state,
            ahead: view.ahead,
            receive_count: view.receive_count,
            enqueued_at: view.enqueued_at.seconds(),
            progress: progress.collect(),
            response,
            reason: view.reason,
            poll_after: JOB_POLL_SECONDS,
        }
    }

    /// The same without progress, for a client that gets progress message by message.
    pub(super) fn without_progress(self) -> Self {
        Self { progress: Vec::new(), ..self }
    }
}

#[cfg(test)]
mod tests {
    use vestibule_core::Micros;

    use super::*;

    #[test]
    fn page_shows_texts_of_the_handler() {
        let text = |message: &str| {
            let message = message.parse().unwrap();
            progress_text(&Progress { id: 1, at: Micros(0), message })
        };
        assert_eq!(text(r#""Seat 12""#), Some("Seat 12".to_owned()));
        assert_eq!(text(r#"{"status":"preparing","step":1}"#), Some("preparing".to_owned()));
        assert_eq!(text(&format!("\"{}\"", "ü".repeat(600))).unwrap().chars().count(), DETAIL_MAX);
        for other in ["1", "null", "[]", r#"{"step":1}"#, r#"{"status":1}"#] {
            assert_eq!(text(other), None, "{other}");
        }
        for plain in ["Thank you", "\u{feff} Thank you\n"] {
            assert_eq!(plain_text(plain).as_deref(), Some("Thank you"));
        }
        for data in ["<p>", "\u{feff}<html>", " {", "[1,", "\"a", "null", "\u{feff} true", "12.5"] {
            assert_eq!(plain_text(data), None, "{data}");
        }
    }
}
