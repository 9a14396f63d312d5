#![doc = include_str!("../README.md")]

mod function;
mod queue_metrics;
mod round;

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use rand::SeedableRng as _;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom as _;
use tokio::time::Instant;
use tracing::{debug, info, warn};
use vestibule_core::line::PURGE_BATCH;
use vestibule_core::{Clock as _, QueueId, Store, StoreError, SystemClock};

pub use function::{BUDGET_MS, Function, HISTORY_SHARE, QueueIndexUnavailable, RESERVE};
pub use round::{PurgeRound, QueuePurge, REPORTED_QUEUES_MAX};

/// A round ends after this many consecutive calls that the store did not answer, or refused.
pub const UNANSWERED_MAX: u32 = 16;

/// Removed queues that a round checks: enough over time, and none that a round has to wait for.
const REMOVED_MAX: usize = 8;

/// Purges every queue in batches until nothing is left or `budget` is used up. At least one batch is done.
pub async fn run(store: &dyn Store, budget: Duration) -> PurgeRound {
    let started = Instant::now();
    let mut round = PurgeRound::default();
    match store.queues().await {
        Ok(index) => {
            let (queues, removed): (Vec<_>, Vec<_>) = index.into_iter().partition(|(_, revision)| *revision > 0);
            let ids = |part: Vec<(QueueId, u64)>| part.into_iter().map(|(id, _)| id).collect::<Vec<_>>();
            let (mut queues, mut removed) = (ids(queues), ids(removed));
            // A random order lets every queue be first at times. The time is random enough for that.
            let mut random = SmallRng::seed_from_u64(SystemClock::new().now().0);
            queues.shuffle(&mut random);
            removed.shuffle(&mut random);
            removed.truncate(REMOVED_MAX);
            forget(store, &removed).await;
            purge_round_robin(store, queues.into(), || started.elapsed() < budget, &mut round).await;
        }
        Err(error) => {
            warn!(%error, "the queue index could not be read; nothing was purged");
            round.record.failed = 1;
        }
    }
    round.record.took_ms = started.elapsed().as_millis() as u64;
    round
}

/// Drops queues from the index that were removed long ago.
async fn forget(store: &dyn Store, removed: &[QueueId]) {
    for queue in removed {
        if let Err(error) = store.forget_removed_queue(queue).await {
            return warn!(%queue, %error, "removed queues could not be dropped from the index");
        }
    }
}

/// Purges one batch of each queue in turn, until no queue has more: a queue with a million expired sessions does not
/// delay the others.
async fn purge_round_robin(
    store: &dyn Store,
    mut turns: VecDeque<QueueId>,
    go_on: impl Fn() -> bool,
    round: &mut PurgeRound,
) {
    let mut seen = HashSet::new();
    let mut unanswered = 0;
    while let Some(queue) = turns.pop_front() {
        round.record.queues += u64::from(seen.insert(queue.clone()));
        let report = store.purge(&queue, PURGE_BATCH).await;
        let is_unanswered = matches!(report, Err(StoreError::Unavailable(_) | StoreError::Refused(_)));
        unanswered = if is_unanswered { unanswered + 1 } else { 0 };
        match report {
            Ok(report) => {
                if let Some(revision) = report.closed {
                    info!(%queue, revision, "draining is complete; queue closed");
                }
                round.add(&queue, report);
                if report.more {
                    turns.push_back(queue);
                }
            }
            Err(StoreError::UnknownQueue(_)) => debug!(%queue, "queue is in the index but does not exist"),
            Err(error) => {
                warn!(%queue, %error, "queue could not be purged");
                round.add_failure(&queue);
            }
        }
        if !go_on() || unanswered >= UNANSWERED_MAX {
            round.record.unfinished = !turns.is_empty();
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use vestibule_core::line::Visit;
    use vestibule_core::settings::Settings;
    use vestibule_core::{ManualClock, Micros, PutMode, SessionId};
    use vestibule_store_memory::MemoryStore;

    use super::*;
    use vestibule_core::store::{OperationsStore as _, SettingsStore as _, VisitStore as _};

    /// A store with these queues, each with this many expired sessions.
    async fn expired(names: &[String], sessions: usize) -> MemoryStore {
        let clock = Arc::new(ManualClock::at(Micros(1_700_000_000_000_000)));
        let store = MemoryStore::new(clock.clone());
        for name in names {
            let settings = Settings::from_value(&serde_json::json!({
                "id": name, "tenant": "t", "hosts": ["*"], "quota": 1, "handover": { "kind": "check" },
                "protection": { "pre_ticket_from": "none" },
            }));
            let settings = settings.unwrap();
            store.put_settings(&settings, PutMode::Always).await.unwrap();
            for _ in 0..sessions {
                store.visit(&settings.id, Visit::joining(SessionId::random())).await.unwrap();
            }
        }
        clock.advance(31_000_000);
        store
    }

    async fn present(store: &MemoryStore, name: &str) -> u64 {
        let stats = store.stats(&name.parse().unwrap()).await.unwrap();
        stats.waiting + stats.active
    }

    #[tokio::test]
    async fn a_round_empties_every_queue() {
        let store = expired(&["a".to_owned(), "b".to_owned()], 1200).await;
        let round = run(&store, Duration::from_secs(30)).await;
        assert_eq!((round.record.queues, round.record.failed, round.record.unfinished), (2, 0, false));
        assert_eq!(round.by_queue.values().map(|queue_purge| queue_purge.expired).sum::<u64>(), round.record.expired);
        for name in ["a", "b"] {
            assert_eq!(present(&store, name).await, 0);
            let counters = store.stats(&name.parse().unwrap()).await.unwrap().counters;
            assert_eq!(counters.expired_waiting + counters.expired_active, 1200);
        }
        let next = run(&store, Duration::from_secs(30)).await;
        assert!(next.was_idle() && next.record.queues == 2, "{next:?}");
    }

    #[tokio::test]
    async fn a_round_without_budget_does_one_batch() {
        let store = expired(&["a".to_owned(), "b".to_owned()], 1200).await;
        let round = run(&store, Duration::ZERO).await;
        assert_eq!((round.record.queues, round.record.unfinished), (1, true));
        // One batch, and the expired sessions at the head of the line that an admission skips.
        assert!(round.record.expired >= PURGE_BATCH as u64 && round.record.expired < 1200, "{}", round.record.expired);
        let left = present(&store, "a").await + present(&store, "b").await;
        assert_eq!(round.record.expired, 2400 - left, "every removed session is counted");
    }

    #[tokio::test]
    async fn a_small_budget_starves_no_queue() {
        let names: Vec<String> = (0..20).map(|number| format!("q-{number}")).collect();
        let store = expired(&names, 3).await;
        let mut rounds = 0;
        for name in &names {
            while present(&store, name).await > 0 {
                run(&store, Duration::ZERO).await;
                rounds += 1;
                assert!(rounds < 20_000, "{name} starved");
            }
        }
    }

    #[tokio::test]
    async fn a_long_queue_does_not_delay_the_others() {
        let store = expired(&["a".to_owned(), "b".to_owned()], 2600).await;
        let batches = AtomicU64::new(0);
        let two_batches = || batches.fetch_add(1, Ordering::Relaxed) + 1 < 2;
        let index: VecDeque<QueueId> = ["a", "b"].iter().map(|name| name.parse().unwrap()).collect();
        let mut round = PurgeRound::default();
        purge_round_robin(&store, index, two_batches, &mut round).await;
        assert_eq!(round.by_queue.keys().map(QueueId::as_str).collect::<Vec<_>>(), ["a", "b"]);
        assert!(round.record.unfinished, "both have more to do");
    }
}
