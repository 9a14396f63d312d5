//! `GET /_vestibule/jobs/{job_queue}/{job}/events`: server-sent events with the progress and the state of a job.
//!
//! An open stream is not a visit. It ends with the job; a client that comes back with `Last-Event-ID` gets the progress messages
//! after that one.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::unfold;
use http::{HeaderName, HeaderValue, header};
use tokio::sync::watch;
use tokio::time::sleep;
use vestibule_core::jobs::{JobQueueId, JobState, JobView};
use vestibule_runtime::{Decision, Outcome};

use super::job_status::{JobStatus, find_visible_job};
use crate::error::GateError;
use crate::followers::{Follower, Seen, is_final};
use crate::request::RequestInfo;
use crate::respond::finish;
use crate::state::Gate;

/// A stream that has sent nothing for this long sends a comment, so that proxies do not close it.
const COMMENT_INTERVAL: Duration = Duration::from_secs(15);
const COMMENT: &[u8] = b":\n\n";
/// nginx sends a response with this header unbuffered.
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

pub(crate) async fn job_events(
    State(gate): State<Gate>,
    Path((job_queue, job)): Path<(String, String)>,
    info: RequestInfo,
) -> Response {
    match open_stream(&gate, &info, &job_queue, &job).await {
        Ok(response) => response,
        Err(error) => error.into_response(),
    }
}

async fn open_stream(gate: &Gate, info: &RequestInfo, job_queue: &str, job: &str) -> Result<Response, GateError> {
    let found = find_visible_job(gate, info, job_queue, job).await?;
    let id = found.job_queue.settings.id.clone();
    let follower = gate.followers.follow(&found.job_queues, &id, found.view.id).ok_or(GateError::TooManyFollowers)?;
    let last_progress = info.header(LAST_EVENT_ID).and_then(|id| id.parse().ok()).unwrap_or_default();
    let draining = gate.streams.draining();
    let stream = JobStream { job_queue: id, follower, draining, last_progress, last_state: None, is_over: false };
    let mut response = stream.into_body().into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store, no-transform"));
    headers.insert(BUFFERING, HeaderValue::from_static("no"));
    Ok(finish(response, Some(found.cors_origin), Decision::without_queue(Outcome::Endpoint)))
}

/// The events of a job that have not been sent yet.
struct JobStream {
    job_queue: JobQueueId,
    follower: Follower,
    draining: watch::Receiver<bool>,
    /// The number of the last progress message that was sent.
    last_progress: u64,
    last_state: Option<JobState>,
    is_over: bool,
}

impl JobStream {
    fn into_body(self) -> Body {
        Body::from_stream(unfold(self, |mut stream| async {
            let chunk = stream.next().await?;
            Some((Ok::<_, Infallible>(chunk), stream))
        }))
    }

    /// The next events; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        while !self.is_over {
            tokio::select! {
                biased;
                _ = self.draining.wait_for(|draining| *draining) => return None,
                changed = self.follower.seen.changed() => changed.ok()?,
                () = sleep(COMMENT_INTERVAL) => return Some(Bytes::from_static(COMMENT)),
            }
            let seen = self.follower.seen.borrow_and_update().clone();
            let events = match seen {
                Seen::NotYet => String::new(),
                // Its result has expired.
                Seen::Unknown => return None,
                Seen::Job(view) => self.events(&view),
            };
            if !events.is_empty() {
                return Some(events.into());
            }
        }
        None
    }

    /// What is new about the job.
    fn events(&mut self, view: &JobView) -> String {
        self.is_over = is_final(view.state);
        let status = JobStatus::of(&self.job_queue, view.clone());
        let mut events = String::new();
        for progress in status.progress.iter().filter(|progress| progress.id > self.last_progress) {
            events += &event("progress", Some(progress.id), &serde_json::to_string(progress).unwrap_or_default());
        }
        self.last_progress = status.progress.last().map_or(self.last_progress, |last| last.id.max(self.last_progress));
        if self.last_state.replace(view.state) != Some(view.state) {
            let status = serde_json::to_string(&status.without_progress()).unwrap_or_default();
            events += &event("state", None, &status);
        }
        events
    }
}

/// An event. JSON has no line breaks.
fn event(name: &str, id: Option<u64>, data: &str) -> String {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("event: {name}\n{id}data: {data}\n\n")
}
