//! Closes connections that stay open, tunnels such as those of a web socket and event streams, when what let them pass has ended.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use futures_util::StreamExt as _;
use http::{HeaderMap, header};
use tokio::sync::watch;
use tokio::time::sleep;
use tracing::debug;
use vestibule_core::content_type::media_type;
use vestibule_core::line::{Mode, SessionLocation};
use vestibule_core::store::OperationsStore;
use vestibule_core::{Micros, QueueId, SessionId, StoreError};
use vestibule_proxy::TunnelEnd;
use vestibule_runtime::Directory;

use crate::state::Gate;

/// How often it is checked whether a tunnel may stay open.
const CHECK_INTERVAL: Duration = Duration::from_mins(1);
const EVENT_STREAM: &str = "text/event-stream";

/// Resolves once a connection of this session, or of none, has to end.
pub(crate) fn admission_end(gate: Gate, queue: QueueId, session: Option<SessionId>) -> TunnelEnd {
    Box::pin(async move {
        end_of(&*gate.store, &gate.directory, || gate.clock.now(), &queue, session).await;
    })
}

/// An event stream ends as a tunnel does, and when the process is `draining`, which would wait for it. Other responses stay as they are.
pub(crate) fn limit_event_stream(
    response: Response,
    mut draining: watch::Receiver<bool>,
    end: impl FnOnce() -> TunnelEnd,
) -> Response {
    if !is_event_stream(response.headers()) {
        return response;
    }
    let end = end();
    let ended = async move {
        tokio::select! {
            () = end => {}
            _ = draining.wait_for(|draining| *draining) => {}
        }
    };
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(ended)))
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.is_some_and(|value| media_type(value) == EVENT_STREAM)
}

/// Resolves once the queue was removed, or the session, if there is one, is no longer active. While the store is unavailable, and while
/// everyone passes without a session, tunnels stay open.
async fn end_of(
    store: &dyn OperationsStore,
    directory: &Directory,
    now: impl Fn() -> Micros,
    queue: &QueueId,
    session: Option<SessionId>,
) {
    loop {
        sleep(CHECK_INTERVAL).await;
        let has_ended = match has_ended(store, &now, queue, session).await {
            Err(StoreError::UnknownQueue(_)) => is_removed(directory, queue).await,
            outcome => outcome.unwrap_or_default(),
        };
        if has_ended {
            let session = session.map(tracing::field::display);
            debug!(%queue, session, "tunnel closed with its admission");
            return;
        }
    }
}

async fn has_ended(
    store: &dyn OperationsStore,
    now: impl Fn() -> Micros,
    queue: &QueueId,
    session: Option<SessionId>,
) -> Result<bool, StoreError> {
    if let Some(session) = session {
        let found = store.find(queue, session).await?;
        let active = found.filter(|found| matches!(found.state, SessionLocation::Active { .. }));
        if active.is_some_and(|found| now() < found.expires_at) {
            return Ok(false);
        }
    }
    let stats = store.stats(queue).await?;
    // A session that the store has lost may still return.
    Ok(stats.mode != Mode::Bypass && !stats.recovering)
}

/// Whether a queue that the store does not have was removed. If the store has lost it, it is restored.
async fn is_removed(directory: &Directory, queue: &QueueId) -> bool {
    match directory.queue(queue) {
        Some(held) => matches!(directory.restore_lost_queue(&held).await, Ok(false)),
        None => directory.index_loaded(),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::{pending, ready};
    use std::sync::Arc;

    use futures_util::stream;
    use serde_json::json;
    use tokio::time::timeout;
    use vestibule_core::line::Visit;
    use vestibule_core::settings::Settings;
    use vestibule_core::store::{PutMode, SettingsStore as _, VisitStore as _};
    use vestibule_core::{Clock as _, ManualClock};
    use vestibule_store_memory::MemoryStore;

    use super::*;
    use crate::streams::Streams;

    const A_WHILE: Duration = Duration::from_mins(5);

    fn clock() -> Arc<ManualClock> {
        Arc::new(ManualClock::at(Micros(1_700_000_000_000_000)))
    }

    /// A store with a queue, and a directory that knows it.
    async fn queue(clock: &Arc<ManualClock>) -> (Arc<MemoryStore>, Directory, Settings) {
        let store = Arc::new(MemoryStore::new(Arc::clone(clock)));
        let settings = Settings::from_value(&json!({
            "id": "tour", "tenant": "acme", "hosts": ["*"], "quota": 2, "handover": { "kind": "check" }, "active_ttl": 600,
        }));
        let settings = settings.unwrap();
        let directory = Directory::new(store.clone(), Vec::new(), Vec::new());
        directory.apply(&[], std::slice::from_ref(&settings)).await.unwrap();
        (store, directory, settings)
    }

    #[tokio::test(start_paused = true)]
    async fn a_tunnel_ends_with_its_queue_but_not_with_lost_data() {
        let clock = clock();
        let (store, directory, settings) = queue(&clock).await;
        let session = SessionId::random();
        store.visit(&settings.id, Visit::joining(session)).await.unwrap();
        let lost = MemoryStore::new(Arc::clone(&clock));
        let of = [Some(session), None];
        for session in of {
            let end = end_of(&lost, &directory, || clock.now(), &settings.id, session);
            assert!(timeout(A_WHILE, end).await.is_err(), "{session:?}");
        }
        store.remove_queue(&settings.id).await.unwrap();
        for session in of {
            let end = end_of(&*store, &directory, || clock.now(), &settings.id, session);
            assert!(timeout(CHECK_INTERVAL, end).await.is_ok(), "{session:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_event_stream_ends_when_the_process_stops() {
        let streams = Streams::off();
        let event = stream::once(ready(Ok::<_, Infallible>("data: 1\n\n")));
        let mut response = Response::new(Body::from_stream(event.chain(stream::pending())));
        response.headers_mut().insert(header::CONTENT_TYPE, http::HeaderValue::from_static(EVENT_STREAM));
        let limited = limit_event_stream(response, streams.draining(), || Box::pin(pending()));
        let mut events = limited.into_body().into_data_stream();
        assert!(events.next().await.is_some());
        assert!(timeout(A_WHILE, events.next()).await.is_err(), "it stays open");
        streams.drain();
        assert!(timeout(A_WHILE, events.next()).await.is_ok_and(|event| event.is_none()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_tunnel_ends_within_a_minute_of_its_session() {
        let clock = clock();
        let (store, directory, settings) = queue(&clock).await;
        let sessions = [SessionId::random(), SessionId::random()];
        for session in sessions {
            store.visit(&settings.id, Visit::joining(session)).await.unwrap();
        }
        let end = |session| end_of(&*store, &directory, || clock.now(), &settings.id, Some(session));
        assert!(timeout(A_WHILE, end(sessions[0])).await.is_err(), "the session is active");
        store.end(&settings.id, sessions[0]).await.unwrap();
        assert!(timeout(CHECK_INTERVAL, end(sessions[0])).await.is_ok(), "an operator ended it");
        clock.advance(600_000_000);
        let in_mode = |mode| {
            let mut settings = settings.clone();
            settings.line.mode = mode;
            settings
        };
        store.put_settings(&in_mode(Mode::Bypass), PutMode::Always).await.unwrap();
        assert!(timeout(A_WHILE, end(sessions[1])).await.is_err(), "everyone passes");
        store.put_settings(&in_mode(Mode::Open), PutMode::Always).await.unwrap();
        assert!(timeout(CHECK_INTERVAL, end(sessions[1])).await.is_ok(), "its slot expired");
    }

    #[test]
    fn event_streams_are_recognized_by_their_content_type() {
        let is_stream =
            |value: &str| is_event_stream(&HeaderMap::from_iter([(header::CONTENT_TYPE, value.parse().unwrap())]));
        for value in ["text/event-stream", "Text/Event-Stream; charset=utf-8", "text/event-stream ;x"] {
            assert!(is_stream(value), "{value}");
        }
        for value in ["", "text/html", "text/event-streams", "application/json; text/event-stream"] {
            assert!(!is_stream(value), "{value}");
        }
    }
}
