//! Rule 13: the phase of a scheduled queue. A pure function of rules, time and whether anybody
//! waits; no job runs when a phase begins.

use super::mode::Mode;
use super::rules::LineRules;
use crate::settings::{BetweenEvents, Event, EventOrder, Events};
use crate::time::{MICROS_PER_SECOND, Micros};

/// While it is not known who waits, an event counts as not over for at most this many seconds after its end: a day, longer than its
/// line lasts. After a loss of the state, visitors who still wait may be among those who have not returned yet.
pub const ENDING_MAX: u64 = 86_400;

/// What a scheduled queue does at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// No event takes place.
    Idle,
    /// The lobby of an event is open: from `lobby_at` to `starts_at`.
    Lobby,
    /// The draw of an event: from `starts_at` on, until `draw_seconds` after the order is drawn.
    Draw,
    /// The sale: from `starts_at`, or from the end of the draw, to `ends_at`.
    Running,
    /// The time after `ends_at` in which the line is admitted, at least `hold_ttl`.
    Ending,
}

crate::word_field!(Phase { Idle = "idle", Lobby = "lobby", Draw = "draw", Running = "running", Ending = "ending" });

impl Phase {
    /// All phases, in their order.
    pub const ALL: [Self; 5] = [Self::Idle, Self::Lobby, Self::Draw, Self::Running, Self::Ending];
}

/// The phase of a scheduled queue, and the event that it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CurrentPhase<'a> {
    /// The phase.
    pub phase: Phase,
    /// The current event; in [`Phase::Idle`] the next one, if there is any.
    pub event: Option<&'a Event>,
}

/// The last event whose lobby has opened.
fn latest(rules: &LineRules, now: Micros) -> Option<&Event> {
    rules.events.planned().rfind(|event| event.lobby_at().micros() <= now)
}

/// The phase of a queue that follows its events. `waiting` says whether the line has sessions.
///
/// The current event is the first one that is neither suspended nor over. An event is over when the
/// lobby of the next one opens, or `hold_ttl` after its end once the line is empty.
pub fn phase(rules: &LineRules, now: Micros, waiting: bool) -> CurrentPhase<'_> {
    let is_over = |event: &Event| {
        // A beacon can be recorded so late that the draw ends after the event.
        let is_drawing = event.draw_phase_ends_at().is_some_and(|end| now < end);
        !waiting && !is_drawing && now >= event.ends_at.micros().add_seconds(rules.hold_ttl)
    };
    if let Some(event) = latest(rules, now).filter(|event| !is_over(event)) {
        return CurrentPhase { phase: phase_of(event, now), event: Some(event) };
    }
    let next = rules.events.planned().find(|event| now < event.lobby_at().micros());
    CurrentPhase { phase: Phase::Idle, event: next }
}

/// The phase of the current event after its lobby has opened.
fn phase_of(event: &Event, now: Micros) -> Phase {
    if now < event.starts_at.micros() {
        Phase::Lobby
    } else if event.draw_phase_ends_at().is_some_and(|end| now < end) {
        Phase::Draw
    } else if now < event.ends_at.micros() {
        Phase::Running
    } else {
        Phase::Ending
    }
}

impl LineRules {
    /// Whether visitors of the last event may wait, if it is not known who does: its end is not longer ago than a line lasts.
    pub fn may_be_ending(&self, now: Micros) -> bool {
        let until = |event: &Event| event.ends_at.micros().add_seconds(ENDING_MAX);
        latest(self, now).is_some_and(|event| now < until(event))
    }

    /// The phase, if the queue follows its events.
    pub fn phase(&self, now: Micros, waiting: bool) -> Option<CurrentPhase<'_>> {
        (self.mode == Mode::Scheduled).then(|| phase(self, now, waiting))
    }

    /// The mode that the line follows now: the set mode, or for a scheduled queue that of its phase.
    pub fn effective_mode(&self, now: Micros, waiting: bool) -> Mode {
        let between = self.between_events.unwrap_or_default();
        let Some(CurrentPhase { phase, event }) = self.phase(now, waiting) else { return self.mode };
        let is_drawn = event.is_some_and(|event| event.order == EventOrder::Draw);
        match (phase, between) {
            (Phase::Idle, between) => between.mode(),
            (Phase::Lobby, _) if is_drawn => Mode::Lobby,
            (Phase::Lobby, _) => Mode::Paused,
            (Phase::Draw, _) => Mode::Draw,
            (Phase::Running, _) | (Phase::Ending, BetweenEvents::Bypass) => Mode::Open,
            (Phase::Ending, BetweenEvents::Closed) => Mode::Draining,
        }
    }

    /// When newcomers could come to the last event, if the queue follows its events and its lobby has opened; else 0.
    pub(super) fn lobby_opened_at(&self, now: Micros) -> Micros {
        let event = latest(self, now).filter(|_| self.mode == Mode::Scheduled);
        event.map_or(Micros(0), |event| event.lobby_at().micros())
    }

    /// When the wait of a session with this arrival began. Rule 15.9: a drawn arrival is an order and not a time; those
    /// visitors wait from the start of the sale on.
    pub(super) fn waits_since(&self, now: Micros, arrival: Micros) -> Micros {
        match self.draw(now) {
            Some((lobby_at, starts_at)) if (lobby_at..starts_at).contains(&arrival) => starts_at,
            _ => arrival,
        }
    }

    /// Rule 20.1: the arrival of a newcomer with a head start, behind everyone drawn in the current event.
    pub fn arrival_ahead(&self, now: Micros, arrival: Micros, head_start: u64) -> Micros {
        let drawn_until = self.draw(now).map(|(_, starts_at)| starts_at);
        drawn_until.map_or(arrival.ahead(head_start), |starts_at| arrival.ahead(head_start).max(starts_at))
    }

    /// When the lobby of the last event opened and when it ended, if the event has started with a draw. Drawn arrivals lie between,
    /// whatever mode the queue has since.
    fn draw(&self, now: Micros) -> Option<(Micros, Micros)> {
        let event = latest(self, now).filter(|event| event.order == EventOrder::Draw)?;
        let (lobby_at, starts_at) = (event.lobby_at().micros(), event.starts_at.micros());
        (starts_at <= now).then_some((lobby_at, starts_at))
    }

    /// The end of the draw phase of the last event whose lobby has opened, whatever the mode: its lobby tickets restore sessions
    /// from an instant before then on. 0 without a draw.
    pub(super) fn draw_phase_ends_at(&self, now: Micros) -> Micros {
        latest(self, now).and_then(Event::draw_phase_ends_at).unwrap_or_default()
    }

    /// These rules without the events: those of a queue that has this mode.
    #[must_use]
    pub fn in_mode(&self, mode: Mode) -> Self {
        Self { mode, between_events: None, events: Events::default(), ..self.clone() }
    }
}

impl Event {
    /// Seconds until the start, negative afterwards.
    pub fn starts_in(&self, now: Micros) -> f64 {
        seconds_until(self.starts_at.micros(), now)
    }

    /// Seconds until the draw is complete, negative afterwards; `None` for an event in order of arrival, and while the value of
    /// its beacon is missing.
    pub fn draw_ends_in(&self, now: Micros) -> Option<f64> {
        self.draw_ends_at().map(|end| seconds_until(end, now))
    }
}

fn seconds_until(instant: Micros, now: Micros) -> f64 {
    (instant.0 as f64 - now.0 as f64) / MICROS_PER_SECOND as f64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::settings::Settings;

    const LOBBY: &str = "2027-03-04T09:30:00Z";
    const START: &str = "2027-03-04T10:00:00Z";
    const END: &str = "2027-03-04T14:00:00Z";
    /// `hold_ttl` after the end.
    const OVER: &str = "2027-03-04T14:10:00Z";
    const NEXT_LOBBY: &str = "2027-03-04T17:30:00Z";

    fn ordered(between: &str, order: &str) -> LineRules {
        let event = |id: &str, starts_at: &str, ends_at: &str| json!({ "id": id, "starts_at": starts_at, "ends_at": ends_at, "order": order });
        let mut suspended = event("none", "2027-03-04T12:00:00Z", END);
        suspended["suspended"] = true.into();
        let settings = Settings::from_value(&json!({
            "id": "tour", "tenant": "acme", "hosts": ["*"], "quota": 1, "handover": { "kind": "check" },
            "mode": "scheduled", "between_events": between,
            "events": [
                suspended,
                event("first", START, END),
                event("second", "2027-03-04T18:00:00Z", "2027-03-04T20:00:00Z"),
            ],
        }));
        settings.unwrap().line
    }

    fn rules(between: &str) -> LineRules {
        ordered(between, "arrival")
    }

    fn at(time: &str, micros: i64) -> Micros {
        let time: crate::Timestamp = time.parse().unwrap();
        Micros(time.micros().0.saturating_add_signed(micros))
    }

    #[test]
    fn phases_begin_at_their_instants() {
        let rules = rules("bypass");
        let idle = (Phase::Idle, Some("first"));
        let until_next = (Phase::Idle, Some("second"));
        for (time, before, after) in [
            (LOBBY, idle, (Phase::Lobby, Some("first"))),
            (START, (Phase::Lobby, Some("first")), (Phase::Running, Some("first"))),
            (END, (Phase::Running, Some("first")), (Phase::Ending, Some("first"))),
            (OVER, (Phase::Ending, Some("first")), until_next),
            (NEXT_LOBBY, until_next, (Phase::Lobby, Some("second"))),
            ("2027-03-04T20:10:00Z", (Phase::Ending, Some("second")), (Phase::Idle, None)),
        ] {
            let current = |micros| {
                let CurrentPhase { phase, event } = phase(&rules, at(time, micros), false);
                (phase, event.map(|event| event.id.as_str()))
            };
            assert_eq!([current(-1), current(0), current(1)], [before, after, after], "{time}");
        }
    }

    #[test]
    fn draw_phase_follows_the_start_of_an_event_with_a_draw() {
        let rules = ordered("bypass", "draw");
        let (before, end) = (rules.effective_mode(at(START, -1), false), 30_000_000);
        assert_eq!((before, phase(&rules, at(START, -1), false).phase), (Mode::Lobby, Phase::Lobby));
        for (micros, expected) in
            [(0, (Mode::Draw, Phase::Draw)), (end - 1, (Mode::Draw, Phase::Draw)), (end, (Mode::Open, Phase::Running))]
        {
            let now = at(START, micros);
            assert_eq!((rules.effective_mode(now, true), phase(&rules, now, true).phase), expected, "{micros}");
        }
        assert_eq!(rules.effective_mode(at(LOBBY, -1), true), Mode::Bypass);
    }

    #[test]
    fn drawn_arrivals_count_from_the_start() {
        let rules = ordered("bypass", "draw");
        let since = |micros| rules.waits_since(at(START, 60_000_000), at(LOBBY, micros));
        let minutes = 30 * 60_000_000;
        assert_eq!(since(-1), at(LOBBY, -1), "joined before the lobby opened");
        assert_eq!([0, minutes - 1, minutes].map(since), [at(START, 0); 3]);
        assert_eq!(since(minutes + 1), at(START, 1), "joined after the start");
        let in_order = ordered("bypass", "arrival");
        assert_eq!(in_order.waits_since(at(START, 60_000_000), at(LOBBY, 1)), at(LOBBY, 1));
    }

    #[test]
    fn ending_outlasts_the_line_until_the_next_lobby() {
        let rules = rules("bypass");
        let current = |micros| phase(&rules, at(NEXT_LOBBY, micros), true);
        assert_eq!((current(-1).phase, current(-1).event.unwrap().id.as_str()), (Phase::Ending, "first"));
        assert_eq!((current(0).phase, current(0).event.unwrap().id.as_str()), (Phase::Lobby, "second"));
        assert_eq!(
            phase(&rules, at(LOBBY, -1), true).phase,
            Phase::Idle,
            "nobody waits for an event that has not begun"
        );
    }

    #[test]
    fn effective_modes_follow_the_phase() {
        for (between, idle, ending) in [("bypass", Mode::Bypass, Mode::Open), ("closed", Mode::Closed, Mode::Draining)]
        {
            let rules = rules(between);
            let modes = [at(LOBBY, -1), at(LOBBY, 0), at(START, 0), at(END, 0), at(OVER, 0)];
            let modes = modes.map(|now| rules.effective_mode(now, false));
            assert_eq!(modes, [idle, Mode::Paused, Mode::Open, ending, idle]);
            let set = LineRules { mode: Mode::Closed, ..rules };
            assert_eq!(set.effective_mode(at(START, 0), true), Mode::Closed, "a set mode overrides the events");
            assert_eq!(set.phase(at(START, 0), true), None);
        }
    }

    #[test]
    fn schedule_without_events_is_idle() {
        let rules = LineRules { events: Events::default(), ..rules("closed") };
        assert_eq!(phase(&rules, at(START, 0), true), CurrentPhase { phase: Phase::Idle, event: None });
    }

    #[test]
    fn seconds_to_the_start_become_negative() {
        let rules = rules("bypass");
        let event = phase(&rules, at(START, 0), false).event.unwrap();
        let left = |micros| event.starts_in(at(START, micros)).to_string();
        assert_eq!([left(-1_500_000), left(250_000)], ["1.5", "-0.25"]);
    }
}
