//! Rule 26: the report of an event, from snapshots of the queue's counters at its turning points.
//!
//! A queue counts without end and knows nothing of events. So the process that records history also stores the
//! counters when the lobby of an event opens, at its start, at its end and when it is over. The report is the
//! difference between the first and the last of these snapshots, or the present.

use serde::{Deserialize, Serialize};
use vestibule_core::line::{Counters, LineRules, Phase, Stats, Waits, phase};
use vestibule_core::settings::{Event, EventOrder, Settings};
use vestibule_core::{EventId, Micros, StoreError};

use crate::store::{LogName, LoggedQueue, RecordStore};

/// Number of recent events whose turning points are caught up on: the counters say nothing about earlier ones.
const EVENTS_CAUGHT_UP: usize = 3;
/// Number of recent snapshots that are searched for a turning point before it is recorded.
const SEARCHED_MAX: usize = 32;

/// A turning point of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TurningPoint {
    /// The lobby opens.
    Lobby,
    /// Admissions begin.
    Start,
    /// The sale ends.
    End,
    /// The line is empty, or the lobby of the next event has opened.
    Over,
}

/// What a queue has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    /// Events in the line.
    pub counters: Counters,
    /// Waits of admitted sessions.
    pub waits: Waits,
}

impl Totals {
    /// What these totals have and `before`, of the same state, did not have.
    fn since(&self, before: &Self) -> Self {
        Self { counters: self.counters.since(&before.counters), waits: self.waits.since(&before.waits) }
    }

    fn plus(&self, other: &Self) -> Self {
        Self { counters: self.counters.plus(&other.counters), waits: self.waits.plus(&other.waits) }
    }
}

/// What a queue had counted at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Snapshot {
    at: Micros,
    /// When the state began, and with it the counters.
    state_since: Micros,
    /// Lobby tickets that were issued for the event.
    #[serde(default)]
    lobby_tickets: u64,
    /// Whether the lobby opened with the change of the settings before it: nobody has joined for the event until then.
    #[serde(default)]
    opened_by_change: bool,
    #[serde(flatten)]
    totals: Totals,
}

impl Snapshot {
    fn of(stats: &Stats) -> Self {
        let totals = Totals { counters: stats.counters, waits: stats.waits };
        Self { at: stats.now, state_since: stats.state_since, lobby_tickets: 0, opened_by_change: false, totals }
    }

    /// The statistics count the lobby tickets of the current event only.
    fn of_event(rules: &LineRules, event: &Event, stats: &Stats) -> Self {
        let is_current = current(rules, stats).is_some_and(|current| current.id == event.id);
        Self { lobby_tickets: if is_current { stats.lobby_tickets } else { 0 }, ..Self::of(stats) }
    }
}

/// A snapshot as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    event: EventId,
    point: TurningPoint,
    /// The time in the settings that the turning point belongs to, in seconds since 1970: an event that was postponed
    /// has other turning points than before.
    planned_at: u64,
    #[serde(flatten)]
    snapshot: Snapshot,
}

impl Entry {
    fn is(&self, event: &Event, point: TurningPoint) -> bool {
        self.event == event.id && self.point == point && self.planned_at == planned_at(event, point)
    }
}

/// The time in the settings that a turning point belongs to, in seconds since 1970.
fn planned_at(event: &Event, point: TurningPoint) -> u64 {
    match point {
        TurningPoint::Lobby => event.lobby_at().seconds(),
        TurningPoint::Start => event.starts_at.seconds(),
        TurningPoint::End | TurningPoint::Over => event.ends_at.seconds(),
    }
}

/// The latest event whose lobby has opened, if it is not over.
fn current<'a>(rules: &'a LineRules, stats: &Stats) -> Option<&'a Event> {
    let current = phase(rules, stats.now, stats.may_wait());
    current.event.filter(|_| current.phase != Phase::Idle)
}

/// Whether a turning point has come and its counters are to be stored.
///
/// The one of the lobby comes in the minute before it opens: while no event takes place nobody joins, so the counters
/// are already those of the opening, and visitors of the first minute are not missed. After another event, whose line
/// may still move, it comes when the lobby opens.
fn is_due(rules: &LineRules, event: &Event, point: TurningPoint, stats: &Stats) -> bool {
    let now = stats.now.seconds();
    let current = current(rules, stats);
    match point {
        // A process that runs once a minute runs next by the end of the next minute.
        TurningPoint::Lobby if current.is_none() => event.lobby_at().seconds() / 60 <= now / 60 + 1,
        TurningPoint::Over => event.ends_at.seconds() <= now && current.is_none_or(|current| current.id != event.id),
        TurningPoint::Lobby | TurningPoint::Start | TurningPoint::End => planned_at(event, point) <= now,
    }
}

/// Whether the lobby of an event was not open before a change of these rules.
fn was_closed(before: &LineRules, event: &Event, now: Micros) -> bool {
    !before.events.planned().any(|held| held.id == event.id && held.lobby_at().micros() <= now)
}

/// Stores the counters of a queue for the turning points of its events that have come since the last call. Costs nothing
/// for a queue without events that have begun, and one read for others. After a change, `before` are the rules until then.
/// Returns the number of snapshots stored.
///
/// # Errors
/// Returns the store's error. What is missing is stored by the next call.
pub async fn record_turning_points(
    records: &dyn RecordStore,
    settings: &Settings,
    before: Option<&LineRules>,
    stats: &Stats,
) -> Result<usize, StoreError> {
    let rules = &settings.line;
    let recent = rules.events.planned().rev().filter(|event| is_due(rules, event, TurningPoint::Lobby, stats));
    let mut recent: Vec<&Event> = recent.take(EVENTS_CAUGHT_UP).collect();
    recent.reverse();
    if recent.is_empty() {
        return Ok(0);
    }
    let stored = entries(records, LoggedQueue::of(settings), SEARCHED_MAX).await?;
    let mut written = 0;
    for event in recent {
        for point in [TurningPoint::Lobby, TurningPoint::Start, TurningPoint::End, TurningPoint::Over] {
            if !is_due(rules, event, point, stats) || stored.iter().any(|entry| entry.is(event, point)) {
                continue;
            }
            let planned_at = planned_at(event, point);
            let opened_by_change = before.is_some_and(|before| was_closed(before, event, stats.now));
            let snapshot = Snapshot { opened_by_change, ..Snapshot::of_event(rules, event, stats) };
            let entry = Entry { event: event.id.clone(), point, planned_at, snapshot };
            let text = serde_json::to_string(&entry).map_err(|error| StoreError::Corrupt(error.to_string()))?;
            records.append(&LogName::EventSnapshots(LoggedQueue::of(settings)), &text).await?;
            written += 1;
        }
    }
    Ok(written)
}

/// The latest snapshots of a queue, oldest first. Entries that can't be read are left out.
async fn entries(records: &dyn RecordStore, queue: LoggedQueue, limit: usize) -> Result<Vec<Entry>, StoreError> {
    let entries = records.entries(&LogName::EventSnapshots(queue), None, limit).await?;
    Ok(entries.iter().rev().filter_map(|entry| serde_json::from_str(&entry.text).ok()).collect())
}

/// What a queue counted in a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// Start of the time.
    pub from: Micros,
    /// End of the time.
    pub to: Micros,
    /// Whether the numbers are all of the time: `false` if the state of the queue began in it, or if visitors may have joined
    /// before the first snapshot.
    pub complete: bool,
    /// Lobby tickets that were issued for the event; `None` for an event in order of arrival and for a queue.
    pub lobby_tickets: Option<u64>,
    /// The numbers.
    pub totals: Totals,
}

impl Report {
    /// The report of a queue since its state began.
    pub fn since_state_began(stats: &Stats) -> Self {
        let Snapshot { at, state_since, totals, .. } = Snapshot::of(stats);
        Self { from: state_since, to: at, complete: true, lobby_tickets: None, totals }
    }

    /// The report of an event up to its end, or up to now. `None` before its lobby opens, and for a suspended event.
    ///
    /// # Errors
    /// Returns the store's error.
    pub async fn of_event(
        records: &dyn RecordStore,
        settings: &Settings,
        event: &Event,
        stats: &Stats,
    ) -> Result<Option<Self>, StoreError> {
        let rules = &settings.line;
        let lobby_at = event.lobby_at().micros();
        if event.suspended || stats.now < lobby_at {
            return Ok(None);
        }
        let queue = LoggedQueue::of(settings);
        let kept = LogName::EventSnapshots(queue.clone()).max_entries();
        let entries = entries(records, queue, kept).await?;
        Ok(Some(report(event, &entries, &Snapshot::of_event(rules, event, stats))))
    }
}

/// The report of an event from these entries, oldest first.
fn report(event: &Event, entries: &[Entry], present: &Snapshot) -> Report {
    let point = |point| entries.iter().find(|entry| entry.is(event, point)).map(|entry| entry.snapshot);
    let (over, lobby_at) = (point(TurningPoint::Over), event.lobby_at().micros());
    let known = [TurningPoint::Lobby, TurningPoint::Start, TurningPoint::End].into_iter().filter_map(point);
    let snapshots: Vec<Snapshot> = known.chain([over.unwrap_or(*present)]).collect();
    let (first, last) = (snapshots[0], snapshots[snapshots.len() - 1]);
    // A state that began after the lobby opened has counted nothing else.
    let began_in_it = first.state_since > lobby_at;
    let mut totals = if began_in_it { first.totals } else { Totals::default() };
    // Nobody joins the line in the lobby of a draw.
    let joins_from = if event.order == EventOrder::Draw { event.starts_at.micros() } else { lobby_at };
    let mut complete = !began_in_it && (first.opened_by_change || first.at <= joins_from);
    for pair in snapshots.windows(2) {
        let [before, after] = pair else { continue };
        let is_same = before.state_since == after.state_since;
        complete &= is_same;
        // A new state counts from zero.
        let base = if is_same { before.totals } else { Totals::default() };
        totals = totals.plus(&after.totals.since(&base));
    }
    let from = if began_in_it { first.state_since } else { first.at };
    // The tickets of an event are counted from zero, and from zero again after a loss of data.
    let lobby_tickets = snapshots.iter().map(|snapshot| snapshot.lobby_tickets).max();
    let lobby_tickets = lobby_tickets.filter(|_| event.order == EventOrder::Draw);
    Report { from, to: last.at, complete, lobby_tickets, totals }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vestibule_core::Timestamp;

    use super::*;

    const LOBBY: u64 = 1_800_000_000;

    fn event() -> Event {
        let at = |seconds| Timestamp::of(Micros(0).add_seconds(LOBBY + seconds)).to_string();
        let settings = Settings::from_value(&json!({
            "id": "tour", "tenant": "acme", "hosts": ["*"], "quota": 1, "handover": { "kind": "check" }, "mode": "scheduled",
            "events": [{ "id": "sale", "lobby_at": at(0), "starts_at": at(600), "ends_at": at(1200), "order": "arrival" }],
        }));
        settings.unwrap().line.events[0].clone()
    }

    /// A snapshot this many seconds after the lobby opened, of a state that began at `since`.
    fn snapshot(seconds: u64, since: u64, joined: u64) -> Snapshot {
        let mut totals = Totals { counters: Counters { joined, ..Counters::default() }, ..Totals::default() };
        totals.waits.buckets[0] = joined;
        let at = |seconds| Micros(0).add_seconds(LOBBY + seconds);
        Snapshot {
            at: at(seconds),
            state_since: Micros(0).add_seconds(since),
            lobby_tickets: 0,
            opened_by_change: false,
            totals,
        }
    }

    fn entry(point: TurningPoint, snapshot: Snapshot) -> Entry {
        let event = event();
        Entry { planned_at: planned_at(&event, point), event: event.id, point, snapshot }
    }

    /// What was counted, whether it is complete, and the times after the lobby opened.
    fn figures(entries: &[Entry], present: Snapshot) -> (u64, bool, u64, u64) {
        let Report { from, to, complete, totals, .. } = report(&event(), entries, &present);
        assert_eq!(totals.counters.joined, totals.waits.buckets[0]);
        (totals.counters.joined, complete, from.seconds() - LOBBY, to.seconds() - LOBBY)
    }

    #[test]
    fn report_is_the_difference_of_first_and_last_snapshot() {
        let mut entries = vec![entry(TurningPoint::Lobby, snapshot(0, 5, 100))];
        assert_eq!(figures(&entries, snapshot(30, 5, 130)), (30, true, 0, 30), "up to now");
        entries.push(entry(TurningPoint::Start, snapshot(600, 5, 150)));
        entries.push(entry(TurningPoint::End, snapshot(1200, 5, 180)));
        assert_eq!(figures(&entries, snapshot(1300, 5, 190)), (90, true, 0, 1300));
        entries.push(entry(TurningPoint::Over, snapshot(1800, 5, 200)));
        assert_eq!(
            figures(&entries, snapshot(9000, 5, 900)),
            (100, true, 0, 1800),
            "visitors of later are not counted"
        );
        // The first snapshot of a turning point counts.
        entries.push(entry(TurningPoint::Lobby, snapshot(2000, 5, 500)));
        assert_eq!(figures(&entries, snapshot(9000, 5, 900)), (100, true, 0, 1800));
    }

    #[test]
    fn report_over_a_loss_of_data_is_incomplete() {
        let lobby = entry(TurningPoint::Lobby, snapshot(0, 5, 100));
        let lost = LOBBY + 700;
        assert_eq!(figures(std::slice::from_ref(&lobby), snapshot(900, lost, 7)), (7, false, 0, 900));
        let start = entry(TurningPoint::Start, snapshot(600, 5, 150));
        assert_eq!(figures(&[lobby, start], snapshot(900, lost, 7)), (57, false, 0, 900), "what is known is counted");
        let late = entry(TurningPoint::Lobby, snapshot(720, lost, 3));
        assert_eq!(figures(&[late], snapshot(900, lost, 7)), (7, false, 700, 900), "the snapshots were lost as well");
        let soon = entry(TurningPoint::Lobby, snapshot(40, LOBBY + 20, 3));
        assert_eq!(
            figures(&[soon], snapshot(900, LOBBY + 20, 7)),
            (7, false, 20, 900),
            "a loss just after the opening"
        );
    }

    #[test]
    fn report_with_a_late_first_snapshot_is_incomplete() {
        let lobby = |seconds| [entry(TurningPoint::Lobby, snapshot(seconds, 5, 100))];
        assert_eq!(figures(&lobby(0), snapshot(900, 5, 110)), (10, true, 0, 900));
        assert_eq!(figures(&lobby(1), snapshot(900, 5, 110)), (10, false, 1, 900));
        assert_eq!(figures(&[], snapshot(900, 5, 110)), (0, false, 900, 900));
        let by_change = Snapshot { opened_by_change: true, ..snapshot(1, 5, 100) };
        let opened = [entry(TurningPoint::Lobby, by_change)];
        assert_eq!(figures(&opened, snapshot(900, 5, 110)), (10, true, 1, 900), "nobody has joined before");
    }

    #[test]
    fn draw_report_counted_from_its_lobby_is_complete() {
        let event = Event { order: EventOrder::Draw, ..event() };
        let is_complete = |seconds| {
            let lobby = entry(TurningPoint::Lobby, snapshot(seconds, 5, 100));
            report(&event, &[lobby], &snapshot(900, 5, 110)).complete
        };
        assert_eq!([0, 600, 601].map(is_complete), [true, true, false]);
    }

    #[test]
    fn snapshots_of_other_times_are_not_used() {
        let mut earlier = entry(TurningPoint::Lobby, snapshot(0, 5, 40));
        earlier.planned_at -= 86_400;
        let postponed = entry(TurningPoint::Lobby, snapshot(0, 5, 100));
        assert_eq!(figures(&[earlier, postponed], snapshot(900, 5, 110)), (10, true, 0, 900));
    }

    #[test]
    fn lobby_tickets_are_the_most_that_were_counted() {
        let event = Event { order: EventOrder::Draw, ..event() };
        let with = |lobby_tickets, of: Snapshot| Snapshot { lobby_tickets, ..of };
        let entries = [
            entry(TurningPoint::Lobby, with(0, snapshot(0, 5, 100))),
            entry(TurningPoint::Start, with(70, snapshot(600, 5, 100))),
            entry(TurningPoint::End, with(3, snapshot(1200, LOBBY + 900, 8))),
        ];
        let present = with(0, snapshot(1300, LOBBY + 900, 9));
        assert_eq!(report(&event, &entries, &present).lobby_tickets, Some(70));
        assert_eq!(report(&event, &entries[..1], &with(12, present)).lobby_tickets, Some(12), "up to now");
        assert_eq!(report(&self::event(), &entries, &present).lobby_tickets, None, "in order of arrival");
    }

    #[test]
    fn snapshots_are_read_leniently() {
        let entry = entry(TurningPoint::Lobby, snapshot(0, 5, 100));
        let mut stored = serde_json::to_value(&entry).unwrap();
        stored["from_a_newer_version"] = 1.into();
        stored["counters"].as_object_mut().unwrap().remove("away");
        stored.as_object_mut().unwrap().remove("lobby_tickets");
        assert_eq!(serde_json::from_value::<Entry>(stored).unwrap(), entry);
    }
}
