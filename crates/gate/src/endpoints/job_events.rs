//! `GET /_vestibule/jobs/{job_queue}/{job}/events`: the progress and the state of a job, as server-sent events or, after an
//! upgrade, over a WebSocket.
//!
//! An open stream is not a visit. It counts as one of the streams of the process, and ends with the job or after some minutes; a
//! client that comes back with the number of its last progress message gets those after it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::unfold;
use http::{Extensions, HeaderName, header};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};
use vestibule_core::jobs::{JobId, JobState, JobView};
use vestibule_runtime::{CachedJobQueue, Decision, JobQueues, Outcome};

use super::job_status::{JobStatus, find_visible_job, read_job};
use crate::cors::CorsOrigin;
use crate::error::GateError;
use crate::followers::{Seen, is_final};
use crate::forms::form_as_json;
use crate::permits::Permit;
use crate::request::RequestInfo;
use crate::respond::finish;
use crate::response_buffer::ResponseBuffer;
use crate::state::Gate;
use crate::streams::{COMMENT, COMMENT_INTERVAL, LIFETIME_MAX, set_event_stream_headers};

/// A function ends its response after the first events; a client comes back after this number of milliseconds.
const RETRY_OF_FUNCTIONS: u64 = 2_000;
/// Maximum size of a message from the client, which is ignored.
const CLIENT_MESSAGE_MAX: usize = 1024;
/// Memory for what is read of a client, in bytes.
const READ_BUFFER: usize = 4 * 1024;
/// A client that does not read for this long is cut off.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

pub(crate) async fn job_events(
    State(gate): State<Gate>,
    Path((job_queue, job)): Path<(String, String)>,
    extensions: Extensions,
    // Before `info`, which takes the headers.
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    info: RequestInfo,
) -> Response {
    let is_function = ResponseBuffer::of(&extensions).is_function();
    let wants_socket = info.header(header::UPGRADE).is_some();
    if wants_socket && is_function {
        return GateError::NoWebSockets.into_response();
    }
    let (stream, cors_origin) = match open_stream(&gate, &info, &job_queue, &job, is_function).await {
        Ok(opened) => opened,
        Err(error) => return error.into_response(),
    };
    let response = match upgrade {
        Ok(upgrade) => upgrade
            .max_message_size(CLIENT_MESSAGE_MAX)
            .max_frame_size(CLIENT_MESSAGE_MAX)
            .read_buffer_size(READ_BUFFER)
            .on_upgrade(|socket| stream.send_to(socket)),
        Err(rejection) if wants_socket => return rejection.into_response(),
        Err(_) => stream.into_response(is_function),
    };
    finish(response, Some(cors_origin), Decision::without_queue(Outcome::Endpoint))
}

async fn open_stream(
    gate: &Gate,
    info: &RequestInfo,
    job_queue: &str,
    job: &str,
    is_function: bool,
) -> Result<(JobStream, CorsOrigin), GateError> {
    let found = find_visible_job(gate, info, job_queue, job).await?;
    let id = found.job_queue.settings.id.clone();
    // The streams of a function end at once.
    let permit = (!is_function)
        .then(|| gate.streams.open(info.origin.address).ok_or(GateError::TooManyFollowers))
        .transpose()?;
    let seen = gate.followers.follow(&found.job_queues, &id, found.view.id).ok_or(GateError::TooManyFollowers)?;
    let stream = JobStream {
        job_queues: found.job_queues,
        job_queue: found.job_queue,
        job: found.view.id,
        seen,
        draining: gate.streams.draining(),
        ends_at: Instant::now() + LIFETIME_MAX,
        last_sent: Instant::now(),
        last_progress: last_progress(info),
        last_state: None,
        is_over: false,
        _permit: permit,
    };
    Ok((stream, found.cors_origin))
}

/// The number of the last progress message that the client has. A WebSocket of a browser can't have the header.
fn last_progress(info: &RequestInfo) -> u64 {
    let in_query = || form_as_json(info.query.as_deref()?.as_bytes()).get("last_event_id")?.as_str().map(str::to_owned);
    let last = info.header(LAST_EVENT_ID).map(str::to_owned).or_else(in_query);
    last.and_then(|id| id.parse().ok()).unwrap_or_default()
}

/// The events of a job that have not been sent yet.
struct JobStream {
    job_queues: Arc<JobQueues>,
    job_queue: Arc<CachedJobQueue>,
    job: JobId,
    seen: watch::Receiver<Seen>,
    draining: watch::Receiver<bool>,
    ends_at: Instant,
    /// When something was last sent. Not every change of the job is.
    last_sent: Instant,
    /// The number of the last progress message that was sent.
    last_progress: u64,
    last_state: Option<JobState>,
    is_over: bool,
    _permit: Option<Permit>,
}

/// Something new about a job.
struct Event {
    name: &'static str,
    /// The number of a progress message.
    id: Option<u64>,
    data: Box<RawValue>,
}

impl Event {
    /// An event with this data; `None` if that is not JSON.
    fn new(name: &'static str, id: Option<u64>, data: &impl Serialize) -> Option<Self> {
        Some(Self { name, id, data: to_raw_value(data).ok()? })
    }

    /// As a server-sent event. In JSON, line breaks are white space; those of its texts are escaped.
    fn as_sent(&self) -> String {
        let id = self.id.map(|id| format!("id: {id}\n")).unwrap_or_default();
        format!("event: {}\n{id}data: {}\n\n", self.name, self.data.get().replace(['\n', '\r'], " "))
    }

    /// As a message of a WebSocket.
    fn as_message(&self) -> Message {
        Message::text(format!(r#"{{"event":"{}","data":{}}}"#, self.name, self.data))
    }
}

impl JobStream {
    /// The response with server-sent events. A function ends it after the first ones.
    fn into_response(self, is_function: bool) -> Response {
        let first = is_function.then(|| format!("retry: {RETRY_OF_FUNCTIONS}\n"));
        let body = Body::from_stream(unfold((self, first), move |(mut stream, mut first)| async move {
            if is_function && first.is_none() {
                return None;
            }
            let events = stream.next().await?;
            let text = if events.is_empty() { COMMENT.to_owned() } else { events.iter().map(Event::as_sent).collect() };
            let chunk = Bytes::from(first.take().unwrap_or_default() + &text);
            Some((Ok::<_, Infallible>(chunk), (stream, first)))
        }));
        let mut response = body.into_response();
        set_event_stream_headers(response.headers_mut());
        response
    }

    /// Sends the events over a WebSocket, until they end or the client goes.
    async fn send_to(mut self, mut socket: WebSocket) {
        loop {
            let next = self.next();
            tokio::pin!(next);
            // What the client sends does not interrupt the search for the next events, which could miss one.
            let events = loop {
                tokio::select! {
                    events = &mut next => break events,
                    message = socket.recv() => match message {
                        Some(Ok(_)) => {}
                        Some(Err(_)) | None => return,
                    },
                }
            };
            let messages = match events {
                None => vec![Message::Close(None)],
                Some(events) if events.is_empty() => vec![Message::Ping(Bytes::new())],
                Some(events) => events.iter().map(Event::as_message).collect(),
            };
            for message in messages {
                let is_last = matches!(message, Message::Close(_));
                if !matches!(timeout(SEND_TIMEOUT, socket.send(message)).await, Ok(Ok(()))) || is_last {
                    return;
                }
            }
        }
    }

    /// What is new; nothing if the client should only see that the stream is open. `None` at the end.
    async fn next(&mut self) -> Option<Vec<Event>> {
        let events = self.wait().await?;
        self.last_sent = Instant::now();
        Some(events)
    }

    /// Waits until there is something to send.
    async fn wait(&mut self) -> Option<Vec<Event>> {
        while !self.is_over {
            tokio::select! {
                biased;
                _ = self.draining.wait_for(|draining| *draining) => return None,
                () = sleep_until(self.ends_at) => return None,
                changed = self.seen.changed() => changed.ok()?,
                () = sleep_until(self.last_sent + COMMENT_INTERVAL) => return Some(Vec::new()),
            }
            let seen = self.seen.borrow_and_update().clone();
            let events = match seen {
                Seen::NotYet => Vec::new(),
                // Its result has expired.
                Seen::Unknown => return None,
                // Followers do not read contents, so the response is still to be read.
                Seen::Job(view) if is_final(view.state) => {
                    let view = read_job(&self.job_queues, &self.job_queue, self.job).await.ok()??;
                    self.events(view)
                }
                Seen::Job(view) => self.events((*view).clone()),
            };
            if !events.is_empty() {
                return Some(events);
            }
        }
        None
    }

    /// What is new about the job.
    fn events(&mut self, view: JobView) -> Vec<Event> {
        let state = view.state;
        self.is_over = is_final(state);
        let status = JobStatus::of(&self.job_queue.settings.id, view);
        let new = status.progress.iter().filter(|progress| progress.id > self.last_progress);
        let mut events: Vec<_> =
            new.filter_map(|progress| Event::new("progress", Some(progress.id), progress)).collect();
        self.last_progress = status.progress.last().map_or(self.last_progress, |last| last.id.max(self.last_progress));
        if self.last_state.replace(state) != Some(state) {
            events.extend(Event::new("state", None, &status.without_progress()));
        }
        events
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use vestibule_core::SystemClock;
    use vestibule_core::fields::Object as _;
    use vestibule_core::jobs::{
        Detail, JobQueueSettings, JobResponse, NewJob, Outcome as JobOutcome, Payload, Settlement,
    };
    use vestibule_core::settings::{JobQueueChange, JobQueuePlan};
    use vestibule_runtime::{ConnectionCounts, CountLimits};
    use vestibule_store_memory::{MemoryJobs, MemoryRecords, MemoryStore};

    use super::*;
    use crate::followers::Followers;
    use crate::streams::Streams;

    /// Streams of which one may be open.
    fn one_stream() -> Streams {
        Streams::new(Arc::new(ConnectionCounts::new(CountLimits { streams: 1, ..CountLimits::default() })), 1)
    }

    /// The events of a new job, as `seen` brings them, and the only permit of `streams`.
    async fn events_of_new_job(streams: &Streams, seen: Option<watch::Receiver<Seen>>) -> JobStream {
        let records = Arc::new(MemoryRecords::new(SystemClock::new()));
        let store = Arc::new(MemoryStore::new(SystemClock::new()));
        let job_queues = Arc::new(JobQueues::new(records, store, Arc::new(MemoryJobs::new(SystemClock::new()))));
        let target = json!({ "kind": "http", "url": "https://crm.acme.example/jobs" });
        let settings = json!({ "id": "mails", "tenant": "acme", "target": target });
        let settings = JobQueueSettings::from_json(&settings).unwrap();
        let change =
            JobQueueChange { settings: settings.clone(), retired_secret: None, replaces: 0, changes: Vec::new() };
        let plan = JobQueuePlan { changed: vec![change], ..JobQueuePlan::default() };
        job_queues.execute(&plan).await.unwrap();
        let payload = Payload { content_type: "text/plain".to_owned(), bytes: b"hello".to_vec() };
        let job = JobId::random();
        job_queues.enqueue(&settings, vec![NewJob::new(job, payload)]).await.unwrap();
        let seen = seen.or_else(|| Followers::default().follow(&job_queues, &settings.id, job)).unwrap();
        JobStream {
            job_queue: job_queues.get(&settings.id).await.unwrap().unwrap(),
            job_queues,
            job,
            seen,
            draining: streams.draining(),
            ends_at: Instant::now() + LIFETIME_MAX,
            last_sent: Instant::now(),
            last_progress: 0,
            last_state: None,
            is_over: false,
            _permit: streams.open(None),
        }
    }

    #[tokio::test]
    async fn last_event_has_the_response() {
        let streams = one_stream();
        let mut stream = events_of_new_job(&streams, None).await;
        let (backend, settings) = (stream.job_queues.backend().clone(), stream.job_queue.settings.clone());
        let received = backend.receive(&settings, 1).await.unwrap();
        let response = JobResponse { status: 200, location: None, headers: Vec::new(), body: b"done".to_vec() };
        let settlement =
            Settlement { lease: received.jobs[0].lease, outcome: JobOutcome::Acknowledged(Some(response)) };
        backend.settle(&settings, vec![settlement]).await.unwrap();
        let mut events = Vec::new();
        while let Some(more) = stream.next().await {
            events.extend(more);
        }
        let last: Value = serde_json::from_str(events.last().unwrap().data.get()).unwrap();
        assert_eq!((&last["state"], &last["response"]["body"]), (&json!("completed"), &json!("done")));
    }

    #[tokio::test]
    async fn progress_stays_as_it_was_written() {
        let streams = one_stream();
        let mut stream = events_of_new_job(&streams, None).await;
        let (backend, settings) = (stream.job_queues.backend().clone(), stream.job_queue.settings.clone());
        let lease = backend.receive(&settings, 1).await.unwrap().jobs[0].lease;
        backend.store().add_progress(&settings, lease, "{\"size\":\n1e400}".parse().unwrap()).await.unwrap();
        let mut events = Vec::new();
        while events.is_empty() {
            events = stream.next().await.unwrap();
        }
        let sent = events[0].as_sent();
        let lines: Vec<_> = sent.lines().collect();
        assert_eq!(lines[..2], ["event: progress", "id: 1"]);
        assert!(lines[2].starts_with("data: ") && lines[2].ends_with(r#""message":{"size": 1e400}}"#), "{sent}");
        let Message::Text(text) = events[0].as_message() else { panic!("not a text") };
        assert!(text.contains("{\"size\":\n1e400}"), "{text}");
    }

    #[tokio::test(start_paused = true)]
    async fn job_whose_turn_comes_nearer_does_not_delay_comments() {
        let streams = one_stream();
        let mut stream = events_of_new_job(&streams, None).await;
        let backend = stream.job_queues.backend().clone();
        let read = backend.store().get(&stream.job_queue.settings, &[stream.job], Detail::Status).await.unwrap();
        let mut view = read[0].clone().unwrap();
        let (seen, receiver) = watch::channel(Seen::Job(Arc::new(view.clone())));
        stream.seen = receiver;
        stream.seen.mark_changed();
        assert_eq!(stream.next().await.unwrap()[0].name, "state");
        let began = Instant::now();
        let nearer = tokio::spawn(async move {
            for ahead in (0..100).rev() {
                tokio::time::sleep(Duration::from_secs(1)).await;
                view.ahead = Some(ahead);
                seen.send_replace(Seen::Job(Arc::new(view.clone())));
            }
        });
        assert!(stream.next().await.unwrap().is_empty(), "a comment");
        assert_eq!(began.elapsed().as_secs(), COMMENT_INTERVAL.as_secs());
        nearer.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn stream_of_an_endless_job_ends_and_gives_back_its_permit() {
        let streams = one_stream();
        // The job stays as it is.
        let (_seen, receiver) = watch::channel(Seen::NotYet);
        let mut stream = events_of_new_job(&streams, Some(receiver)).await;
        let began = Instant::now();
        while let Some(events) = stream.next().await {
            assert!(events.is_empty());
        }
        assert_eq!(began.elapsed().as_secs(), LIFETIME_MAX.as_secs());
        assert_eq!(streams.counts().streams.open(), 1);
        drop(stream);
        assert_eq!(streams.counts().streams.open(), 0);
    }
}
