//! The purge: removes what has lapsed from every queue, in bounded batches.
//!
//! Its one idea: every operation of a queue reaps a little on its way, so the purge only matters where nobody comes by:
//! it frees the places of a queue whose visitors have all gone, and lets in who still waits there. [`run`] does one
//! round over all queues; it is safe to run twice at once and to be killed at any instant, and one broken queue does
//! not stop the others. Queues take turns, a batch each, and every round begins with another one, so that a budget that
//! never suffices starves nobody.
//!
//! ```
//! # use vestibule_core::{MemoryStore, SystemClock};
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let store = MemoryStore::new(SystemClock::new());
//! let round = vestibule_purge::run(&store, std::time::Duration::from_secs(1)).await;
//! assert_eq!((round.queues, round.failed), (0, 0));
//! # }
//! ```
//!
//! As a Lambda it is called by a schedule, with any event: [`Function`].

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

pub use function::{BUDGET_MS, Function, NothingPurged, RESERVE};
pub use round::{Round, Share, TOLD_MAX};

/// A round ends when the store gave no answer this often in a row: it is away, and the next round finds it or not.
pub const UNANSWERED_MAX: u32 = 16;

/// Purges every queue in batches, until nothing is left to do or `budget` has passed; one batch is always done.
pub async fn run(store: &dyn Store, budget: Duration) -> Round {
    let began = Instant::now();
    let mut round = Round::default();
    match store.queues().await {
        Ok(index) => {
            let mut queues: Vec<_> =
                index.into_iter().filter(|(_, revision)| *revision > 0).map(|(id, _)| id).collect();
            // Who is last today is not last tomorrow. For that, the time is random enough.
            queues.shuffle(&mut SmallRng::seed_from_u64(SystemClock::new().now().0));
            purge_in_turns(store, queues.into(), || began.elapsed() < budget, &mut round).await;
        }
        Err(error) => {
            warn!(%error, "the index of queues could not be read, so nothing was purged");
            round.failed = 1;
        }
    }
    round.took = began.elapsed();
    round
}

/// One batch of each queue, and then of each that has more, over and over: a queue with a million lapsed sessions does
/// not keep the others waiting.
async fn purge_in_turns(store: &dyn Store, mut turns: VecDeque<QueueId>, go_on: impl Fn() -> bool, round: &mut Round) {
    let mut seen = HashSet::new();
    let mut unanswered = 0;
    while let Some(queue) = turns.pop_front() {
        round.queues += u64::from(seen.insert(queue.clone()));
        let report = store.purge(&queue, PURGE_BATCH).await;
        unanswered = if matches!(report, Err(StoreError::Unavailable(_))) { unanswered + 1 } else { 0 };
        match report {
            Ok(report) => {
                if let Some(revision) = report.closed {
                    info!(%queue, revision, "drained, and closed by itself");
                }
                round.add(&queue, report);
                if report.more {
                    turns.push_back(queue);
                }
            }
            Err(StoreError::UnknownQueue(_)) => debug!(%queue, "listed, but gone"),
            Err(error) => {
                warn!(%queue, %error, "this queue could not be purged");
                round.add_failure(&queue);
            }
        }
        if !go_on() || unanswered >= UNANSWERED_MAX {
            round.unfinished = !turns.is_empty();
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
    use vestibule_core::{ManualClock, MemoryStore, Micros, PutMode, SessionId};

    use super::*;

    /// Queues of these names in which this many have lapsed.
    async fn lapsed(names: &[String], sessions: usize) -> MemoryStore {
        let clock = Arc::new(ManualClock::at(Micros(1_700_000_000_000_000)));
        let store = MemoryStore::new(clock.clone());
        for name in names {
            let settings = Settings::from_value(&serde_json::json!({
                "id": name, "tenant": "t", "hosts": ["*"], "quota": 1, "handover": { "kind": "check" },
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
    async fn a_round_empties_every_queue_however_much_has_lapsed() {
        let store = lapsed(&["a".to_owned(), "b".to_owned()], 1200).await;
        let round = run(&store, Duration::from_secs(30)).await;
        assert_eq!((round.queues, round.failed, round.unfinished), (2, 0, false));
        assert_eq!(round.of.values().map(|share| share.expired).sum::<u64>(), round.expired);
        for name in ["a", "b"] {
            assert_eq!(present(&store, name).await, 0);
            let counters = store.stats(&name.parse().unwrap()).await.unwrap().counters;
            assert_eq!(counters.expired_waiting + counters.expired_active, 1200);
        }
        let next = run(&store, Duration::from_secs(30)).await;
        assert!(next.was_idle() && next.queues == 2, "{next:?}");
    }

    #[tokio::test]
    async fn a_round_without_time_does_one_batch_and_says_that_more_is_left() {
        let store = lapsed(&["a".to_owned(), "b".to_owned()], 1200).await;
        let round = run(&store, Duration::ZERO).await;
        assert_eq!((round.queues, round.unfinished), (1, true));
        // A batch, and those who lapsed at the head of the line before somebody could be let in.
        assert!(round.expired >= PURGE_BATCH as u64 && round.expired < 1200, "{}", round.expired);
        let left = present(&store, "a").await + present(&store, "b").await;
        assert_eq!(round.record().expired, 2400 - left, "each that is gone is told");
    }

    #[tokio::test]
    async fn a_budget_that_never_suffices_starves_no_queue() {
        let names: Vec<String> = (0..20).map(|number| format!("q-{number}")).collect();
        let store = lapsed(&names, 3).await;
        let mut rounds = 0;
        for name in &names {
            while present(&store, name).await > 0 {
                run(&store, Duration::ZERO).await;
                rounds += 1;
                assert!(rounds < 20_000, "{name} had no turn");
            }
        }
    }

    #[tokio::test]
    async fn a_long_queue_does_not_keep_the_others_waiting() {
        let store = lapsed(&["a".to_owned(), "b".to_owned()], 2600).await;
        let batches = AtomicU64::new(0);
        let two_batches = || batches.fetch_add(1, Ordering::Relaxed) + 1 < 2;
        let index: VecDeque<QueueId> = ["a", "b"].iter().map(|name| name.parse().unwrap()).collect();
        let mut round = Round::default();
        purge_in_turns(&store, index, two_batches, &mut round).await;
        assert_eq!(round.of.keys().map(QueueId::as_str).collect::<Vec<_>>(), ["a", "b"]);
        assert!(round.unfinished, "more is left of both");
    }
}
