//! Samples the store and the metrics of the gate during a run.

mod metrics;
mod process;
mod redis;

use std::time::Duration;

use serde::Serialize;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

pub use metrics::MetricsAddress;
pub(crate) use process::cpu_us;
pub use redis::RedisServer;

/// Interval of the samples.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(2);

/// An invalid address.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// Of Redis.
    #[error(transparent)]
    Redis(#[from] vestibule_store_redis::AddressError),
    /// Of a Redis Cluster.
    #[error(
        "each node of a Redis Cluster has figures of its own: use the address of one node, such as redis://HOST:PORT"
    )]
    Cluster,
    /// Of metrics.
    #[error("{0:?} is not a valid metrics URL: use http:// or https://, such as http://127.0.0.1:8081/metrics")]
    Metrics(String),
    /// Of the token for metrics.
    #[error("the token for metrics contains characters that a header cannot have")]
    MetricsToken,
    /// No certificate authority can be trusted.
    #[error(transparent)]
    Tls(#[from] vestibule_http_client::TlsError),
}

/// What to sample.
#[derive(Debug, Clone, Default)]
pub struct Observer {
    /// The store.
    pub redis: Option<RedisServer>,
    /// The metrics of the gate.
    pub metrics: Option<MetricsAddress>,
    /// The queue ID, if the metrics have several queues.
    pub queue: Option<String>,
    /// The process ID of the gate, if it runs on this machine.
    pub gate_process: Option<u32>,
}

/// The samples of a run.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Observation {
    /// Number of successful samples.
    pub succeeded: u64,
    /// Number of samples.
    pub samples: u64,
    /// Number of store commands for visits.
    pub store_commands: Option<u64>,
    /// Memory of the store before the run, in bytes.
    pub store_memory_before: Option<u64>,
    /// Maximum memory of the store, in bytes.
    pub store_memory_peak: Option<u64>,
    /// CPU time of the store during the run, in microseconds.
    pub store_cpu_us: Option<u64>,
    /// CPU time of the gate during the run, in microseconds.
    pub gate_cpu_us: Option<u64>,
    /// CPU time of the load test itself, in microseconds.
    pub client_cpu_us: Option<u64>,
    /// Maximum number of waiting and active visitors, from the metrics.
    pub present_peak: Option<u64>,
    /// Maximum number of active visitors, from the metrics.
    pub active_peak: Option<u64>,
    /// The quota, from the metrics.
    pub quota: Option<u64>,
    /// The first error.
    pub first_error: Option<String>,
}

/// One sample.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sample {
    pub(crate) memory: Option<u64>,
    pub(crate) commands: Option<u64>,
    pub(crate) cpu_us: Option<u64>,
    pub(crate) waiting: Option<u64>,
    pub(crate) active: Option<u64>,
    pub(crate) quota: Option<u64>,
}

/// A running sampler.
pub(crate) struct Watch {
    stop: oneshot::Sender<()>,
    seen: JoinHandle<Observation>,
}

impl Observer {
    /// CPU time of the gate and of this process so far.
    fn process_cpu(&self) -> [Option<u64>; 2] {
        [self.gate_process.and_then(cpu_us), cpu_us(std::process::id())]
    }

    pub(crate) async fn start(self) -> Watch {
        let mut builder = ObservationBuilder::default();
        let process_cpu = self.process_cpu();
        // The first sample is taken before the run.
        builder.take(&self).await;
        let (stop, mut stopped) = oneshot::channel();
        let seen = tokio::spawn(async move {
            let mut ticks = interval(SAMPLE_INTERVAL);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    _ = ticks.tick() => builder.take(&self).await,
                    _ = &mut stopped => break,
                }
            }
            builder.take(&self).await;
            let since = |then: Option<u64>, now: Option<u64>| now?.checked_sub(then?);
            let [gate, client] = self.process_cpu();
            builder.seen.gate_cpu_us = since(process_cpu[0], gate);
            builder.seen.client_cpu_us = since(process_cpu[1], client);
            builder.seen
        });
        Watch { stop, seen }
    }
}

impl Watch {
    pub(crate) async fn finish(self) -> Observation {
        // Fails only if the task has panicked.
        let _ = self.stop.send(());
        self.seen.await.unwrap_or_default()
    }
}

#[derive(Default)]
struct ObservationBuilder {
    seen: Observation,
    /// For each source, the command count of the last sample. It restarts at 0 with the store.
    commands: [Option<u64>; 2],
    /// The CPU time of the store at the last sample. It restarts at 0 with the store.
    store_cpu: Option<u64>,
}

/// What was added since the last sample of a count that restarts at 0 with the store.
const fn added(last: &mut Option<u64>, now: u64) -> u64 {
    match last.replace(now) {
        None => 0,
        Some(last) if now >= last => now - last,
        Some(_) => now,
    }
}

impl ObservationBuilder {
    async fn take(&mut self, observer: &Observer) {
        if let Some(metrics) = &observer.metrics {
            let sample = metrics.sample(observer.queue.as_deref()).await;
            // With both sources, the commands are counted at the store.
            self.add(0, sample, observer.redis.is_none());
        }
        if let Some(redis) = &observer.redis {
            let sample = Box::pin(redis.sample()).await;
            self.add(1, sample, true);
        }
    }

    fn add(&mut self, source: usize, sample: Result<Sample, String>, counts: bool) {
        let seen = &mut self.seen;
        seen.samples += 1;
        let sample = match sample {
            Ok(sample) => sample,
            Err(first_error) => {
                seen.first_error.get_or_insert(first_error);
                return;
            }
        };
        seen.succeeded += 1;
        if seen.store_memory_before.is_none() {
            seen.store_memory_before = sample.memory;
        }
        seen.store_memory_peak = seen.store_memory_peak.max(sample.memory);
        seen.active_peak = seen.active_peak.max(sample.active);
        seen.quota = sample.quota.or(seen.quota);
        let present = sample.waiting.zip(sample.active).map(|(waiting, active)| waiting + active);
        seen.present_peak = seen.present_peak.max(present);
        if let Some(commands) = sample.commands.filter(|_| counts) {
            *seen.store_commands.get_or_insert(0) += added(&mut self.commands[source], commands);
        }
        if let Some(cpu_us) = sample.cpu_us {
            *seen.store_cpu_us.get_or_insert(0) += added(&mut self.store_cpu, cpu_us);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_count_survives_a_store_restart() {
        let mut builder = ObservationBuilder::default();
        for commands in [100, 150, 20, 60] {
            builder.add(1, Ok(Sample { commands: Some(commands), memory: Some(commands), ..Sample::default() }), true);
        }
        assert_eq!(builder.seen.store_commands, Some(50 + 20 + 40));
        assert_eq!((builder.seen.store_memory_before, builder.seen.store_memory_peak), (Some(100), Some(150)));
    }
}
