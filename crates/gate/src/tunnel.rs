//! Closes tunnels, such as those of a web socket, when their session ends.

use std::time::Duration;

use tokio::time::sleep;
use tracing::debug;
use vestibule_core::line::{Mode, SessionLocation};
use vestibule_core::store::OperationsStore;
use vestibule_core::{Micros, QueueId, SessionId};

use crate::state::Gate;

/// How often the session of a tunnel is checked.
const CHECK_INTERVAL: Duration = Duration::from_mins(1);

/// Resolves once the session is no longer active.
pub(crate) async fn session_end(gate: Gate, queue: QueueId, session: SessionId) {
    end_of(&*gate.operations, || gate.clock.now(), &queue, session).await;
}

/// Resolves once the session is no longer active. While the store is unavailable, and while everyone passes without a session,
/// tunnels stay open.
async fn end_of(store: &dyn OperationsStore, now: impl Fn() -> Micros, queue: &QueueId, session: SessionId) {
    loop {
        sleep(CHECK_INTERVAL).await;
        let Ok(found) = store.find(queue, session).await else { continue };
        let active = found.filter(|found| matches!(found.state, SessionLocation::Active { .. }));
        if active.is_some_and(|found| now() < found.expires_at) {
            continue;
        }
        let Ok(stats) = store.stats(queue).await else { continue };
        if stats.mode != Mode::Bypass {
            debug!(%queue, %session, "tunnel closed with its session");
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
        let end = |session| end_of(&store, || clock.now(), &settings.id, session);
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
}
