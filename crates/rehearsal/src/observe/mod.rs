//! Looks at the store and at the gate's metrics while a crowd plays.

mod metrics;
mod redis;

use std::time::Duration;

use serde::Serialize;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval};

pub use metrics::MetricsAddress;
pub use redis::RedisAddress;

/// Between two looks.
const EVERY: Duration = Duration::from_secs(2);

/// An address to look at that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObserveError {
    /// Of Redis.
    #[error(
        "{0:?} is no address of a Redis that can be looked at: it takes redis://HOST:PORT, with :PASSWORD@ before the host if there is one"
    )]
    Redis(String),
    /// Of metrics.
    #[error("{0:?} is no address of metrics: it takes http:// or https://, such as http://127.0.0.1:8081/metrics")]
    Metrics(String),
}

/// Where to look. Nothing is looked at that is not named.
#[derive(Debug, Clone, Default)]
pub struct Observer {
    /// The store.
    pub redis: Option<RedisAddress>,
    /// The gate's metrics.
    pub metrics: Option<MetricsAddress>,
    /// The queue's id, where the metrics tell of several.
    pub queue: Option<String>,
}

/// What was seen.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Observation {
    /// Looks that got an answer, and all.
    pub answered: u64,
    /// All looks.
    pub looks: u64,
    /// The store's commands that were run for visits.
    pub store_commands: Option<u64>,
    /// Bytes of the store before anybody came.
    pub store_memory_before: Option<u64>,
    /// Most bytes of the store meanwhile.
    pub store_memory_most: Option<u64>,
    /// Most who were present at once, by the gate's metrics.
    pub present_most: Option<u64>,
    /// Most who were in at once, by the gate's metrics.
    pub active_most: Option<u64>,
    /// The quota, by the gate's metrics.
    pub quota: Option<u64>,
    /// What the first look that failed ran into.
    pub trouble: Option<String>,
}

/// One look. What could not be seen is absent.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Look {
    pub(crate) memory: Option<u64>,
    pub(crate) commands: Option<u64>,
    pub(crate) waiting: Option<u64>,
    pub(crate) active: Option<u64>,
    pub(crate) quota: Option<u64>,
}

/// Somebody who looks, until told to stop.
pub(crate) struct Watch {
    stop: oneshot::Sender<()>,
    seen: JoinHandle<Observation>,
}

impl Observer {
    pub(crate) async fn start(self, _began: Instant) -> Watch {
        let mut notes = Notes::default();
        // The first look is before anybody comes.
        notes.take(&self).await;
        let (stop, mut stopped) = oneshot::channel();
        let seen = tokio::spawn(async move {
            let mut ticks = interval(EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    _ = ticks.tick() => notes.take(&self).await,
                    _ = &mut stopped => break,
                }
            }
            notes.take(&self).await;
            notes.seen
        });
        Watch { stop, seen }
    }
}

impl Watch {
    pub(crate) async fn finish(self) -> Observation {
        // It may have ended by itself, which it does not.
        let _ = self.stop.send(());
        self.seen.await.unwrap_or_default()
    }
}

#[derive(Default)]
struct Notes {
    seen: Observation,
    /// Of each source, the commands at the last look: a store that starts anew counts from 0 again.
    commands: [Option<u64>; 2],
}

impl Notes {
    async fn take(&mut self, observer: &Observer) {
        if let Some(metrics) = &observer.metrics {
            let look = metrics.look(observer.queue.as_deref()).await;
            // Where both are named the store itself is asked for its commands.
            self.note(0, look, observer.redis.is_none());
        }
        if let Some(redis) = &observer.redis {
            let look = redis.look().await;
            self.note(1, look, true);
        }
    }

    fn note(&mut self, source: usize, look: Result<Look, String>, counts: bool) {
        let seen = &mut self.seen;
        seen.looks += 1;
        let look = match look {
            Ok(look) => look,
            Err(trouble) => {
                seen.trouble.get_or_insert(trouble);
                return;
            }
        };
        seen.answered += 1;
        if seen.store_memory_before.is_none() {
            seen.store_memory_before = look.memory;
        }
        seen.store_memory_most = seen.store_memory_most.max(look.memory);
        seen.active_most = seen.active_most.max(look.active);
        seen.quota = look.quota.or(seen.quota);
        let present = look.waiting.zip(look.active).map(|(waiting, active)| waiting + active);
        seen.present_most = seen.present_most.max(present);
        if let Some(commands) = look.commands.filter(|_| counts) {
            let before = self.commands[source].replace(commands);
            let more = before.map_or(0, |before| if commands >= before { commands - before } else { commands });
            *seen.store_commands.get_or_insert(0) += more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_starts_anew_loses_no_count() {
        let mut notes = Notes::default();
        for commands in [100, 150, 20, 60] {
            notes.note(1, Ok(Look { commands: Some(commands), memory: Some(commands), ..Look::default() }), true);
        }
        assert_eq!(notes.seen.store_commands, Some(50 + 20 + 40));
        assert_eq!((notes.seen.store_memory_before, notes.seen.store_memory_most), (Some(100), Some(150)));
    }
}
