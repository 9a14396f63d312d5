//! The purge as a function that a schedule calls.

use std::sync::Arc;
use std::time::Duration;

use lambda_runtime::Diagnostic;
use serde_json::Value;
use tokio::time::{Instant, timeout};
use tracing::{debug, info, warn};
use vestibule_core::history::record_samples;
use vestibule_core::records::RecordStore;
use vestibule_core::{Clock, Store};
use vestibule_http::{VariableError, number, variable};

use crate::{Round, queue_metrics, run};

/// What is kept back of a function's time, for the last batch under way, the record and the answer.
pub const RESERVE: Duration = Duration::from_secs(2);
/// Which part of a call's time is kept for the history: one in four.
const HISTORY_SHARE: u32 = 4;
/// Bounds of `VESTIBULE_PURGE_BUDGET_MS`.
pub const BUDGET_MS: std::ops::RangeInclusive<u64> = 100..=890_000;

const VARIABLE: &str = "VESTIBULE_PURGE_BUDGET_MS";
const QUEUE_METRICS: &str = "VESTIBULE_QUEUE_METRICS";

/// A call that could do nothing at all: the caller should hear of it, and whoever counts errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("nothing was purged: the index of queues could not be read; VESTIBULE_REDIS_URL says where it is looked for")]
pub struct NothingPurged;

impl From<NothingPurged> for Diagnostic {
    fn from(error: NothingPurged) -> Self {
        Self { error_type: "NothingPurged".to_owned(), error_message: error.to_string() }
    }
}

/// The purge between two calls. Whatever event it is called with, it does one round.
pub struct Function {
    store: Arc<dyn Store>,
    records: Arc<dyn RecordStore>,
    clock: Box<dyn Clock>,
    most: Option<Duration>,
    queue_metrics: bool,
}

impl Function {
    /// Over this store, and what the backoffice keeps beside it; `clock` is this machine's, by which the time of a call
    /// ends.
    pub fn new(store: Arc<dyn Store>, records: Arc<dyn RecordStore>, clock: impl Clock + 'static) -> Self {
        Self { store, records, clock: Box::new(clock), most: None, queue_metrics: false }
    }

    /// Takes at most `VESTIBULE_PURGE_BUDGET_MS` for a round; all of a call's time but [`RESERVE`] if it is not set.
    ///
    /// # Errors
    /// No number, or one outside [`BUDGET_MS`].
    pub fn with_budget_from_env(self) -> Result<Self, VariableError> {
        let most = match variable(VARIABLE) {
            Some(_) => Some(Duration::from_millis(number(VARIABLE, BUDGET_MS, *BUDGET_MS.end())?)),
            None => None,
        };
        Ok(Self { most, ..self })
    }

    /// Writes the numbers of every queue for `CloudWatch` after a round if `VESTIBULE_QUEUE_METRICS` is `on`.
    ///
    /// # Errors
    /// Neither `on` nor `off`.
    pub fn with_queue_metrics_from_env(self) -> Result<Self, VariableError> {
        let queue_metrics = match variable(QUEUE_METRICS).as_deref() {
            Some("on") => true,
            Some("off") | None => false,
            Some(_) => return Err(VariableError::new(QUEUE_METRICS, "takes on or off")),
        };
        Ok(Self { queue_metrics, ..self })
    }

    /// One round, and the numbers of this minute for the history, within what is left until `deadline_ms` since 1970; returns it as JSON ([`Round::to_value`]).
    ///
    /// # Errors
    /// The store did not say which queues there are. One that could not be purged is no error: the round counts it.
    pub async fn call(&self, deadline_ms: u64) -> Result<Value, NothingPurged> {
        let (began, budget) = (Instant::now(), self.budget(deadline_ms));
        let round = run(self.store.as_ref(), budget.saturating_sub(budget / HISTORY_SHARE)).await;
        if round.queues == 0 && round.failed > 0 {
            return Err(NothingPurged);
        }
        if let Err(error) = self.store.set_last_purge(&round.record()).await {
            warn!(%error, "the purge is done, but could not be recorded");
        }
        tell(&round);
        self.note_minute(budget.saturating_sub(began.elapsed())).await;
        if self.queue_metrics {
            let written = queue_metrics::write(&*self.store, self.clock.now());
            if timeout(self.left(deadline_ms), written).await.is_err() {
                warn!("no time was left for the numbers of all queues");
            }
        }
        Ok(round.to_value())
    }

    async fn note_minute(&self, budget: Duration) {
        match timeout(budget, record_samples(&*self.store, &*self.records)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => warn!(%error, "this minute's numbers could not be noted"),
            Err(_) => warn!("this minute's numbers were not noted for every queue: the time was over"),
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

fn tell(round: &Round) {
    for (queue, share) in &round.of {
        debug!(%queue, share.expired, share.tombstones, share.admitted, share.failed, "purged");
    }
    let Round { queues, failed, expired, tombstones, admitted, unfinished, .. } = round;
    let took_ms = round.took.as_millis() as u64;
    info!(queues, failed, expired, tombstones, admitted, unfinished, took_ms, "purged");
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vestibule_core::history::{Step, samples};
    use vestibule_core::line::Visit;
    use vestibule_core::settings::Settings;
    use vestibule_core::{ManualClock, MemoryRecords, MemoryStore, Micros, PutMode, SessionId, SystemClock};

    use super::*;

    fn function(most: Option<u64>) -> Function {
        let clock = ManualClock::at(Micros(1_700_000_000_000_000));
        let records = Arc::new(MemoryRecords::new(SystemClock::new()));
        let function = Function::new(Arc::new(MemoryStore::new(SystemClock::new())), records, clock);
        Function { most: most.map(Duration::from_millis), ..function }
    }

    #[test]
    fn a_round_ends_short_of_the_call_s_time() {
        let at = |left_ms: u64| 1_700_000_000_000 + left_ms;
        assert_eq!(function(None).budget(at(60_000)), Duration::from_secs(58));
        assert_eq!(function(Some(5_000)).budget(at(60_000)), Duration::from_secs(5));
        assert_eq!(function(Some(5_000)).budget(at(4_000)), Duration::from_secs(2));
        for over in [at(1_999), at(0), 0] {
            assert_eq!(function(None).budget(over), Duration::ZERO);
        }
    }

    #[tokio::test]
    async fn a_call_records_its_round_and_returns_it() {
        let function = function(None);
        let round = function.call(1_700_000_060_000).await.unwrap();
        assert_eq!(round["queues"], 0);
        let record = function.store.last_purge().await.unwrap().expect("a record");
        assert_eq!((record.queues, record.unfinished), (0, false));
    }

    #[tokio::test]
    async fn the_numbers_of_the_minute_are_those_after_the_purge() {
        let clock = Arc::new(ManualClock::at(Micros(1_700_000_000_000_000)));
        let store = Arc::new(MemoryStore::new(Arc::clone(&clock)));
        let records = Arc::new(MemoryRecords::new(Arc::clone(&clock)));
        let settings = Settings::from_value(&json!({
            "id": "tour", "tenant": "acme", "hosts": ["*"], "quota": 1, "handover": { "kind": "check" }, "claim_ttl": 30,
        }));
        let settings = settings.unwrap();
        store.put_settings(&settings, PutMode::Always).await.unwrap();
        store.visit(&settings.id, Visit::joining(SessionId::random())).await.unwrap();
        clock.advance(20_000_000);
        store.visit(&settings.id, Visit::joining(SessionId::random())).await.unwrap();
        clock.advance(11_000_000);
        let function = Function::new(store, Arc::clone(&records) as _, Arc::clone(&clock));
        assert_eq!(function.call(1_700_000_091_000).await.unwrap()["admitted"], 1);
        let samples = samples(&*records, &settings.id, Step::Minute, Micros(0)).await.unwrap();
        assert_eq!(samples.iter().map(|it| (it.waiting, it.active)).collect::<Vec<_>>(), [(0, 1)]);
    }
}
