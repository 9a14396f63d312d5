//! Tunnels, such as a WebSocket's, end with the session that they were opened in.

use std::time::Duration;

use tokio::time::sleep;
use tracing::debug;
use vestibule_core::line::FoundState;
use vestibule_core::{QueueId, SessionId};
use vestibule_http::Queue;

use crate::state::Gate;

/// How often it is looked whether the session is still active.
const LOOK_EVERY: Duration = Duration::from_mins(1);

/// The session that a request was admitted in.
#[derive(Clone)]
pub(crate) struct Held {
    gate: Gate,
    queue: QueueId,
    session: SessionId,
}

impl Held {
    pub(crate) fn new(gate: &Gate, queue: &Queue, session: SessionId) -> Self {
        Self { gate: gate.clone(), queue: queue.settings.id.clone(), session }
    }

    /// Resolves once the session is no longer active. While the store is away nothing is known, so nothing ends.
    pub(crate) async fn ended(&self) {
        loop {
            sleep(LOOK_EVERY).await;
            let Ok(found) = self.gate.store.find(&self.queue, self.session).await else { continue };
            let active = found.filter(|found| matches!(found.state, FoundState::Admitted { .. }));
            if active.is_none_or(|found| found.expires_at <= self.gate.clock.now()) {
                debug!(queue = %self.queue, session = %self.session, "a tunnel ends with its session");
                return;
            }
        }
    }
}
