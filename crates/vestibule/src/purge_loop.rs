//! The purge of `vestibule serve` and of the demo.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tracing::debug;
use vestibule_core::Store;
use vestibule_records::RecordStore;
use vestibule_records::history::record_samples;

/// Interval between purge rounds.
const PURGE_INTERVAL: Duration = Duration::from_secs(5);
/// Time limit of a purge round.
const PURGE_BUDGET: Duration = Duration::from_secs(4);
/// Interval at which idle rounds are recorded, so that monitoring sees that the purge runs.
const IDLE_RECORD_INTERVAL: Duration = Duration::from_secs(30);
/// Purges every few seconds and records history samples every minute, forever.
pub(crate) async fn purge_loop(store: Arc<dyn Store>, records: Arc<dyn RecordStore>) {
    let mut ticks = interval(PURGE_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut recorded: Option<Instant> = None;
    loop {
        ticks.tick().await;
        let round = vestibule_purge::run(store.as_ref(), PURGE_BUDGET).await;
        match timeout(PURGE_BUDGET, record_samples(&*store, &*records)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => debug!(%error, "cannot record history samples"),
            Err(_) => debug!("history samples were not recorded for every queue: timeout"),
        }
        if round.was_idle() && recorded.is_some_and(|at| at.elapsed() < IDLE_RECORD_INTERVAL) {
            continue;
        }
        recorded = Some(Instant::now());
        let record = round.record;
        debug!(?record, "purged");
        if let Err(error) = store.set_last_purge(&record).await {
            debug!(%error, "cannot record the purge");
        }
    }
}
