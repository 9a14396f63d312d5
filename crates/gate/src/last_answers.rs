//! Scheduled queues that the store need not be asked about for a while. Between their events (rule 13.8), if `between_events` is
//! `bypass`, requests pass, so that a site does not depend on the store while it needs no queue. In a lobby (rule 14.3) visitors
//! with a lobby ticket see the countdown.

use std::collections::HashMap;

use parking_lot::Mutex;
use vestibule_core::line::{Mode, Phase, VisitAnswer, phase};
use vestibule_core::settings::{BetweenEvents, IDLE_USED_FOR, Settings};
use vestibule_core::{Micros, QueueId};

/// Time before the next lobby from which the store is asked again, in seconds.
const ASKED_BEFORE: u64 = 30;

/// Seconds for which the store's answer is used while the value of a beacon is missing: visitors ask as soon as a page has learned
/// that it was recorded.
const BEACON_USED_FOR: u64 = 5;

/// The store's last answers about scheduled queues. After an event, only the store knows whether somebody still waits.
#[derive(Default)]
pub(crate) struct LastAnswers(Mutex<HashMap<QueueId, LastAnswer>>);

/// What the store said about a queue.
#[derive(Clone, Copy)]
struct LastAnswer {
    /// Revision of the settings.
    revision: u64,
    /// When the store said so.
    at: Micros,
    /// The effective mode.
    mode: Mode,
    /// When the next lobby opens; the last instant if there is no further event.
    until: Micros,
}

impl LastAnswers {
    /// Remembers the store's answer.
    pub(crate) fn observe(&self, settings: &Settings, answer: &VisitAnswer) {
        let rules = &settings.line;
        if rules.mode != Mode::Scheduled || rules.revision != answer.revision {
            return;
        }
        let until = if answer.mode == Mode::Bypass { next_lobby(settings, answer.now) } else { Micros(u64::MAX) };
        let last = LastAnswer { revision: answer.revision, at: answer.now, mode: answer.mode, until };
        self.0.lock().insert(settings.id.clone(), last);
    }

    /// Whether the store has just confirmed that these settings are in force.
    pub(crate) fn confirms(&self, settings: &Settings, now: Micros) -> bool {
        let awaits_beacon = settings.line.events.planned().any(|event| event.awaits_beacon(now));
        let used_for = if awaits_beacon { BEACON_USED_FOR } else { IDLE_USED_FOR };
        settings.line.mode == Mode::Scheduled
            && self.last(settings).is_some_and(|last| now < last.at.add_seconds(used_for))
    }

    /// The end of the idle time in which requests bypass the queue at `now`; `None` if the queue is not known to be idle.
    pub(crate) fn bypassed_until(&self, settings: &Settings, now: Micros) -> Option<Micros> {
        let rules = &settings.line;
        if rules.mode != Mode::Scheduled || rules.between_events.unwrap_or_default() != BetweenEvents::Bypass {
            return None;
        }
        // Before the first event nobody can wait for it, and a day after the last one nobody does, unless the store has said so
        // while tickets from then can hold positions.
        let may_hold = |last: LastAnswer| last.mode != Mode::Bypass && now < last.at.add_seconds(rules.hold_ttl);
        let is_in_use = self.last(settings).is_some_and(may_hold);
        if phase(rules, now, is_in_use || rules.may_be_ending(now)).phase == Phase::Idle {
            return Some(next_lobby(settings, now));
        }
        self.idle(settings).filter(|idle| now < idle.until).map(|idle| idle.until)
    }

    /// Whether a request passes without a store call: the store has just said that the queue is idle, and the next lobby
    /// does not open soon.
    pub(crate) fn passes(&self, settings: &Settings, now: Micros) -> bool {
        let bypasses = self.bypassed_until(settings, now).is_some();
        self.idle(settings).is_some_and(|idle| {
            bypasses && now < idle.at.add_seconds(IDLE_USED_FOR) && now.add_seconds(ASKED_BEFORE) <= idle.until
        })
    }

    /// The last answer, if it said that the queue is idle.
    fn idle(&self, settings: &Settings) -> Option<LastAnswer> {
        self.last(settings).filter(|last| last.mode == Mode::Bypass)
    }

    /// The last answer, if it was given by these settings.
    fn last(&self, settings: &Settings) -> Option<LastAnswer> {
        let last = self.0.lock().get(&settings.id).copied();
        last.filter(|last| last.revision == settings.line.revision)
    }
}

fn next_lobby(settings: &Settings, now: Micros) -> Micros {
    let next = phase(&settings.line, now, false).event;
    next.map_or(Micros(u64::MAX), |event| event.lobby_at().micros())
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vestibule_core::line::{Line, Visit};
    use vestibule_core::{SessionId, Timestamp};

    use super::*;

    fn settings(between: &str) -> Settings {
        Settings::from_value(&json!({
            "id": "tour", "tenant": "acme", "hosts": ["*"], "quota": 0, "handover": { "kind": "check" },
            "mode": "scheduled", "between_events": between,
            "events": [
                { "id": "a", "starts_at": "2027-03-04T10:00:00Z", "ends_at": "2027-03-04T11:00:00Z", "order": "arrival" },
                { "id": "b", "starts_at": "2027-03-04T18:00:00Z", "ends_at": "2027-03-04T19:00:00Z", "order": "arrival" },
            ],
        }))
        .unwrap()
    }

    fn at(time: &str) -> Micros {
        time.parse::<Timestamp>().unwrap().micros()
    }

    #[test]
    fn queue_is_idle_before_its_first_event() {
        let answers = LastAnswers::default();
        let until = |between, time| answers.bypassed_until(&settings(between), at(time));
        assert_eq!(until("bypass", "2027-03-04T09:29:59Z"), Some(at("2027-03-04T09:30:00Z")));
        assert_eq!(until("bypass", "2027-03-04T09:30:00Z"), None);
        assert_eq!(until("closed", "2027-03-04T09:29:59Z"), None);
        assert!(!answers.passes(&settings("bypass"), at("2027-03-04T08:00:00Z")), "the store was not asked");
        let (settings, now) = (settings("bypass"), at("2027-03-04T09:29:20Z"));
        let answer = Line::new(settings.line.clone(), now, false).visit(now, &Visit::joining(SessionId::random()));
        answers.observe(&settings, &answer);
        assert!(answers.passes(&settings, at("2027-03-04T09:29:30Z")));
        assert!(!answers.passes(&settings, at("2027-03-04T09:29:31Z")), "the lobby opens in less than half a minute");
    }

    #[test]
    fn only_the_store_knows_that_an_event_is_over() {
        let (answers, settings, now) = (LastAnswers::default(), settings("bypass"), at("2027-03-04T11:30:00Z"));
        assert_eq!(answers.bypassed_until(&settings, now), None, "somebody may wait");
        let answer = Line::new(settings.line.clone(), now, false).visit(now, &Visit::joining(SessionId::random()));
        answers.observe(&settings, &answer);
        let next = at("2027-03-04T17:30:00Z");
        assert!(!answers.passes(&settings, at("2027-03-04T11:30:30Z")), "the store is asked every half minute");
        assert!(answers.passes(&settings, at("2027-03-04T11:30:29Z")));
        assert_eq!(answers.bypassed_until(&settings, now), Some(next));
        assert_eq!(answers.bypassed_until(&settings, next), None);
        let mut changed = settings.clone();
        changed.line.revision += 1;
        assert_eq!(answers.bypassed_until(&changed, now), None, "other settings");
        answers.observe(&settings, &VisitAnswer { mode: Mode::Open, ..answer });
        assert_eq!(answers.bypassed_until(&settings, now), None);
    }

    #[test]
    fn an_event_is_over_a_day_later_without_an_answer_of_the_store() {
        let (answers, settings, end) = (LastAnswers::default(), settings("bypass"), at("2027-03-05T19:00:00Z"));
        assert_eq!(answers.bypassed_until(&settings, Micros(end.0 - 1)), None, "somebody may wait");
        assert_eq!(answers.bypassed_until(&settings, end), Some(Micros(u64::MAX)));
        let answer = Line::new(settings.line.clone(), end, false).visit(end, &Visit::joining(SessionId::random()));
        answers.observe(&settings, &VisitAnswer { mode: Mode::Open, ..answer });
        assert_eq!(answers.bypassed_until(&settings, end), None, "somebody waits");
        let expired = end.add_seconds(settings.line.hold_ttl);
        assert_eq!(answers.bypassed_until(&settings, Micros(expired.0 - 1)), None);
        assert_eq!(answers.bypassed_until(&settings, expired), Some(Micros(u64::MAX)), "no ticket holds a position");
    }
}
