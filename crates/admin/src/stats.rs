//! Current statistics of queues.

use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use serde::Serialize;
use tracing::warn;
use utoipa::ToSchema;
use vestibule_core::line::{Phase, Stats};
use vestibule_core::settings::{Event, EventOrder, Mode, Settings};
use vestibule_core::{MICROS_PER_SECOND, Micros, QueueId, StoreError, TenantId, WaitSeconds};
use vestibule_estimate::{QuotaForecast, WaitRange, estimate_wait, newcomer_wait, quota_forecast};
use vestibule_records::history::{History, Step, rates};

use vestibule_core::Store;
use vestibule_records::{LoggedQueue, RecordStore};
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
    /// The mode that the line follows now: for a scheduled queue that of its phase, otherwise `mode`.
    #[schema(value_type = String)]
    effective_mode: &'static str,
    /// The phase of a scheduled queue with its event; `null` in other modes.
    event: Option<EventStats>,
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
    /// Seconds between two steps of admissions; `null` for a continuous rate.
    admissions_every: Option<u64>,
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
    /// When attack mode ends, in seconds since 1970; `null` if it is off.
    attack_mode_until: Option<u64>,
}

/// The phase of a scheduled queue.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct EventStats {
    /// The phase: `idle`, `lobby`, `draw`, `running` or `ending`.
    #[schema(value_type = String)]
    phase: &'static str,
    /// The current event, in `idle` the next one; `null` if there is none.
    id: Option<String>,
    /// Its name.
    name: Option<String>,
    /// When its lobby opens, in seconds since 1970.
    lobby_at: Option<u64>,
    /// When it starts, in seconds since 1970.
    starts_at: Option<u64>,
    /// When it ends, in seconds since 1970.
    ends_at: Option<u64>,
    /// Seconds until the start, negative afterwards.
    starts_in: Option<f64>,
    /// When the drawn order is complete and admissions begin, in seconds since 1970; `null` for an event in order of arrival, and
    /// while the value of the beacon is missing.
    draw_ends_at: Option<u64>,
    /// Whether the draw waits for the value of its beacon, so that nobody is admitted.
    awaits_beacon: bool,
    /// Lobby tickets that were issued for the event; `null` for an event in order of arrival.
    lobby_tickets: Option<u64>,
}

impl EventStats {
    /// The phase by the store, with the event of these settings.
    fn of(settings: &Settings, stats: &Stats) -> Option<Self> {
        let phase = stats.phase?;
        let current = settings.line.phase(stats.now, stats.may_wait());
        let event = current.and_then(|current| current.event);
        Some(Self {
            phase: phase.as_str(),
            id: event.map(|event| event.id.to_string()),
            name: event.map(|event| event.name.as_ref().unwrap_or(&settings.name).clone()),
            lobby_at: event.map(|event| event.lobby_at().seconds()),
            starts_at: event.map(|event| event.starts_at.seconds()),
            ends_at: event.map(|event| event.ends_at.seconds()),
            starts_in: event.map(|event| event.starts_in(stats.now)),
            draw_ends_at: event.and_then(Event::draw_ends_at).map(Micros::seconds),
            awaits_beacon: event.is_some_and(|event| event.awaits_beacon(stats.now)),
            lobby_tickets: event.filter(|event| event.order == EventOrder::Draw).map(|_| stats.lobby_tickets),
        })
    }
}

/// A median and a 90th percentile of an estimate.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct Wait {
    /// The median in seconds.
    p50: u64,
    /// The 90th percentile in seconds.
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
        let rates = rates(&*sources.records, &LoggedQueue::of(settings), &stats).await?;
        let mode = stats.mode;
        let rules = stats.rules.in_mode(mode);
        let wait_at = |position| estimate_wait(&rules, &stats.flow(), stats.now, position).map(WaitRange::seconds);
        let wait = newcomer_wait(&stats);
        let drained = match stats.waiting {
            0 => Some(Wait { p50: 0, p90: 0 }),
            last => wait_at(last).map(Wait::of),
        };
        Ok(Self {
            queue: settings.id.clone(),
            tenant: settings.tenant.clone(),
            name: settings.name.clone(),
            mode: stats.rules.mode.as_str(),
            effective_mode: mode.as_str(),
            event: EventStats::of(settings, &stats),
            revision: stats.rules.revision,
            at: stats.now.seconds(),
            waiting: stats.waiting,
            active: stats.active,
            quota: stats.rules.quota,
            admissions_every: stats.rules.admissions_every,
            utilization: (stats.rules.quota > 0).then(|| stats.active as f64 / stats.rules.quota as f64),
            joined_per_minute: rates.map(|rates| rates.joined),
            admitted_per_minute: rates.map(|rates| rates.admitted),
            wait_seconds: wait.map(Wait::of),
            drained_in_seconds: drained.filter(|_| mode == Mode::Draining),
            oldest_wait_seconds: oldest(&stats),
            recovering: stats.recovering,
            attack_mode_until: stats.attack_mode_until.map(Micros::seconds),
        })
    }
}

/// What a queue would do with another quota.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct QueueForecast {
    /// The quota of the forecast.
    quota: u64,
    /// Time of the forecast in seconds since 1970, by the clock of the store.
    at: u64,
    /// When admissions begin, in seconds since 1970, if the event of a scheduled queue has not begun them; otherwise `null`.
    begins_at: Option<u64>,
    /// Visitors who wait now, and in the lobby of a draw those with a lobby ticket.
    waiting: u64,
    /// How many of them would be admitted at once.
    admitted_now: u64,
    /// Estimated wait of the last one, from `begins_at` or now on, 0 if nobody waits; `null` if there is no estimate, as with a
    /// quota of 0.
    last_wait_seconds: Option<Wait>,
    /// When the last one would be admitted, in seconds since 1970; `null` if there is no estimate.
    line_ends_at: Option<Wait>,
}

impl QueueForecast {
    /// The forecast for this quota.
    pub(crate) fn of(settings: &Settings, stats: &Stats, quota: u64) -> Self {
        let event = settings.line.phase(stats.now, stats.may_wait()).and_then(|current| current.event);
        let begins_at = event
            .filter(|_| matches!(stats.phase, Some(Phase::Lobby | Phase::Draw)))
            .map(|event| event.draw_ends_at().unwrap_or(event.starts_at.micros()))
            .filter(|begins_at| *begins_at > stats.now)
            .map(Micros::seconds);
        let waiting = match stats.mode {
            Mode::Lobby => stats.waiting + stats.lobby_tickets,
            // Visitors of the lobby join the line, in which others may be as well.
            Mode::Draw => stats.waiting.max(stats.lobby_tickets),
            _ => stats.waiting,
        };
        let QuotaForecast { admitted_now, last_wait } = quota_forecast(stats, waiting, quota);
        let at = stats.now.seconds();
        let from = begins_at.unwrap_or(at);
        Self {
            quota,
            at,
            begins_at,
            waiting,
            admitted_now,
            last_wait_seconds: last_wait.map(Wait::of),
            line_ends_at: last_wait.map(|wait| Wait { p50: from + wait.p50, p90: from + wait.p90 }),
        }
    }
}

/// The statistics of all wanted queues, by ID. A queue that was removed meanwhile is left out, and so is one that can't be
/// read.
pub(crate) async fn all_stats(
    sources: &StatsSources,
    wanted: impl Fn(&Settings) -> bool,
) -> Result<Vec<QueueStats>, StoreError> {
    sources.directory.refresh_readable().await?;
    let mut queues = sources.directory.queues();
    queues.retain(|queue| wanted(&queue.settings));
    let asked = queues.into_iter().map(|queue| async move {
        let stats = QueueStats::of(sources, &queue.settings).await;
        readable(&queue.settings.id, stats)
    });
    let found: Vec<Result<Option<QueueStats>, StoreError>> = stream::iter(asked).buffered(AT_ONCE).collect().await;
    found.into_iter().filter_map(Result::transpose).collect()
}

/// What was read of a queue among others; `None` if it was removed meanwhile or can't be read, so that it does not affect the
/// others.
pub(crate) fn readable<T>(queue: &QueueId, read: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match read {
        Ok(found) => Ok(Some(found)),
        Err(StoreError::UnknownQueue(_)) => Ok(None),
        Err(StoreError::Corrupt(error)) => {
            warn!(%queue, error, "this queue cannot be read; it is left out");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Waiting visitors in each of the last minutes that were recorded, for each of these queues.
pub(crate) async fn recent(
    sources: &StatsSources,
    queues: &[QueueStats],
    minutes: u64,
) -> Result<Vec<Vec<[u64; 2]>>, StoreError> {
    let (1.., Some(at)) = (minutes, queues.iter().map(|stats| stats.at).max()) else {
        return Ok(vec![Vec::new(); queues.len()]);
    };
    let from = Micros(0).add_seconds(at.saturating_sub(minutes * 60));
    let history = History::since(&*sources.records, Step::Minute, from).await?;
    let asked: Vec<_> = queues
        .iter()
        .map(|stats| waited(&history, LoggedQueue { tenant: stats.tenant.clone(), queue: stats.queue.clone() }))
        .collect();
    stream::iter(asked).buffered(AT_ONCE).collect::<Vec<_>>().await.into_iter().collect()
}

async fn waited(history: &History<'_>, queue: LoggedQueue) -> Result<Vec<[u64; 2]>, StoreError> {
    let samples = history.samples(&queue).await?;
    let first = samples.first().map_or(u64::MAX, |(at, _)| *at);
    let without_visitors = history.recorded().take_while(|at| *at < first).map(|at| [at, 0]);
    let counts = samples.iter().filter_map(|(at, sample)| sample.map(|sample| [*at, sample.waiting]));
    Ok(without_visitors.chain(counts).collect())
}

fn oldest(stats: &Stats) -> Option<u64> {
    stats.oldest_arrival.map(|arrival| stats.now.since(arrival) / MICROS_PER_SECOND)
}
