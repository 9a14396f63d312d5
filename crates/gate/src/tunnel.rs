//! Closes connections that stay open, tunnels such as those of a web socket and event streams, when what let them pass has ended.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use futures_util::StreamExt as _;
use http::{HeaderMap, header};
use tokio::time::sleep;
use tracing::debug;
use vestibule_core::content_type::media_type;
use vestibule_core::line::{Mode, SessionLocation};
use vestibule_core::store::OperationsStore;
use vestibule_core::{Micros, QueueId, SessionId};
use vestibule_proxy::TunnelEnd;

use crate::state::Gate;

/// How often it is checked whether a tunnel may stay open.
const CHECK_INTERVAL: Duration = Duration::from_mins(1);
const EVENT_STREAM: &str = "text/event-stream";

/// Resolves once a connection of this session, or of none, has to end.
pub(crate) fn admission_end(gate: Gate, queue: QueueId, session: Option<SessionId>) -> TunnelEnd {
    Box::pin(async move { end_of(&*gate.store, || gate.clock.now(), &queue, session).await })
}

/// An event stream ends as a tunnel does. Other responses stay as they are.
pub(crate) fn limit_event_stream(response: Response, end: impl FnOnce() -> TunnelEnd) -> Response {
    if !is_event_stream(response.headers()) {
        return response;
    }
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(end())))
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.is_some_and(|value| media_type(value) == EVENT_STREAM)
}

/// Resolves once the session, if there is one, is no longer active. While the store is unavailable, and while everyone passes without
/// a session, tunnels stay open.
async fn end_of(store: &dyn OperationsStore, now: impl Fn() -> Micros, queue: &QueueId, session: Option<SessionId>) {
    loop {
        sleep(CHECK_INTERVAL).await;
        if let Some(session) = session {
            let Ok(found) = store.find(queue, session).await else { continue };
            let active = found.filter(|found| matches!(found.state, SessionLocation::Active { .. }));
            if active.is_some_and(|found| now() < found.expires_at) {
                continue;
            }
        }
        let Ok(stats) = store.stats(queue).await else { continue };
        if stats.mode != Mode::Bypass {
            let session = session.map(tracing::field::display);
            debug!(%queue, session, "tunnel closed with its admission");
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use tokio::time::timeout;
    use vestibule_core::line::Visit;
    use vestibule_core::settings::Settings;
    use vestibule_core::store::{PutMode, SettingsStore as _, VisitStore as _};
    use vestibule_core::{Clock as _, ManualClock};
    use vestibule_store_memory::MemoryStore;

    use super::*;

    const A_WHILE: Duration = Duration::from_mins(5);

    #[tokio::test(start_paused = true)]
    async fn a_tunnel_ends_within_a_minute_of_its_session() {
        let clock = Arc::new(ManualClock::at(Micros(1_700_000_000_000_000)));
        let store = MemoryStore::new(Arc::clone(&clock));
        let settings = Settings::from_value(&json!({
            "id": "tour", "tenant": "acme", "hosts": ["*"], "quota": 2, "handover": { "kind": "check" }, "active_ttl": 600,
        }));
        let settings = settings.unwrap();
        store.put_settings(&settings, PutMode::Always).await.unwrap();
        let sessions = [SessionId::random(), SessionId::random()];
        for session in sessions {
            store.visit(&settings.id, Visit::joining(session)).await.unwrap();
        }
        let end = |session| end_of(&store, || clock.now(), &settings.id, Some(session));
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
