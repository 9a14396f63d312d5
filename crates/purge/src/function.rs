//! The purge as a scheduled Lambda function.

use std::sync::Arc;
use std::time::Duration;

use lambda_runtime::Diagnostic;
use serde_json::Value;
use tokio::time::{Instant, timeout};
use tracing::{debug, info, warn};
use vestibule_core::{Clock, LastPurge, Store};
use vestibule_records::RecordStore;
use vestibule_records::history::record_samples;
use vestibule_runtime::{EnvError, number, variable};

use crate::{PurgeRound, queue_metrics, run};

/// The part of a call's time that is reserved for the last batch, the record and the response.
pub const RESERVE: Duration = Duration::from_secs(2);
/// The divisor of a call's time for the history: a quarter.
pub const HISTORY_SHARE: u32 = 4;
/// Bounds of `VESTIBULE_PURGE_BUDGET_MS`.
pub const BUDGET_MS: std::ops::RangeInclusive<u64> = 100..=890_000;

const VARIABLE: &str = "VESTIBULE_PURGE_BUDGET_MS";
const QUEUE_METRICS: &str = "VESTIBULE_QUEUE_METRICS";

/// A call that could not purge anything, so that the invocation counts as an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("nothing was purged: the queue index could not be read from VESTIBULE_REDIS_URL")]
pub struct QueueIndexUnavailable;

impl From<QueueIndexUnavailable> for Diagnostic {
    fn from(error: QueueIndexUnavailable) -> Self {
        Self { error_type: "QueueIndexUnavailable".to_owned(), error_message: error.to_string() }
    }
}

/// The state of the function between calls. Every call does one round, whatever its event.
pub struct Function {
    store: Arc<dyn Store>,
    records: Arc<dyn RecordStore>,
    clock: Box<dyn Clock>,
    most: Option<Duration>,
    /// The namespace of `CloudWatch` that gets the metrics of every queue.
    queue_metrics: Option<String>,
}

impl Function {
    /// A function over this store and these records. `clock` is the machine's clock, in which Lambda gives deadlines.
    pub fn new(store: Arc<dyn Store>, records: Arc<dyn RecordStore>, clock: impl Clock + 'static) -> Self {
        Self { store, records, clock: Box::new(clock), most: None, queue_metrics: None }
    }

    /// Limits a round to `VESTIBULE_PURGE_BUDGET_MS`. Without it, a round has the time of the call except [`RESERVE`].
    ///
    /// # Errors
    /// The value is not a number within [`BUDGET_MS`].
    pub fn with_budget_from_env(self) -> Result<Self, EnvError> {
        let most = match variable(VARIABLE) {
            Some(_) => Some(Duration::from_millis(number(VARIABLE, BUDGET_MS, *BUDGET_MS.end())?)),
            None => None,
        };
        Ok(Self { most, ..self })
    }

    /// Writes metrics of every queue after each round to the namespace of `CloudWatch` that `VESTIBULE_QUEUE_METRICS` names, if any.
    ///
    /// # Errors
    /// The value is no name of a namespace.
    pub fn with_queue_metrics_from_env(self) -> Result<Self, EnvError> {
        let queue_metrics = variable(QUEUE_METRICS);
        if queue_metrics.as_deref().is_some_and(|name| !queue_metrics::is_namespace(name)) {
            let rule = "must be a namespace of CloudWatch: up to 255 of A-Z, a-z, 0-9, . - _ / # and :, and not begin with AWS/";
            return Err(EnvError::new(QUEUE_METRICS, rule));
        }
        Ok(Self { queue_metrics, ..self })
    }

    /// Does one round and records the history samples of this minute, before `deadline_ms` (milliseconds since 1970).
    /// Returns the round as JSON ([`PurgeRound::to_json`]).
    ///
    /// # Errors
    /// The queue index could not be read. A queue that fails is no error; the round counts it.
    pub async fn call(&self, deadline_ms: u64) -> Result<Value, QueueIndexUnavailable> {
        let (started, budget) = (Instant::now(), self.budget(deadline_ms));
        let round = run(self.store.as_ref(), budget.saturating_sub(budget / HISTORY_SHARE)).await;
        if round.record.queues == 0 && round.record.failed > 0 {
            return Err(QueueIndexUnavailable);
        }
        if let Err(error) = self.store.set_last_purge(&round.record).await {
            warn!(%error, "the purge could not be recorded");
        }
        log_round(&round);
        self.record_history(budget.saturating_sub(started.elapsed())).await;
        if let Some(namespace) = &self.queue_metrics {
            let written = queue_metrics::write(&*self.store, namespace, self.clock.now());
            if timeout(self.left(deadline_ms), written).await.is_err() {
                warn!("no time was left to write the metrics of all queues");
            }
        }
        Ok(round.to_json())
    }

    async fn record_history(&self, budget: Duration) {
        match timeout(budget, record_samples(&*self.store, &*self.records)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => warn!(%error, "history samples could not be recorded"),
            Err(_) => warn!("no time was left to record the history samples of all queues"),
        }
    }

    fn budget(&self, deadline_ms: u64) -> Duration {
        let left = self.left(deadline_ms).saturating_sub(RESERVE);
        self.most.map_or(left, |most| most.min(left))
    }

    fn left(&self, deadline_ms: u64) -> Duration {
        Duration::from_millis(deadline_ms.saturating_sub(self.clock.now().0 / 1000))
    }
}

fn log_round(round: &PurgeRound) {
    for (queue, queue_purge) in &round.by_queue {
        debug!(%queue, queue_purge.expired, queue_purge.tombstones, queue_purge.admitted, queue_purge.failed, "purged");
    }
    let LastPurge { queues, failed, expired, tombstones, admitted, unfinished, took_ms, .. } = round.record;
    info!(queues, failed, expired, tombstones, admitted, unfinished, took_ms, "purged");
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vestibule_core::line::Visit;
    use vestibule_core::settings::Settings;
    use vestibule_core::{ManualClock, Micros, PutMode, SessionId, SystemClock};
    use vestibule_records::LoggedQueue;
    use vestibule_records::history::{History, Step};
    use vestibule_store_memory::{MemoryRecords, MemoryStore};

    use super::*;
    use vestibule_core::store::{SettingsStore as _, VisitStore as _};

    fn function(most: Option<u64>) -> Function {
        let clock = ManualClock::at(Micros(1_700_000_000_000_000));
        let records = Arc::new(MemoryRecords::new(SystemClock::new()));
        let function = Function::new(Arc::new(MemoryStore::new(SystemClock::new())), records, clock);
        Function { most: most.map(Duration::from_millis), ..function }
    }

    #[test]
    fn the_budget_leaves_a_reserve() {
        let at = |left_ms: u64| 1_700_000_000_000 + left_ms;
        assert_eq!(function(None).budget(at(60_000)), Duration::from_secs(58));
        assert_eq!(function(Some(5_000)).budget(at(60_000)), Duration::from_secs(5));
        assert_eq!(function(Some(5_000)).budget(at(4_000)), Duration::from_secs(2));
        for over in [at(1_999), at(0), 0] {
            assert_eq!(function(None).budget(over), Duration::ZERO);
        }
    }

    #[tokio::test]
    async fn a_call_records_and_returns_its_round() {
        let function = function(None);
        let round = function.call(1_700_000_060_000).await.unwrap();
        assert_eq!(round["queues"], 0);
        let record = function.store.last_purge().await.unwrap().expect("a record");
        assert_eq!((record.queues, record.unfinished), (0, false));
    }

    #[tokio::test]
    async fn history_samples_are_taken_after_the_purge() {
        let clock = Arc::new(ManualClock::at(Micros(1_700_000_000_000_000)));
        let store = Arc::new(MemoryStore::new(Arc::clone(&clock)));
        let records = Arc::new(MemoryRecords::new(Arc::clone(&clock)));
        let settings = Settings::from_value(&json!({
            "id": "tour", "tenant": "acme", "hosts": ["*"], "quota": 1, "handover": { "kind": "check" }, "claim_ttl": 30,
            "protection": { "pre_ticket_from": "none" },
        }));
        let settings = settings.unwrap();
        store.put_settings(&settings, PutMode::Always).await.unwrap();
        store.visit(&settings.id, Visit::joining(SessionId::random())).await.unwrap();
        clock.advance(20_000_000);
        store.visit(&settings.id, Visit::joining(SessionId::random())).await.unwrap();
        clock.advance(11_000_000);
        let function = Function::new(store, Arc::clone(&records) as _, Arc::clone(&clock));
        assert_eq!(function.call(1_700_000_091_000).await.unwrap()["admitted"], 1);
        let history = History::since(&*records, Step::Minute, Micros(0)).await.unwrap();
        let samples = history.samples(&LoggedQueue::of(&settings)).await.unwrap();
        let counts: Vec<_> = samples.iter().map(|(_, sample)| sample.map(|it| (it.waiting, it.active))).collect();
        assert_eq!(counts, [Some((0, 1))]);
    }
}
