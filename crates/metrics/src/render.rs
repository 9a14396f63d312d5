//! Renders a scrape of the store as metric families.

use prometheus::proto::MetricFamily;
use vestibule_core::LastPurge;
use vestibule_core::line::{ClientAddressState, Counters, Mode, Phase, RejectionReason, Stats};

use crate::catalog as all;
use crate::catalog::Metric;
use crate::family::{MetricFamilyBuilder, flag, histogram_of};
use crate::job_queues::ScrapedJobQueues;
use crate::scrape::{Scrape, ScrapedQueue};

const MICROS_PER_SECOND: f64 = vestibule_core::MICROS_PER_SECOND as f64;

/// A gauge of a queue; `None` where it has no value.
type Gauge = (&'static Metric, fn(&Stats) -> Option<f64>);
const GAUGES: [Gauge; 13] = [
    (&all::WAITING, |stats| Some(stats.waiting as f64)),
    (&all::MAX_WAITING, |stats| Some(stats.rules.max_waiting? as f64)),
    (&all::ACTIVE, |stats| Some(stats.active as f64)),
    (&all::RESERVED, |stats| Some(stats.reserved as f64)),
    (&all::QUOTA, |stats| Some(stats.rules.quota as f64)),
    (&all::OLDEST_WAIT, |stats| Some(oldest_wait(stats))),
    (&all::ADMISSIONS, |stats| Some(admissions_per_second(stats))),
    (&all::ADMISSIONS_LIMIT, |stats| Some(stats.rules.admissions_per_minute? as f64 / 60.0)),
    (&all::ADMISSIONS_STEP, |stats| Some(stats.rules.admissions_every? as f64)),
    (&all::RECOVERING, |stats| Some(flag(stats.recovering))),
    (&all::PRE_TICKET_REQUIRED, |stats| Some(flag(stats.requires_pre_ticket()))),
    (&all::ATTACK_MODE, |stats| Some(flag(stats.attack_mode_until.is_some()))),
    (&all::LIMITS_ENFORCED, |stats| Some(flag(stats.enforces_limits()))),
];

type Counter = (&'static Metric, fn(&Counters) -> u64);
const COUNTERS: [Counter; 10] = [
    (&all::JOINED, |counters| counters.joined),
    (&all::CONFIRMED, |counters| counters.confirmed),
    (&all::RETURNED, |counters| counters.returned),
    (&all::ADMITTED, |counters| counters.admitted),
    (&all::RELEASED, |counters| counters.released),
    (&all::LEFT, |counters| counters.left),
    (&all::ENDED, |counters| counters.ended),
    (&all::AWAY, |counters| counters.away),
    (&all::PRE_TICKETS_ISSUED, |counters| counters.pre_tickets_issued),
    (&all::PRE_TICKETS_REDEEMED, |counters| counters.pre_tickets_redeemed),
];

type Field = (&'static Metric, fn(&LastPurge) -> f64);
const PURGE: [Field; 7] = [
    (&all::PURGE_TIMESTAMP, |purge| purge.at.0 as f64 / MICROS_PER_SECOND),
    (&all::PURGE_DURATION, |purge| purge.took_ms as f64 / 1000.0),
    (&all::PURGE_FAILED, |purge| purge.failed as f64),
    (&all::PURGE_EXPIRED, |purge| purge.expired as f64),
    (&all::PURGE_TOMBSTONES, |purge| purge.tombstones as f64),
    (&all::PURGE_ADMITTED, |purge| purge.admitted as f64),
    (&all::PURGE_UNFINISHED, |purge| flag(purge.unfinished)),
];

/// All metrics of one scrape, in the order of the catalog.
pub(crate) fn families(scrape: &Scrape) -> Vec<MetricFamily> {
    let queues = scrape.queues.as_deref().unwrap_or_default();
    let was_read = |queue: &ScrapedQueue| queue.stats.is_some();
    let complete = scrape.queues.is_some()
        && queues.iter().all(was_read)
        && scrape.job_queues.as_ref().is_none_or(|job_queues| job_queues.is_complete);
    let mut families = vec![
        single(&all::UP, &[], Some(flag(complete))),
        single(&all::STORE_UP, &[], Some(flag(scrape.round_trip.is_some()))),
        single(&all::STORE_ROUND_TRIP, &[], scrape.round_trip.map(|time| time.as_secs_f64())),
        single(&all::BUILD_INFO, &[env!("CARGO_PKG_VERSION"), std::env::consts::ARCH], Some(1.0)),
        single(&all::QUEUES, &[], scrape.queues.as_ref().map(|queues| queues.len() as f64)),
        of_queue(&all::QUEUE_UP, queues, |queue| Some(flag(queue.stats.is_some()))),
    ];
    families
        .extend(GAUGES.iter().map(|(metric, value)| of_queue(metric, queues, |queue| value(queue.stats.as_ref()?))));
    families.extend([
        of_queue(&all::WINDOW_JOINS, queues, |queue| Some(queue.window_joins? as f64)),
        of_queue(&all::LARGEST_NETWORK_JOINS, queues, |queue| Some(queue.largest_network_joins? as f64)),
        by_label(&all::MODE, queues, |stats| {
            let current = stats.rules.mode;
            Mode::WORDS.iter().map(move |(word, mode)| (*word, flag(*mode == current)))
        }),
        by_label(&all::PHASE, queues, |stats| {
            let current = stats.phase;
            let phases = Phase::ALL.into_iter().filter(move |_| current.is_some());
            phases.map(move |phase| (phase.as_str(), flag(current == Some(phase))))
        }),
        of_queue(&all::EVENT_STARTS_IN, queues, |queue| queue.event_starts_in),
        of_queue(&all::LOBBY_TICKETS, queues, |queue| Some(queue.lobby_tickets? as f64)),
        of_queue(&all::SALE_KEY_MISSING, queues, |queue| queue.sale_key_missing.map(flag)),
        of_queue(&all::BEACON_MISSING, queues, |queue| queue.beacon_missing_for),
    ]);
    families.extend(
        COUNTERS.iter().map(|(metric, value)| {
            of_queue(metric, queues, |queue| Some(value(&queue.stats.as_ref()?.counters) as f64))
        }),
    );
    families.extend([
        by_label(&all::IDENTITIES, queues, |Stats { counters, .. }| {
            [("accepted", counters.identities_accepted as f64), ("rejected", counters.identities_rejected as f64)]
        }),
        by_label(&all::JOINS_REJECTED, queues, |stats| {
            RejectionReason::ALL.map(|reason| (reason.as_str(), stats.limits.counters.rejected(reason) as f64))
        }),
        by_label(&all::JOINS_OVER_LIMIT, queues, |Stats { limits, .. }| {
            [("address", limits.counters.over_address as f64), ("network", limits.counters.over_network as f64)]
        }),
        of_queue(&all::JOINS_CHALLENGED, queues, |queue| Some(queue.stats.as_ref()?.limits.counters.challenged as f64)),
        by_label(&all::PROOFS, queues, |Stats { limits, .. }| {
            [("valid", limits.counters.proofs_valid as f64), ("invalid", limits.counters.proofs_invalid as f64)]
        }),
        of_queue(&all::DELAYED_JOINS, queues, |queue| Some(queue.stats.as_ref()?.limits.counters.delayed_joins as f64)),
        by_label(&all::CLIENT_ADDRESS_STATE, queues, |stats| {
            let current = stats.limits.client_address.unwrap_or_default();
            ClientAddressState::ALL.map(|state| (state.as_str(), flag(state == current)))
        }),
        by_label(&all::EXPIRED, queues, |Stats { counters, .. }| {
            [("waiting", counters.expired_waiting as f64), ("active", counters.expired_active as f64)]
        }),
        waits(queues),
    ]);
    let purge = PURGE.iter().map(|(metric, value)| single(metric, &[], scrape.purge.as_ref().map(value)));
    let families = families.into_iter().filter_map(MetricFamilyBuilder::finish);
    let job_queues = scrape.job_queues.iter().flat_map(ScrapedJobQueues::families);
    families
        .chain(job_queues)
        .chain(scrape.not_enqueued.iter().cloned())
        .chain(purge.filter_map(MetricFamilyBuilder::finish))
        .collect()
}

/// Seconds that the first session in line has waited.
fn oldest_wait(stats: &Stats) -> f64 {
    stats.oldest_arrival.map_or(0.0, |arrival| stats.now.since(arrival) as f64 / MICROS_PER_SECOND)
}

/// Admissions out of the line per second since the line formed. Less than a second counts as one.
fn admissions_per_second(stats: &Stats) -> f64 {
    let seen = stats.pace.observed(stats.now);
    seen.admissions / seen.seconds.max(1.0)
}

fn single(metric: &'static Metric, labels: &[&str], value: Option<f64>) -> MetricFamilyBuilder {
    let mut family = MetricFamilyBuilder::new(metric);
    if let Some(value) = value {
        family.add(labels, value);
    }
    family
}

/// The queues that could be read, with their label values.
fn readable(queues: &[ScrapedQueue]) -> impl Iterator<Item = (&str, &str, &Stats)> {
    queues.iter().filter_map(|queue| Some((tenant(queue), queue.id.as_str(), queue.stats.as_ref()?)))
}

/// Empty for a queue that could never be read.
fn tenant(queue: &ScrapedQueue) -> &str {
    queue.tenant.as_ref().map_or("", |tenant| tenant.as_str())
}

/// A metric of each queue with one more label.
fn by_label<V: IntoIterator<Item = (&'static str, f64)>>(
    metric: &'static Metric,
    queues: &[ScrapedQueue],
    values: impl Fn(&Stats) -> V,
) -> MetricFamilyBuilder {
    let mut family = MetricFamilyBuilder::new(metric);
    for (tenant, queue, stats) in readable(queues) {
        for (label, value) in values(stats) {
            family.add(&[tenant, queue, label], value);
        }
    }
    family
}

/// A metric of a queue; `None` where it has no value.
fn of_queue(
    metric: &'static Metric,
    queues: &[ScrapedQueue],
    value: impl Fn(&ScrapedQueue) -> Option<f64>,
) -> MetricFamilyBuilder {
    let mut family = MetricFamilyBuilder::new(metric);
    for queue in queues {
        if let Some(value) = value(queue) {
            family.add(&[tenant(queue), queue.id.as_str()], value);
        }
    }
    family
}

fn waits(queues: &[ScrapedQueue]) -> MetricFamilyBuilder {
    let mut family = MetricFamilyBuilder::new(&all::WAIT);
    for (tenant, queue, stats) in readable(queues) {
        family.add_histogram(&[tenant, queue], histogram_of(&stats.waits));
    }
    family
}
