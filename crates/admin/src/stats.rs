//! Current statistics of queues.

use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use serde::Serialize;
use utoipa::ToSchema;
use vestibule_core::line::Stats;
use vestibule_core::settings::{Mode, Settings};
use vestibule_core::{MICROS_PER_SECOND, Micros, QueueId, StoreError, TenantId, WaitSeconds};
use vestibule_estimate::wait_estimate;
use vestibule_records::history::{Step, rates, samples};

use vestibule_core::Store;
use vestibule_records::RecordStore;
use vestibule_runtime::Directory;

/// How many queues are read at once: they share one connection.
const AT_ONCE: usize = 64;

/// Where statistics come from.
#[derive(Clone)]
pub(crate) struct StatsSources {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) records: Arc<dyn RecordStore>,
    pub(crate) directory: Arc<Directory>,
}

/// Current statistics of a queue.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct QueueStats {
    /// The queue.
    #[schema(value_type = String)]
    pub(crate) queue: QueueId,
    /// Its tenant.
    #[schema(value_type = String)]
    pub(crate) tenant: TenantId,
    /// Its name.
    name: String,
    /// The mode.
    #[schema(value_type = String)]
    mode: &'static str,
    /// Revision of the current settings.
    revision: u64,
    /// Time of the statistics in seconds since 1970, by the clock of the store.
    at: u64,
    /// Waiting visitors.
    waiting: u64,
    /// Active visitors.
    active: u64,
    /// Maximum number of active visitors.
    quota: u64,
    /// Active visitors as a share of the quota; more than 1 after a release, `null` for a quota of 0.
    utilization: Option<f64>,
    /// Recent arrivals per minute; `null` if unknown.
    joined_per_minute: Option<f64>,
    /// Recent admissions per minute; `null` if unknown.
    admitted_per_minute: Option<f64>,
    /// Estimated wait for new arrivals, 0 if they are admitted at once; `null` while nobody joins or nobody is admitted.
    wait_seconds: Option<Wait>,
    /// While draining: estimated time until the last waiting visitor is admitted, 0 if the line is empty; `null` in other
    /// modes and while nobody is admitted. The queue closes `hold_ttl` later.
    drained_in_seconds: Option<Wait>,
    /// Longest wait in seconds; `null` if the line is empty.
    oldest_wait_seconds: Option<u64>,
    /// Whether the queue recovers lost state from tickets and admits nobody new.
    recovering: bool,
}

/// An estimated wait.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct Wait {
    /// Median in seconds.
    p50: u64,
    /// 90th percentile in seconds.
    p90: u64,
}

impl Wait {
    const fn of(wait: WaitSeconds) -> Self {
        Self { p50: wait.p50, p90: wait.p90 }
    }
}

impl QueueStats {
    /// Reads them from the store.
    pub(crate) async fn of(sources: &StatsSources, settings: &Settings) -> Result<Self, StoreError> {
        let stats = sources.store.stats(&settings.id).await?;
        let rates = rates(&*sources.records, &settings.id, &stats).await?;
        let mode = stats.rules.mode;
        let wait_at = |position| wait_estimate(&stats.rules, &stats.flow(), stats.now, position);
        let wait = if admits_at_once(&stats) { Some(NO_WAIT) } else { wait_at(stats.waiting + 1) };
        let wait = wait.filter(|_| mode.accepts_joins());
        let drained = match stats.waiting {
            0 => Some(Wait { p50: 0, p90: 0 }),
            last => wait_at(last).map(Wait::of),
        };
        Ok(Self {
            queue: settings.id.clone(),
            tenant: settings.tenant.clone(),
            name: settings.name.clone(),
            mode: mode.as_str(),
            revision: stats.rules.revision,
            at: stats.now.seconds(),
            waiting: stats.waiting,
            active: stats.active,
            quota: stats.rules.quota,
            utilization: (stats.rules.quota > 0).then(|| stats.active as f64 / stats.rules.quota as f64),
            joined_per_minute: rates.map(|rates| rates.joined),
            admitted_per_minute: rates.map(|rates| rates.admitted),
            wait_seconds: wait.map(Wait::of),
            drained_in_seconds: drained.filter(|_| mode == Mode::Draining),
            oldest_wait_seconds: oldest(&stats),
            recovering: stats.recovering,
        })
    }
}

const NO_WAIT: WaitSeconds = WaitSeconds { p50: 0, p90: 0 };

/// Whether a visitor who joins now is admitted by the same request.
fn admits_at_once(stats: &Stats) -> bool {
    let rules = &stats.rules;
    let unlimited = rules.mode == Mode::Open && rules.admissions_per_minute.is_none();
    unlimited && !stats.recovering && stats.waiting == 0 && stats.active < rules.quota
}

/// The statistics of all wanted queues, by ID. A queue that was removed meanwhile is left out.
pub(crate) async fn all_stats(
    sources: &StatsSources,
    wanted: impl Fn(&Settings) -> bool,
) -> Result<Vec<QueueStats>, StoreError> {
    sources.directory.refresh().await?;
    let mut queues = sources.directory.queues();
    queues.retain(|queue| wanted(&queue.settings));
    queues.sort_by(|one, other| one.settings.id.cmp(&other.settings.id));
    let asked = queues.into_iter().map(|queue| async move { QueueStats::of(sources, &queue.settings).await });
    let found: Vec<_> = stream::iter(asked).buffered(AT_ONCE).collect().await;
    let there = found.into_iter().filter(|stats| !matches!(stats, Err(StoreError::UnknownQueue(_))));
    there.collect()
}

/// Waiting visitors in each of the last minutes, for each of these queues.
pub(crate) async fn recent(
    sources: &StatsSources,
    queues: &[QueueStats],
    minutes: u64,
) -> Result<Vec<Vec<[u64; 2]>>, StoreError> {
    if minutes == 0 {
        return Ok(vec![Vec::new(); queues.len()]);
    }
    let asked: Vec<_> = queues.iter().map(|stats| waited(sources, stats, minutes)).collect();
    stream::iter(asked).buffered(AT_ONCE).collect::<Vec<_>>().await.into_iter().collect()
}

async fn waited(sources: &StatsSources, stats: &QueueStats, minutes: u64) -> Result<Vec<[u64; 2]>, StoreError> {
    let from = Micros(0).add_seconds(stats.at.saturating_sub(minutes * 60));
    let samples = samples(&*sources.records, &stats.queue, Step::Minute, from).await?;
    Ok(samples.iter().map(|sample| [sample.at, sample.waiting]).collect())
}

fn oldest(stats: &Stats) -> Option<u64> {
    stats.oldest_arrival.map(|arrival| stats.now.since(arrival) / MICROS_PER_SECOND)
}
