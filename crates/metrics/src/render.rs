//! A pass over the store as metrics.

use prometheus::proto::MetricFamily;
use vestibule_core::LastPurge;
use vestibule_core::line::{Counters, Mode, Stats};

use crate::catalogue as all;
use crate::catalogue::Metric;
use crate::family::{Family, flag, histogram_of};
use crate::scrape::{Reading, Scrape};

const MICROS_PER_SECOND: f64 = vestibule_core::MICROS_PER_SECOND as f64;
const MODES: [(Mode, &str); 5] = [
    (Mode::Open, "open"),
    (Mode::Bypass, "bypass"),
    (Mode::Paused, "paused"),
    (Mode::Closed, "closed"),
    (Mode::Draining, "draining"),
];

/// What is read off a queue; `None` where it has no value.
type Gauge = (&'static Metric, fn(&Stats) -> Option<f64>);
const GAUGES: [Gauge; 7] = [
    (&all::WAITING, |stats| Some(stats.waiting as f64)),
    (&all::ACTIVE, |stats| Some(stats.active as f64)),
    (&all::QUOTA, |stats| Some(stats.rules.quota as f64)),
    (&all::OLDEST_WAIT, |stats| Some(oldest_wait(stats))),
    (&all::ADMISSIONS, |stats| Some(admissions_per_second(stats))),
    (&all::ADMISSIONS_LIMIT, |stats| Some(stats.rules.admissions_per_minute? as f64 / 60.0)),
    (&all::RECOVERING, |stats| Some(flag(stats.recovering))),
];

type Counter = (&'static Metric, fn(&Counters) -> u64);
const COUNTERS: [Counter; 8] = [
    (&all::JOINED, |counters| counters.joined),
    (&all::CONFIRMED, |counters| counters.confirmed),
    (&all::RETURNED, |counters| counters.returned),
    (&all::ADMITTED, |counters| counters.admitted),
    (&all::RELEASED, |counters| counters.released),
    (&all::LEFT, |counters| counters.left),
    (&all::ENDED, |counters| counters.ended),
    (&all::WENT_AWAY, |counters| counters.away),
];

type Field = (&'static Metric, fn(&LastPurge) -> f64);
const PURGE: [Field; 8] = [
    (&all::PURGE_TIMESTAMP, |purge| purge.at.0 as f64 / MICROS_PER_SECOND),
    (&all::PURGE_DURATION, |purge| purge.took_ms as f64 / 1000.0),
    (&all::PURGE_QUEUES, |purge| purge.queues as f64),
    (&all::PURGE_FAILED, |purge| purge.failed as f64),
    (&all::PURGE_EXPIRED, |purge| purge.expired as f64),
    (&all::PURGE_TOMBSTONES, |purge| purge.tombstones as f64),
    (&all::PURGE_ADMITTED, |purge| purge.admitted as f64),
    (&all::PURGE_UNFINISHED, |purge| flag(purge.unfinished)),
];

/// All that one pass says, in the order of the catalogue.
pub(crate) fn families(scrape: &Scrape) -> Vec<MetricFamily> {
    let queues = scrape.queues.as_deref().unwrap_or_default();
    let read = |reading: &Reading| reading.stats.is_some();
    let complete = scrape.queues.is_some() && queues.iter().all(read);
    let mut families = vec![
        single(&all::UP, &[], Some(flag(complete))),
        single(&all::STORE_UP, &[], Some(flag(scrape.ping.is_some()))),
        single(&all::STORE_PING, &[], scrape.ping.map(|ping| ping.as_secs_f64())),
        single(&all::BUILD_INFO, &[env!("CARGO_PKG_VERSION"), std::env::consts::ARCH], Some(1.0)),
        single(&all::QUEUES, &[], scrape.queues.as_ref().map(|queues| queues.len() as f64)),
        ups(queues),
    ];
    families.extend(GAUGES.iter().map(|(metric, value)| gauges(metric, queues, *value)));
    families.push(modes(queues));
    families.extend(
        COUNTERS.iter().map(|(metric, value)| gauges(metric, queues, |stats| Some(value(&stats.counters) as f64))),
    );
    families.extend([expired(queues), waits(queues)]);
    families.extend(PURGE.iter().map(|(metric, value)| single(metric, &[], scrape.purge.as_ref().map(value))));
    families.into_iter().filter_map(Family::finish).collect()
}

/// Whom the head of the line has waited for.
fn oldest_wait(stats: &Stats) -> f64 {
    stats.oldest_arrival.map_or(0.0, |arrival| stats.now.since(arrival) as f64 / MICROS_PER_SECOND)
}

/// What was admitted out of the line, over the time since it formed. Within the first second that is no rate yet.
fn admissions_per_second(stats: &Stats) -> f64 {
    let seen = stats.pace.observed(stats.now);
    seen.admissions / seen.seconds.max(1.0)
}

fn single(metric: &'static Metric, labels: &[&str], value: Option<f64>) -> Family {
    let mut family = Family::of(metric);
    if let Some(value) = value {
        family.add(labels, value);
    }
    family
}

/// The queues that could be read, with the values of their labels.
fn readable(queues: &[Reading]) -> impl Iterator<Item = (&str, &str, &Stats)> {
    queues.iter().filter_map(|reading| Some((tenant(reading), reading.queue.as_str(), reading.stats.as_ref()?)))
}

/// Empty for a queue of which nothing could ever be read.
fn tenant(reading: &Reading) -> &str {
    reading.tenant.as_ref().map_or("", |tenant| tenant.as_str())
}

fn ups(queues: &[Reading]) -> Family {
    let mut family = Family::of(&all::QUEUE_UP);
    for reading in queues {
        family.add(&[tenant(reading), reading.queue.as_str()], flag(reading.stats.is_some()));
    }
    family
}

fn gauges(metric: &'static Metric, queues: &[Reading], value: impl Fn(&Stats) -> Option<f64>) -> Family {
    let mut family = Family::of(metric);
    for (tenant, queue, stats) in readable(queues) {
        if let Some(value) = value(stats) {
            family.add(&[tenant, queue], value);
        }
    }
    family
}

fn modes(queues: &[Reading]) -> Family {
    let mut family = Family::of(&all::MODE);
    for (tenant, queue, stats) in readable(queues) {
        for (mode, name) in MODES {
            family.add(&[tenant, queue, name], flag(stats.rules.mode == mode));
        }
    }
    family
}

fn expired(queues: &[Reading]) -> Family {
    let mut family = Family::of(&all::EXPIRED);
    for (tenant, queue, stats) in readable(queues) {
        family.add(&[tenant, queue, "line"], stats.counters.expired_waiting as f64);
        family.add(&[tenant, queue, "places"], stats.counters.expired_active as f64);
    }
    family
}

fn waits(queues: &[Reading]) -> Family {
    let mut family = Family::of(&all::WAIT);
    for (tenant, queue, stats) in readable(queues) {
        family.add_histogram(&[tenant, queue], histogram_of(&stats.waits));
    }
    family
}
