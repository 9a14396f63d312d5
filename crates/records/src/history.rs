//! The history of a queue: one point per minute for a day, and one per five minutes for 30 days.
//!
//! A point holds the counters themselves, not their increments. Writing one needs nothing but the
//! queue, and a missed minute loses no event. After the first point, a minute without visitors, at the end and since the last
//! point, writes none, but the minute itself is recorded once for all queues, so that a minute without visitors and
//! one in which nothing was recorded are told apart. The process that writes a minute also records
//! what the reports of events are made of.

#![expect(clippy::missing_errors_doc, reason = "functions without that section return the error of the store")]

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{StreamExt as _, stream};
use vestibule_core::line::Stats;
use vestibule_core::{MICROS_PER_SECOND, Micros, QueueId, Store, StoreError};

use crate::client_address::log_client_address;
use crate::event_report::record_turning_points;
use crate::store::{ENTRIES_MAX, EntryId, EphemeralKey, EphemeralKind, LogName, LoggedQueue, RecordStore};

/// Seconds for which a minute stays claimed by the process that samples it.
const SAMPLE_CLAIM_TTL: u64 = 900;
/// Number of queues sampled concurrently, over one connection.
const AT_ONCE: usize = 64;

/// Distance between two points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// One minute; kept for a day.
    Minute,
    /// Five minutes; kept for 30 days.
    FiveMinutes,
}

vestibule_core::word_field!(Step { Minute = "minute", FiveMinutes = "five_minutes" });

impl Step {
    /// All steps.
    pub const ALL: [Self; 2] = [Self::Minute, Self::FiveMinutes];

    /// The length in seconds.
    pub const fn seconds(self) -> u64 {
        match self {
            Self::Minute => 60,
            Self::FiveMinutes => 300,
        }
    }

    /// Seconds for which points are kept.
    const fn kept(self) -> u64 {
        match self {
            Self::Minute => 86_400,
            Self::FiveMinutes => 30 * 86_400,
        }
    }

    fn stream(self, queue: &LoggedQueue) -> LogName {
        match self {
            Self::Minute => LogName::Minutes(queue.clone()),
            Self::FiveMinutes => LogName::FiveMinutes(queue.clone()),
        }
    }

    /// The log of the steps in which all queues were recorded.
    const fn recorded(self) -> LogName {
        match self {
            Self::Minute => LogName::RecordedMinutes,
            Self::FiveMinutes => LogName::RecordedFiveMinutes,
        }
    }
}

/// The statistics of a queue at one instant, and the events since the previous sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Start of the step, in seconds since 1970 by the store's clock.
    pub at: u64,
    /// Number of waiting sessions.
    pub waiting: u64,
    /// Number of active sessions.
    pub active: u64,
    /// The quota.
    pub quota: u64,
    /// Sessions that joined since the previous sample; `None` if unknown.
    pub joined: Option<u64>,
    /// Sessions admitted or released since the previous sample; `None` if unknown.
    pub admitted: Option<u64>,
    /// Pre-tickets issued to first visits since the previous sample; `None` if unknown.
    pub pre_tickets: Option<u64>,
    /// Joins rejected since the previous sample; `None` if unknown.
    pub rejected: Option<u64>,
    /// Newcomers who had to prove work since the previous sample; `None` if unknown.
    pub challenged: Option<u64>,
}

impl Sample {
    /// A step without visitors.
    const fn empty(at: u64, quota: u64) -> Self {
        let none = Some(0);
        let (joined, admitted, pre_tickets, rejected, challenged) = (none, none, none, none, none);
        Self { at, waiting: 0, active: 0, quota, joined, admitted, pre_tickets, rejected, challenged }
    }
}

/// A point as stored, with the counters at that instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Point {
    at: u64,
    waiting: u64,
    active: u64,
    quota: u64,
    joined: u64,
    admitted: u64,
    state_since: u64,
    pre_tickets: u64,
    rejected: u64,
    challenged: u64,
}

impl Point {
    fn of(stats: &Stats, at: u64) -> Self {
        let limits = &stats.limits.counters;
        Self {
            at,
            waiting: stats.waiting,
            active: stats.active,
            quota: stats.rules.quota,
            joined: stats.counters.joined,
            admitted: stats.counters.admitted + stats.counters.released,
            state_since: stats.state_since.seconds(),
            pre_tickets: stats.counters.pre_tickets_issued,
            rejected: limits.all_rejected(),
            challenged: limits.challenged,
        }
    }

    fn to_text(self) -> String {
        let Self { at, waiting, active, quota, joined, admitted, state_since, pre_tickets, rejected, challenged } =
            self;
        let numbers = [at, waiting, active, quota, joined, admitted, state_since, pre_tickets, rejected, challenged];
        numbers.map(|number| number.to_string()).join(" ")
    }

    fn parse(text: &str) -> Option<Self> {
        let numbers: Vec<u64> = text.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
        // Newer versions may add numbers.
        let &[at, waiting, active, quota, joined, admitted, state_since, pre_tickets, rejected, challenged] =
            numbers.first_chunk()?;
        Some(Self { at, waiting, active, quota, joined, admitted, state_since, pre_tickets, rejected, challenged })
    }

    /// All events since the state began.
    const fn events(&self) -> [u64; 5] {
        [self.joined, self.admitted, self.pre_tickets, self.rejected, self.challenged]
    }

    fn since(&self, before: Option<&Self>, step: Step) -> Sample {
        let grown = |count: fn(&Self) -> u64| match before {
            Some(before) if before.state_since == self.state_since => count(self).checked_sub(count(before)),
            // A state that began after the previous point counts from 0.
            Some(_) => Some(count(self)),
            None => (self.state_since + step.seconds() >= self.at).then(|| count(self)),
        };
        Sample {
            at: self.at,
            waiting: self.waiting,
            active: self.active,
            quota: self.quota,
            joined: grown(|point| point.joined),
            admitted: grown(|point| point.admitted),
            pre_tickets: grown(|point| point.pre_tickets),
            rejected: grown(|point| point.rejected),
            challenged: grown(|point| point.challenged),
        }
    }
}

/// Writes the points of the current minute and the snapshots of events that are due, unless another
/// process has claimed it. A background task calls this a few times per minute; most calls cost one
/// round trip. The future may be dropped at any time; points not written by then are missing.
/// Returns the number of points written.
///
/// # Errors
/// Returns the store's error. Points that were not written are lost.
pub async fn record_samples(store: &dyn Store, records: &dyn RecordStore) -> Result<usize, StoreError> {
    let now = records.now().await?.seconds();
    let mut due = Vec::new();
    for step in Step::ALL {
        let number = now / step.seconds();
        let key = EphemeralKey::new(EphemeralKind::Minute, format!("{}-{number}", step.seconds()));
        if records.set_ephemeral_if_absent(&key, "", SAMPLE_CLAIM_TTL).await? {
            due.push((step, number * step.seconds()));
        }
    }
    let mut written = 0;
    if due.is_empty() {
        return Ok(written);
    }
    let index = store.queues().await?;
    let queues = index.into_iter().filter(|(_, revision)| *revision > 0).map(|(queue, _)| queue);
    let mut samples = stream::iter(queues).map(|queue| sample(store, records, queue, &due)).buffer_unordered(AT_ONCE);
    while let Some(points) = samples.next().await {
        written += points?;
    }
    // Last, so that a step in which a process stopped does not look like one without visitors.
    for (step, at) in due.iter().copied() {
        records.append(&step.recorded(), &at.to_string()).await?;
    }
    Ok(written)
}

/// Writes the points of a queue for these steps; returns their number.
async fn sample(
    store: &dyn Store,
    records: &dyn RecordStore,
    queue: QueueId,
    due: &[(Step, u64)],
) -> Result<usize, StoreError> {
    let (stats, settings) = match (store.stats(&queue).await, store.settings(&queue).await) {
        (Ok(stats), Ok(Some(settings))) => (stats, settings),
        // A corrupt queue does not affect the others.
        (Err(StoreError::UnknownQueue(_) | StoreError::Corrupt(_)), _)
        | (_, Ok(None) | Err(StoreError::Corrupt(_))) => return Ok(0),
        (Err(error), _) | (_, Err(error)) => return Err(error),
    };
    if due.iter().any(|(step, _)| *step == Step::Minute) {
        record_turning_points(records, &settings, None, &stats).await?;
        log_client_address(records, &queue, &stats).await?;
    }
    let (logged, mut written) = (LoggedQueue::of(&settings), 0);
    for (step, at) in due {
        let (log, point) = (step.stream(&logged), Point::of(&stats, *at));
        if stats.waiting + stats.active > 0 || needs_point(records, &log, &point).await? {
            records.append(&log, &point.to_text()).await?;
            written += 1;
        }
    }
    Ok(written)
}

/// Whether a queue without visitors gets a point: the first one, which the next is counted from, or if it had visitors since the
/// last point, who would otherwise be counted in the minute of the next one.
async fn needs_point(records: &dyn RecordStore, log: &LogName, point: &Point) -> Result<bool, StoreError> {
    let last = records.entries(log, None, 1).await?.first().and_then(|entry| Point::parse(&entry.text));
    Ok(match last {
        None => true,
        Some(last) if last.state_since == point.state_since => last.events() != point.events(),
        Some(_) => point.events() != [0; 5],
    })
}

/// The history of queues from an instant on.
pub struct History<'a> {
    records: &'a dyn RecordStore,
    step: Step,
    /// In seconds since 1970.
    from: u64,
    /// Starts of the steps in which all queues were recorded.
    recorded: BTreeSet<u64>,
}

impl<'a> History<'a> {
    /// Reads which steps were recorded.
    pub async fn since(records: &'a dyn RecordStore, step: Step, from: Micros) -> Result<Self, StoreError> {
        let from = from.seconds();
        let recorded = read(records, &step.recorded(), from, |text| text.parse().ok(), |at| *at).await?;
        Ok(Self { records, step, from, recorded: recorded.into_iter().filter(|at| *at >= from).collect() })
    }

    /// The samples of a queue, oldest first, from its first point on. A step without visitors has an empty sample, and a step in
    /// which nothing was recorded has none.
    pub async fn samples(&self, queue: &LoggedQueue) -> Result<Vec<(u64, Option<Sample>)>, StoreError> {
        // One point more than requested, as the base for the increments of the first sample.
        let points = read(self.records, &self.step.stream(queue), self.from, Point::parse, |point| point.at).await?;
        let (Some(oldest), Some(newest)) = (points.first(), points.last()) else { return Ok(Vec::new()) };
        let last = self.recorded.last().map_or(newest.at, |at| newest.at.max(*at));
        let kept_from = (last + self.step.seconds()).saturating_sub(self.step.kept());
        let first = self.from.max(oldest.at).max(kept_from).next_multiple_of(self.step.seconds());
        let mut quota = points.iter().take_while(|point| point.at <= first).last().unwrap_or(oldest).quota;
        let earlier = std::iter::once(None).chain(points.iter().map(Some));
        let samples: BTreeMap<u64, Sample> =
            points.iter().zip(earlier).map(|(point, before)| (point.at, point.since(before, self.step))).collect();
        let steps = (first..=last).step_by(self.step.seconds() as usize);
        Ok(steps
            .map(|at| {
                let sample = samples.get(&at).copied();
                // A quota applies until it is changed.
                quota = sample.map_or(quota, |sample| sample.quota);
                (at, sample.or_else(|| self.recorded.contains(&at).then(|| Sample::empty(at, quota))))
            })
            .collect())
    }

    /// Starts of the steps in which all queues were recorded, oldest first.
    pub fn recorded(&self) -> impl Iterator<Item = u64> {
        self.recorded.iter().copied()
    }
}

/// The entries of a log that are at `from` or later, and at least one before if there is one, oldest first.
async fn read<T>(
    records: &dyn RecordStore,
    log: &LogName,
    from: u64,
    parse: impl Fn(&str) -> Option<T>,
    at: impl Fn(&T) -> u64,
) -> Result<Vec<T>, StoreError> {
    let mut found: Vec<T> = Vec::new();
    let mut before: Option<EntryId> = None;
    while found.last().is_none_or(|oldest| at(oldest) >= from) {
        let entries = records.entries(log, before, ENTRIES_MAX).await?;
        before = entries.last().map(|entry| entry.id);
        found.extend(entries.iter().filter_map(|entry| parse(&entry.text)));
        if entries.len() < ENTRIES_MAX {
            break;
        }
    }
    found.reverse();
    Ok(found)
}

/// Arrivals and admissions per minute, from the earliest point of the last [`RATES_SPAN`] seconds
/// to `stats`; `None` without such a point.
pub async fn rates(records: &dyn RecordStore, queue: &LoggedQueue, stats: &Stats) -> Result<Option<Rates>, StoreError> {
    let entries = records.entries(&LogName::Minutes(queue.clone()), None, 2).await?;
    // A point is written some time after its minute begins; the entry id has the exact time.
    let mut aged = entries.iter().filter_map(|entry| {
        let age_us = stats.now.since(Micros(entry.id.at_ms * 1000));
        let recent = (MICROS_PER_SECOND..=RATES_SPAN * MICROS_PER_SECOND).contains(&age_us);
        Point::parse(&entry.text).filter(|_| recent).map(|point| (point, age_us))
    });
    let Some((point, age_us)) = aged.next_back() else { return Ok(None) };
    let present = Point::of(stats, stats.now.seconds()).since(Some(&point), Step::Minute);
    let per_minute = |count: u64| count as f64 * 60.0 * MICROS_PER_SECOND as f64 / age_us as f64;
    let grown = present.joined.zip(present.admitted);
    Ok(grown.map(|(joined, admitted)| Rates { joined: per_minute(joined), admitted: per_minute(admitted) }))
}

/// Maximum age, in seconds, of a point used for rates.
pub const RATES_SPAN: u64 = 180;

/// Recent arrivals and admissions per minute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Arrivals per minute.
    pub joined: f64,
    /// Admissions and releases per minute.
    pub admitted: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINT: Point = Point {
        at: 6000,
        waiting: 1,
        active: 2,
        quota: 3,
        joined: 40,
        admitted: 30,
        state_since: 600,
        pre_tickets: 70,
        rejected: 8,
        challenged: 5,
    };

    #[test]
    fn point_round_trips() {
        assert_eq!(Point::parse(&POINT.to_text()), Some(POINT));
        for bad in ["", "1 2 3", "1 2 3 4 5 6 7 8 9 x"] {
            assert_eq!(Point::parse(bad), None, "{bad}");
        }
        assert_eq!(Point::parse(&format!("{} 11", POINT.to_text())), Some(POINT), "a newer version added a number");
    }

    #[test]
    fn sample_holds_increments_since_the_previous_one() {
        let grown = |before: Option<Point>| {
            let sample = POINT.since(before.as_ref(), Step::Minute);
            (sample.joined, sample.admitted)
        };
        assert_eq!(grown(Some(Point { joined: 35, admitted: 30, ..POINT })), (Some(5), Some(0)));
        assert_eq!(
            grown(Some(Point { joined: 90, state_since: 1, ..POINT })),
            (Some(40), Some(30)),
            "a new state counts from zero"
        );
        assert_eq!(grown(Some(Point { joined: 90, ..POINT })), (None, Some(0)), "a counter cannot have gone back");
        assert_eq!(grown(None), (None, None), "nothing to compare with");
        let young = Point { state_since: 5950, ..POINT };
        assert_eq!(young.since(None, Step::Minute).joined, Some(40), "it began within the step");
    }
}
