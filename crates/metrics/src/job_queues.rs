//! Metrics of job queues: what their backend counts, and the calls of this process' worker.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use prometheus::core::Collector as _;
use prometheus::proto::{LabelPair, MetricFamily};
use prometheus::{HistogramOpts, HistogramVec};
use tracing::warn;
use vestibule_core::jobs::{JobQueueId, JobSchedule, JobStats};
use vestibule_core::{Micros, ScheduleId, StoreError};
use vestibule_runtime::{CachedJobQueue, JobQueues, OrdersNotHeld, last_run, schedule_key};

use crate::catalog::{
    HELD_ORDERS, JOB_DURATION, JOB_QUEUE_BLOCKED_GROUP_AGE, JOB_QUEUE_JOBS, JOB_QUEUE_OLDEST_AGE, JOBS,
    ORDERS_NOT_HELD, SCHEDULE_LAST_SUCCESS, SCHEDULE_MISSED, WEBHOOK_EVENTS_DROPPED,
};
use crate::family::MetricFamilyBuilder;

/// Upper bounds of the buckets of calls, in seconds: from 5 ms to the longest `timeout`.
const CALL_BUCKETS: [f64; 15] =
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0];

/// A schedule of one scrape.
struct ScrapedSchedule {
    job_queue: JobQueueId,
    id: ScheduleId,
    last_success: Micros,
    /// When the second occurrence after it is due; `None` if there is none.
    missed: Option<Micros>,
}

impl ScrapedSchedule {
    /// Reads a schedule; `None` if no worker has seen it yet.
    async fn read(
        job_queues: &JobQueues,
        job_queue: &JobQueueId,
        schedule: &JobSchedule,
    ) -> Result<Option<Self>, StoreError> {
        let last = last_run(&**job_queues.records(), &schedule_key(job_queue, schedule)).await?;
        Ok(last.map(|last_success| Self {
            job_queue: job_queue.clone(),
            id: schedule.id.clone(),
            last_success,
            missed: schedule.next_after(last_success).and_then(|first| schedule.next_after(first)),
        }))
    }
}

/// The job queues of one scrape.
pub(crate) struct ScrapedJobQueues {
    /// Those that could be read.
    stats: Vec<(Arc<CachedJobQueue>, JobStats)>,
    /// The schedules that the store knows.
    schedules: Vec<ScrapedSchedule>,
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
                return Self { stats: Vec::new(), schedules: Vec::new(), is_complete: false };
            }
        };
        let schedules = scheduled(&all).map(|(id, schedule)| ScrapedSchedule::read(job_queues, id, schedule));
        let schedules: Vec<_> = stream::iter(schedules.collect::<Vec<_>>()).buffered(parallel).collect().await;
        let schedules: Result<Vec<_>, _> = schedules.into_iter().collect();
        let schedules = schedules.inspect_err(|error| warn!(%error, "the schedules cannot be read")).ok();
        let count = all.len();
        let reads = all.into_iter().map(|it| async move {
            let stats = job_queues.job_store().stats(&it.settings).await;
            (it, stats)
        });
        let read: Vec<_> = stream::iter(reads).buffered(parallel).collect().await;
        let known = |(it, stats): (Arc<CachedJobQueue>, Result<JobStats, _>)| match stats {
            Ok(stats) => Some((it, stats)),
            Err(error) => {
                warn!(job_queue = %it.settings.id, %error, "the job queue cannot be read");
                None
            }
        };
        let stats: Vec<_> = read.into_iter().filter_map(known).collect();
        let is_complete = stats.len() == count && schedules.is_some();
        let schedules = schedules.into_iter().flatten().flatten().collect();
        Self { stats, schedules, is_complete }
    }

    pub(crate) fn families(&self) -> impl Iterator<Item = MetricFamily> {
        let (mut jobs, mut ages) =
            (MetricFamilyBuilder::new(&JOB_QUEUE_JOBS), MetricFamilyBuilder::new(&JOB_QUEUE_OLDEST_AGE));
        let mut blocked = MetricFamilyBuilder::new(&JOB_QUEUE_BLOCKED_GROUP_AGE);
        let (mut events, mut orders) = (MetricFamilyBuilder::new(&JOBS), MetricFamilyBuilder::new(&HELD_ORDERS));
        for (job_queue, stats) in &self.stats {
            let id = job_queue.settings.id.as_str();
            for (state, count) in [
                ("ready", stats.ready),
                ("delayed", stats.waiting.saturating_sub(stats.ready)),
                ("running", stats.running),
                ("dead", stats.dead),
            ] {
                jobs.add(&[id, state], count as f64);
            }
            ages.add(&[id], stats.oldest_age.unwrap_or(0) as f64);
            blocked.add(&[id], stats.blocked_group.map_or(0, |group| group.age) as f64);
            for (event, count) in stats.counters.named() {
                events.add(&[id, event], count as f64);
            }
            if job_queue.settings.holds_orders() {
                let counters = stats.counters;
                for (outcome, count) in
                    [("completed", counters.acknowledged), ("failed", counters.dead), ("unknown", counters.unknown)]
                {
                    orders.add(&[id, outcome], count as f64);
                }
            }
        }
        let (mut successes, mut missed) =
            (MetricFamilyBuilder::new(&SCHEDULE_LAST_SUCCESS), MetricFamilyBuilder::new(&SCHEDULE_MISSED));
        for schedule in &self.schedules {
            let labels = [schedule.job_queue.as_str(), schedule.id.as_str()];
            successes.add(&labels, schedule.last_success.seconds() as f64);
            if let Some(instant) = schedule.missed {
                missed.add(&labels, instant.seconds() as f64);
            }
        }
        let families = [jobs, ages, blocked, events, orders, successes, missed];
        families.into_iter().filter_map(MetricFamilyBuilder::finish)
    }
}

/// What this process could not enqueue. It counts that itself, so it is known while no store can be reached.
pub(crate) fn not_enqueued(job_queues: &JobQueues) -> Vec<MetricFamily> {
    let mut dropped = MetricFamilyBuilder::new(&WEBHOOK_EVENTS_DROPPED);
    for (id, count) in &job_queues.dropped_events() {
        dropped.add(&[id.as_str()], *count as f64);
    }
    let mut not_held = MetricFamilyBuilder::new(&ORDERS_NOT_HELD);
    for (id, OrdersNotHeld { forwarded, refused }) in &job_queues.orders_not_held() {
        for (action, count) in [("forwarded", forwarded), ("refused", refused)] {
            not_held.add(&[id.as_str(), action], *count as f64);
        }
    }
    [not_held, dropped].into_iter().filter_map(MetricFamilyBuilder::finish).collect()
}

/// All schedules, with their job queues.
fn scheduled(all: &[Arc<CachedJobQueue>]) -> impl Iterator<Item = (&JobQueueId, &JobSchedule)> {
    all.iter().flat_map(|it| it.settings.schedules.iter().map(|schedule| (&it.settings.id, schedule)))
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

    /// Forgets the calls of job queues that are not among these: the series of removed ones would stay as long as this process.
    pub(crate) fn keep_only(&self, job_queues: &ScrapedJobQueues) {
        let is_known = |id: &str| job_queues.stats.iter().any(|(it, _)| it.settings.id.as_str() == id);
        let families = self.0.collect();
        let labels = families.iter().flat_map(MetricFamily::get_metric).flat_map(prometheus::proto::Metric::get_label);
        for id in labels.map(LabelPair::value).filter(|id| !is_known(id)) {
            // Another scrape may have removed it.
            let _ = self.0.remove_label_values(&[id]);
        }
    }

    /// The calls so far; nothing before the first one, because the encoder rejects empty families.
    pub(crate) fn families(&self) -> impl Iterator<Item = MetricFamily> {
        self.0.collect().into_iter().filter(|family| !family.get_metric().is_empty())
    }
}
