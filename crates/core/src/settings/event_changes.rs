//! Rule 13: which changes of events are allowed, and what they do to the lobbies that are open.

use super::event::{Event, EventOrder};
use crate::fields::FieldErrorCode as Code;
use crate::line::{LineRules, Mode};
use crate::poll::lobby_retry;
use crate::time::Micros;
use crate::{FieldError, Message};

/// Seconds for which a gate uses the store's answer that a queue is idle: it lets requests pass without asking, so a change
/// of the settings applies within this time.
pub const IDLE_USED_FOR: u64 = 30;
/// Seconds after a draw in which visitors of the lobby should still be able to return to their drawn position.
const RETURN_MIN: u64 = 120;

impl Event {
    /// Whether visitors can have valid lobby tickets at `now`: from the opening of the lobby until `hold_ttl` seconds after the
    /// draw.
    fn may_have_lobby_tickets(&self, hold_ttl: u64, now: Micros) -> bool {
        let void_at = self.drawn_at().map_or(self.ends_at.micros(), |drawn_at| drawn_at.add_seconds(hold_ttl));
        self.order == EventOrder::Draw && self.lobby_at().micros() <= now && now < void_at
    }

    /// The locked fields (rule 13.7) that `after`, the same event after a change at `now`, has changed.
    fn locked_changes(&self, after: &Self, now: Micros) -> impl Iterator<Item = (&'static str, Code)> {
        let (has_lobby, has_started) = (self.lobby_at().micros() <= now, self.starts_at.micros() <= now);
        // A longer draw would begin again, after visitors were admitted.
        let was_drawn = self.draw_ends_at().is_some_and(|ends_at| ends_at <= now);
        let is_removed = self.beacon.is_some() && after.beacon.is_none();
        let is_decided = self.beacon_value.is_some() || self.missed_beacon(now);
        let changes = [
            ("lobby_at", has_lobby && self.lobby_at() != after.lobby_at(), Code::LobbyLocked),
            ("order", has_lobby && self.order != after.order, Code::LobbyLocked),
            ("salt", has_lobby && self.salt != after.salt, Code::LobbyLocked),
            ("key", has_lobby && self.key != after.key, Code::LobbyLocked),
            ("starts_at", has_started && self.starts_at != after.starts_at, Code::StartLocked),
            ("beacon", has_lobby && self.beacon != after.beacon && after.beacon.is_some(), Code::LobbyLocked),
            ("beacon", is_removed && is_decided, Code::BeaconLocked),
            ("draw_seconds", was_drawn && self.draw_seconds() != after.draw_seconds(), Code::DrawLocked),
        ];
        changes.into_iter().filter(|(_, is_changed, _)| *is_changed).map(|(field, _, fault)| (field, fault))
    }
}

/// Keeps the lobbies that are open at `now` where they are: an event whose `lobby_at` follows from its start has the stored one
/// when it is postponed.
pub fn keep_open_lobbies(before: &LineRules, after: &mut LineRules, now: Micros) {
    let open = before.events.iter().filter(|held| held.lobby_at().micros() <= now);
    let open: Vec<&Event> = open.collect();
    let mut events = after.events.to_vec();
    for event in events.iter_mut().filter(|event| event.lobby_at.is_none()) {
        let held = open.iter().find(|held| held.id == event.id).map(|held| held.lobby_at());
        event.lobby_at = held.filter(|lobby_at| *lobby_at != event.lobby_at() && event.can_open_at(*lobby_at));
    }
    after.events = events.into_iter().collect();
}

/// What a change of the settings does to the lobby of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LobbyEffect {
    /// Its lobby tickets become invalid.
    Void,
    /// Its order is drawn without the beacon.
    WithoutBeacon,
}

/// A lobby that a change affects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LobbyChange<'a> {
    /// The event, as it was before.
    pub event: &'a Event,
    /// What happens to its lobby.
    pub effect: LobbyEffect,
}

/// The events that can have valid lobby tickets at `now` and that a change removes or suspends, or ends before their draw, or whose
/// beacon it removes.
pub fn affected_lobbies<'a>(before: &'a LineRules, after: Option<&LineRules>, now: Micros) -> Vec<LobbyChange<'a>> {
    let effect_on = |event: &Event| {
        let kept = after.and_then(|after| after.events.planned().find(|kept| kept.id == event.id));
        match kept {
            None => Some(LobbyEffect::Void),
            Some(kept) if kept.missed_beacon(now) && !event.missed_beacon(now) => Some(LobbyEffect::Void),
            Some(kept) => (event.lacks_beacon_value() && kept.beacon.is_none()).then_some(LobbyEffect::WithoutBeacon),
        }
    };
    let open = before.events.planned().filter(|event| event.may_have_lobby_tickets(before.hold_ttl, now));
    open.filter_map(|event| Some(LobbyChange { event, effect: effect_on(event)? })).collect()
}

/// Records in `after` the beacons that a change at `now` removes from events that have started and wait for them. To be called
/// right before the change is written.
pub fn settle_removed_beacons(before: &LineRules, after: &mut LineRules, now: Micros) {
    let mut events = after.events.to_vec();
    for event in &mut events {
        if let Some(held) = before.events.iter().find(|held| held.id == event.id) {
            event.draw_at_removal(held, now);
        }
    }
    after.events = events.into_iter().collect();
}

/// What an event that did not exist before may not state: values that only the server records.
#[must_use]
pub fn invented_beacon_values(before: Option<&LineRules>, after: &LineRules) -> Vec<FieldError> {
    let is_new = |event: &Event| before.is_none_or(|before| before.events.iter().all(|held| held.id != event.id));
    let new = after.events.iter().enumerate().filter(|(_, event)| is_new(event));
    let stated = new.flat_map(|(index, event)| {
        let fields =
            [("beacon_value", event.beacon_value.is_some()), ("beacon_removed_at", event.beacon_removed_at.is_some())];
        fields.into_iter().filter(|(_, is_stated)| *is_stated).map(move |(field, _)| (index, field))
    });
    stated.map(|(index, field)| FieldError::new(format!("events[{index}].{field}"), Code::RecordedByServer)).collect()
}

/// The changes of `events` from `before` to `after` that the rules no longer allow at `now` (rule
/// 13.7): once the lobby of an event has opened, its `id`, `lobby_at` and `order` are fixed, once the
/// event has started, its `starts_at` as well, and once its draw is over, its `draw_seconds`. A suspended event in order of arrival
/// has no lobby.
#[must_use]
pub fn locked_event_changes(before: &LineRules, after: &LineRules, now: Micros) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let is_new = |event: &Event| before.events.iter().all(|held| held.id != event.id);
    // A suspended draw may have taken place or have lobby tickets.
    let is_fixed = |event: &&Event| !event.suspended || event.order == EventOrder::Draw;
    for held in before.events.iter().filter(is_fixed) {
        let Some(index) = after.events.iter().position(|event| event.id == held.id) else {
            // A new event at the same time would be the same event with another ID.
            let is_open = !held.suspended && held.lobby_at().micros() <= now && now < held.ends_at.micros();
            let same = after.events.iter().position(|event| is_new(event) && event.lobby_at() < held.ends_at);
            if let Some(index) = same.filter(|_| is_open) {
                errors.push(FieldError::new(format!("events[{index}].id"), Code::LobbyLocked));
            }
            continue;
        };
        let locked = held.locked_changes(&after.events[index], now);
        errors.extend(locked.map(|(field, fault)| FieldError::new(format!("events[{index}].{field}"), fault)));
    }
    errors
}

/// Events of `after` whose lobby opens so soon after a change at `now` that gates may not know it yet: until now, the queue
/// let all requests pass without asking the store.
#[must_use]
pub fn late_lobbies(before: &LineRules, after: &LineRules, now: Micros) -> Vec<FieldError> {
    if after.mode != Mode::Scheduled || before.effective_mode(now, false) != Mode::Bypass {
        return Vec::new();
    }
    let is_known = |event: &Event| {
        before.mode == Mode::Scheduled && before.events.planned().any(|held| held.lobby_at() == event.lobby_at())
    };
    let is_late = |event: &Event| {
        event.lobby_at().micros() < now.add_seconds(IDLE_USED_FOR) && now < event.ends_at.micros() && !is_known(event)
    };
    let late = after.events.iter().enumerate().filter(|(_, event)| !event.suspended && is_late(event));
    let fault = || Code::LobbySoon.with("seconds", IDLE_USED_FOR);
    late.map(|(index, _)| FieldError::new(format!("events[{index}].lobby_at"), fault())).collect()
}

/// Draws of `after` that a change at `now` moves so close that pages in the open lobby may learn of the start too late: they ask
/// again after up to a quarter of the time to the start, at most 240 seconds, and gates know the change after [`IDLE_USED_FOR`].
#[must_use]
pub fn hasty_starts(before: &LineRules, after: &LineRules, now: Micros) -> Vec<FieldError> {
    let learned_after = |event: &Event| {
        let held = before.events.planned().find(|held| held.id == event.id && held.lobby_at().micros() <= now)?;
        (event.starts_at < held.starts_at).then(|| lobby_retry(held.starts_in(now).max(0.0) as u64) + IDLE_USED_FOR)
    };
    let draws =
        after.events.iter().enumerate().filter(|(_, event)| !event.suspended && event.order == EventOrder::Draw);
    let hasty = draws.filter_map(|(index, event)| {
        let seconds = learned_after(event)?;
        let is_hasty = event.starts_at.micros() < now.add_seconds(seconds);
        is_hasty
            .then(|| FieldError::new(format!("events[{index}].starts_at"), Code::StartSoon.with("seconds", seconds)))
    });
    hasty.collect()
}

/// What prevents an event from taking place as planned, seen from `now`. Nothing for a suspended event.
#[must_use]
pub fn event_problems(rules: &LineRules, event: &Event, now: Micros) -> Vec<Message> {
    if event.suspended {
        return Vec::new();
    }
    if event.ends_at.micros() <= now {
        return vec![Code::EventPast.into()];
    }
    let is_short = event.order == EventOrder::Draw && rules.hold_ttl < event.draw_seconds() + RETURN_MIN;
    let problems = [
        (rules.mode != Mode::Scheduled, Code::NotScheduled),
        (rules.quota == 0, Code::QuotaZero),
        (is_short, Code::HoldTtlForDraw),
    ];
    problems.into_iter().filter(|(is_there, _)| *is_there).map(|(_, problem)| problem.into()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::Timestamp;
    use crate::settings::event::tests::{SPRING, sale, settings};
    use crate::settings::{BetweenEvents, Events};

    #[test]
    fn lobby_that_opens_soon_after_a_change_is_late() {
        let now = "2027-03-04T09:29:30Z".parse::<Timestamp>().unwrap().micros();
        let rules = |events: &Value| settings(events).line;
        let (none, sale_soon) = (rules(&json!([])), rules(&json!([sale("a", SPRING.0, SPRING.1)])));
        let late = |before: &LineRules, after: &LineRules, micros: u64| {
            let found = late_lobbies(before, after, Micros(now.0 + micros));
            found.into_iter().map(|error| error.to_string()).collect::<Vec<_>>()
        };
        assert!(late(&none, &sale_soon, 0).is_empty(), "gates ask again within 30 seconds");
        let text = "events[0].lobby_at: opens so soon after the change that gates can let requests pass for up to 30 more seconds";
        assert_eq!(late(&none, &sale_soon, 1), [text]);
        assert_eq!(late(&none, &sale_soon, 3_600_000_000), [text], "the event is running");
        assert!(late(&none, &sale_soon, 5 * 3_600_000_000).is_empty(), "the event is over");
        assert!(late(&sale_soon, &sale_soon, 1).is_empty(), "gates know it");
        let open = LineRules { mode: Mode::Open, ..sale_soon.clone() };
        assert!(late(&open, &sale_soon, 1).is_empty(), "gates ask the store");
        let bypass = LineRules { mode: Mode::Bypass, ..sale_soon.clone() };
        assert_eq!(late(&bypass, &sale_soon, 1), [text]);
        let closed = LineRules { between_events: Some(BetweenEvents::Closed), ..none };
        assert!(late(&closed, &sale_soon, 1).is_empty());
    }

    #[test]
    fn start_that_pages_learn_too_late_is_hasty() {
        let now = "2027-03-04T09:40:00Z".parse::<Timestamp>().unwrap().micros();
        let drawn = |starts_at: &str, order: &str| {
            let mut event = sale("a", starts_at, SPRING.1);
            event["lobby_at"] = json!("2027-03-04T09:30:00Z");
            event["order"] = json!(order);
            event["key"] = json!("s1");
            event["salt"] = json!("a");
            settings(&json!([event])).line
        };
        let before = drawn(SPRING.0, "draw");
        let hasty = |starts_at: &str| hasty_starts(&before, &drawn(starts_at, "draw"), now).len();
        assert_eq!(hasty("2027-03-04T09:44:29Z"), 1, "pages ask again after up to 240 seconds, gates after 30");
        assert_eq!(hasty("2027-03-04T09:44:30Z"), 0);
        assert_eq!(hasty(SPRING.0), 0, "the start stays");
        let by_arrival = drawn("2027-03-04T09:41:00Z", "arrival");
        assert!(hasty_starts(&drawn(SPRING.0, "arrival"), &by_arrival, now).is_empty(), "nobody is drawn");
    }

    #[test]
    fn postponed_event_keeps_its_open_lobby() {
        let before = settings(&json!([sale("a", SPRING.0, SPRING.1)])).line;
        let postponed = |starts_at: &str, now: &str, micros: i64| {
            let now = Micros(now.parse::<Timestamp>().unwrap().micros().0.saturating_add_signed(micros));
            let mut after = settings(&json!([sale("a", starts_at, "2027-03-06T14:00:00Z")])).line;
            keep_open_lobbies(&before, &mut after, now);
            (after.events[0].lobby_at().to_string(), locked_event_changes(&before, &after, now).len())
        };
        let lobby = "2027-03-04T09:30:00Z";
        assert_eq!(postponed("2027-03-04T11:00:00Z", lobby, -1), ("2027-03-04T10:30:00Z".to_owned(), 0));
        assert_eq!(postponed("2027-03-04T11:00:00Z", lobby, 0), (lobby.to_owned(), 0), "the lobby is open");
        assert_eq!(postponed("2027-03-05T09:30:00Z", lobby, 0), (lobby.to_owned(), 0));
        let too_late = ("2027-03-05T09:00:01Z".to_owned(), 1);
        assert_eq!(postponed("2027-03-05T09:30:01Z", lobby, 0), too_late, "a lobby is open for 24 hours at most");
        assert_eq!(postponed("2027-03-04T11:00:00Z", SPRING.0, 0).1, 1, "the start is locked");
        let mut same = before.clone();
        keep_open_lobbies(&before, &mut same, SPRING.0.parse::<Timestamp>().unwrap().micros());
        assert_eq!(same, before, "nothing is written that did not change");
    }

    #[test]
    fn end_before_a_missing_beacon_voids_the_lobby() {
        let at = |time: &str| time.parse::<Timestamp>().unwrap().micros();
        let drawn = |ends_at: &str| {
            let mut event = sale("a", SPRING.0, ends_at);
            event["order"] = json!("draw");
            event["key"] = json!("s1");
            event["salt"] = json!("a");
            event["draw_seconds"] = json!(300);
            event["beacon"] = json!("drand-quicknet");
            settings(&json!([event])).line
        };
        let (before, now) = (drawn(SPRING.1), at("2027-03-04T10:10:00Z"));
        let effect =
            |after: &LineRules| affected_lobbies(&before, Some(after), now).first().map(|change| change.effect);
        assert_eq!(effect(&drawn("2027-03-04T10:09:00Z")), Some(LobbyEffect::Void));
        assert_eq!(effect(&drawn("2027-03-04T15:00:00Z")), None, "it waits for its beacon");
    }

    #[test]
    fn fields_are_locked_by_phase() {
        let before = settings(&json!([sale("a", SPRING.0, SPRING.1)])).line;
        let changed = |lobby_at: &str, starts_at: &str, ends_at: &str| {
            let event = json!({ "id": "a", "name": "New", "lobby_at": lobby_at, "starts_at": starts_at, "ends_at": ends_at, "order": "arrival" });
            settings(&json!([event])).line
        };
        let locked = |after: &LineRules, now: &str, micros: i64| {
            let now = Micros(now.parse::<Timestamp>().unwrap().micros().0.saturating_add_signed(micros));
            let errors = locked_event_changes(&before, after, now);
            errors.into_iter().map(|error| error.field).collect::<Vec<_>>()
        };
        let lobby = changed("2027-03-04T09:40:00Z", SPRING.0, SPRING.1);
        assert!(locked(&lobby, "2027-03-04T09:30:00Z", -1).is_empty());
        assert_eq!(locked(&lobby, "2027-03-04T09:30:00Z", 0), ["events[0].lobby_at"]);
        let start = changed("2027-03-04T09:30:00Z", "2027-03-04T10:10:00Z", SPRING.1);
        assert!(locked(&start, SPRING.0, -1).is_empty(), "an event can be postponed until it starts");
        assert_eq!(locked(&start, SPRING.0, 0), ["events[0].starts_at"]);
        let end = changed("2027-03-04T09:30:00Z", SPRING.0, "2027-03-04T15:00:00Z");
        assert!(locked(&end, SPRING.1, 0).is_empty(), "name and end are free");
        assert!(locked(&LineRules { events: Events::default(), ..before.clone() }, SPRING.1, 0).is_empty());
        let renamed = settings(&json!([sale("b", SPRING.0, SPRING.1)])).line;
        assert!(locked(&renamed, "2027-03-04T09:30:00Z", -1).is_empty());
        assert_eq!(locked(&renamed, "2027-03-04T09:30:00Z", 0), ["events[0].id"]);
    }

    #[test]
    fn length_of_a_draw_is_locked_after_its_end() {
        let drawn = |seconds: u64, ends_at: &str| {
            let mut event = sale("a", SPRING.0, ends_at);
            (event["order"], event["key"], event["salt"]) = (json!("draw"), json!("s1"), json!("a"));
            event["draw_seconds"] = json!(seconds);
            settings(&json!([event])).line
        };
        let before = drawn(30, SPRING.1);
        let locked = |after: &LineRules, now: &str| {
            let errors = locked_event_changes(&before, after, now.parse::<Timestamp>().unwrap().micros());
            errors.into_iter().map(|error| error.to_string()).collect::<Vec<_>>()
        };
        assert!(locked(&drawn(600, SPRING.1), "2027-03-04T10:00:29Z").is_empty(), "the draw is not over");
        let text = ["events[0].draw_seconds: cannot be changed after the draw; visitors have been admitted"];
        for seconds in [10, 600] {
            assert_eq!(locked(&drawn(seconds, SPRING.1), "2027-03-04T10:00:30Z"), text);
        }
        assert!(locked(&drawn(30, "2027-03-04T15:00:00Z"), "2027-03-04T10:00:30Z").is_empty());
    }
}
