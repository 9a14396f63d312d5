//! Metrics of job queues: what their backend counts, and the calls of this process' worker.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use prometheus::core::Collector as _;
use prometheus::proto::MetricFamily;
use prometheus::{HistogramOpts, HistogramVec};
use tracing::warn;
use vestibule_core::jobs::{JobQueueId, JobStats};
use vestibule_runtime::JobQueues;

use crate::catalog::{JOB_DURATION, JOB_QUEUE_JOBS, JOB_QUEUE_OLDEST_AGE, JOBS, WEBHOOK_EVENTS_DROPPED};
use crate::family::MetricFamilyBuilder;

/// Upper bounds of the buckets of calls, in seconds: from 5 ms to the longest `timeout`.
const CALL_BUCKETS: [f64; 15] =
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0];

/// The job queues of one scrape.
pub(crate) struct ScrapedJobQueues {
    /// Those that could be read.
    stats: Vec<(JobQueueId, JobStats)>,
    /// Webhook events that this process has dropped.
    dropped_events: BTreeMap<JobQueueId, u64>,
    /// Whether all could be read.
    pub(crate) is_complete: bool,
}

impl ScrapedJobQueues {
    /// Reads all job queues, at most `parallel` at a time.
    pub(crate) async fn scrape(job_queues: &JobQueues, parallel: usize) -> Self {
        let all = match job_queues.all().await {
            Ok(all) => all,
            Err(error) => {
                warn!(%error, "the job queues cannot be read");
                return Self { stats: Vec::new(), dropped_events: BTreeMap::new(), is_complete: false };
            }
        };
        let count = all.len();
        let reads = all.into_iter().map(|it| async move {
            let stats = job_queues.backend().stats(&it.settings).await;
            (it.settings.id.clone(), stats)
        });
        let read: Vec<_> = stream::iter(reads).buffered(parallel).collect().await;
        let known = |(id, stats): (JobQueueId, Result<JobStats, _>)| match stats {
            Ok(stats) => Some((id, stats)),
            Err(error) => {
                warn!(job_queue = %id, %error, "the job queue cannot be read");
                None
            }
        };
        let stats: Vec<_> = read.into_iter().filter_map(known).collect();
        Self { is_complete: stats.len() == count, stats, dropped_events: job_queues.dropped_events() }
    }

    pub(crate) fn families(&self) -> impl Iterator<Item = MetricFamily> {
        let (mut jobs, mut ages) =
            (MetricFamilyBuilder::new(&JOB_QUEUE_JOBS), MetricFamilyBuilder::new(&JOB_QUEUE_OLDEST_AGE));
        let mut events = MetricFamilyBuilder::new(&JOBS);
        for (id, stats) in &self.stats {
            let id = id.as_str();
            for (state, count) in [("waiting", stats.waiting), ("running", stats.running), ("dead", stats.dead)] {
                jobs.add(&[id, state], count as f64);
            }
            ages.add(&[id], stats.oldest_age.unwrap_or(0) as f64);
            let counters = stats.counters;
            for (event, count) in [
                ("enqueued", counters.enqueued),
                ("duplicate", counters.duplicate),
                ("acknowledged", counters.acknowledged),
                ("failed", counters.failed),
                ("requeued", counters.requeued),
                ("dead", counters.dead),
                ("unknown", counters.unknown),
                ("canceled", counters.canceled),
                ("replayed", counters.replayed),
                ("refused", counters.refused),
            ] {
                events.add(&[id, event], count as f64);
            }
        }
        let mut dropped = MetricFamilyBuilder::new(&WEBHOOK_EVENTS_DROPPED);
        for (id, count) in &self.dropped_events {
            dropped.add(&[id.as_str()], *count as f64);
        }
        [jobs, ages, events, dropped].into_iter().filter_map(MetricFamilyBuilder::finish)
    }
}

/// Measures the calls of this process' worker; clones share their counts.
#[derive(Clone)]
pub struct CallMetrics(Arc<HistogramVec>);

impl Default for CallMetrics {
    fn default() -> Self {
        Self::new()
    }
}

impl CallMetrics {
    /// No call yet.
    #[must_use]
    #[expect(
        clippy::expect_used,
        clippy::missing_panics_doc,
        reason = "names, labels and buckets are constants and covered by a test"
    )]
    pub fn new() -> Self {
        let options = HistogramOpts::new(JOB_DURATION.name, JOB_DURATION.help).buckets(CALL_BUCKETS.to_vec());
        Self(Arc::new(HistogramVec::new(options, JOB_DURATION.labels).expect("constants")))
    }

    /// Counts a call that took this long.
    pub fn observe(&self, job_queue: &JobQueueId, took: Duration) {
        self.0.with_label_values(&[job_queue.as_str()]).observe(took.as_secs_f64());
    }

    /// The calls so far; nothing before the first one, because the encoder rejects empty families.
    pub(crate) fn families(&self) -> impl Iterator<Item = MetricFamily> {
        self.0.collect().into_iter().filter(|family| !family.get_metric().is_empty())
    }
}
