//! The purge: removes what has lapsed from every queue, in bounded batches.
//!
//! Its one idea: every operation of a queue reaps a little on its way, so the purge only matters where nobody comes by:
//! it frees the places of a queue whose visitors have all gone, and lets in who still waits there. [`run`] does one
//! round over all queues; it is safe to run twice at once, and one broken queue does not stop the others.
//!
//! ```
//! # use vestibule_core::{MemoryStore, SystemClock};
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let store = MemoryStore::new(SystemClock::new());
//! let round = vestibule_purge::run(&store, std::time::Duration::from_secs(1)).await;
//! assert_eq!((round.queues, round.failed), (0, 0));
//! # }
//! ```

use std::time::Duration;

use tokio::time::Instant;
use tracing::{debug, warn};
use vestibule_core::line::{PURGE_BATCH, PurgeReport};
use vestibule_core::{QueueId, Store, StoreError};

/// What one round did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Round {
    /// Queues looked at.
    pub queues: u64,
    /// Queues that could not be purged.
    pub failed: u64,
    /// Lapsed sessions removed.
    pub expired: u64,
    /// Old tombstones removed.
    pub tombstones: u64,
    /// Sessions admitted into the places that became free.
    pub admitted: u64,
    /// Whether the budget ended before the work did.
    pub unfinished: bool,
}

/// Purges every queue in batches, until nothing is left to do or `budget` has passed.
pub async fn run(store: &dyn Store, budget: Duration) -> Round {
    let deadline = Instant::now() + budget;
    let mut round = Round::default();
    let queues = match store.queues().await {
        Ok(queues) => queues,
        Err(error) => {
            warn!(%error, "the index of queues could not be read, so nothing was purged");
            return Round { failed: 1, ..round };
        }
    };
    for (queue, _) in queues.into_iter().filter(|(_, revision)| *revision > 0) {
        if Instant::now() >= deadline {
            round.unfinished = true;
            break;
        }
        round.queues += 1;
        match purge_queue(store, &queue, deadline).await {
            Ok(report) => round.add(report),
            Err(StoreError::UnknownQueue(_)) => debug!(%queue, "listed, but gone"),
            Err(error) => {
                warn!(%queue, %error, "this queue could not be purged");
                round.failed += 1;
            }
        }
    }
    if round.expired + round.tombstones + round.admitted > 0 || round.unfinished {
        debug!(?round, "purged");
    }
    round
}

async fn purge_queue(store: &dyn Store, queue: &QueueId, deadline: Instant) -> Result<PurgeReport, StoreError> {
    let mut sum = PurgeReport::default();
    loop {
        let report = store.purge(queue, PURGE_BATCH).await?;
        sum.expired += report.expired;
        sum.tombstones += report.tombstones;
        sum.admitted += report.admitted;
        sum.more = report.more;
        if !report.more || Instant::now() >= deadline {
            return Ok(sum);
        }
    }
}

impl Round {
    fn add(&mut self, report: PurgeReport) {
        self.expired += report.expired;
        self.tombstones += report.tombstones;
        self.admitted += report.admitted;
        self.unfinished |= report.more;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use vestibule_core::line::Visit;
    use vestibule_core::settings::Settings;
    use vestibule_core::{ManualClock, MemoryStore, Micros, PutMode, SessionId};

    use super::*;

    fn settings(id: &str) -> Settings {
        Settings::from_value(&serde_json::json!({
            "id": id, "tenant": "t", "hosts": ["*"], "quota": 1, "handover": { "kind": "check" },
        }))
        .unwrap()
    }

    #[tokio::test]
    async fn a_round_empties_every_queue_however_much_has_lapsed() {
        let clock = Arc::new(ManualClock::at(Micros(1_700_000_000_000_000)));
        let store = MemoryStore::new(clock.clone());
        for id in ["a", "b"] {
            store.put_settings(&settings(id), PutMode::Always).await.unwrap();
            for _ in 0..1200 {
                let visit = Visit { ticket: None, join: Some(SessionId::random()) };
                store.visit(&id.parse().unwrap(), visit).await.unwrap();
            }
        }
        clock.advance(31_000_000);
        let round = run(&store, Duration::from_secs(5)).await;
        assert_eq!((round.queues, round.failed, round.unfinished), (2, 0, false));
        for id in ["a", "b"] {
            let stats = store.stats(&id.parse().unwrap()).await.unwrap();
            assert_eq!((stats.waiting, stats.active), (0, 0));
        }
    }
}
