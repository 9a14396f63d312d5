//! What this process knows about whether its queues require pre-tickets, and those that it offers.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;
use vestibule_core::line::{VisitAnswer, delay_of};
use vestibule_core::settings::Settings;
use vestibule_core::{FirstVisit, JoinStep, MICROS_PER_SECOND, Micros, PreTicket, QueueId};

/// For how long after an answer of the store newcomers get pre-tickets without asking the store, in microseconds.
const REQUIRED_FOR: u64 = MICROS_PER_SECOND;
/// Seconds after which a newcomer asks again who may join without a proof of work, while too many others do.
const DELAYED_RETRY: u64 = 10;

/// What this process knows about its queues.
#[derive(Default)]
pub(crate) struct PreTickets(RwLock<HashMap<QueueId, Arc<Known>>>);

/// What this process knows about one queue. The numbers may be of different answers, as the next answer corrects them.
#[derive(Default)]
struct Known {
    /// Until when a pre-ticket is required, by the store's clock; 0 if it is not.
    required_until: AtomicU64,
    waiting: AtomicU64,
    active: AtomicU64,
}

impl PreTickets {
    fn of(&self, queue: &QueueId) -> Arc<Known> {
        if let Some(known) = self.0.read().get(queue) {
            return known.clone();
        }
        self.0.write().entry(queue.clone()).or_default().clone()
    }

    /// Learns from an answer of the store by these settings.
    pub(crate) fn observe(&self, settings: &Settings, answer: &VisitAnswer) {
        let known = self.of(&settings.id);
        let is_required = answer.requires_pre_ticket(&settings.line);
        let until = if is_required { answer.now.0 + REQUIRED_FOR } else { 0 };
        known.waiting.store(answer.waiting, Ordering::Relaxed);
        known.active.store(answer.active, Ordering::Relaxed);
        known.required_until.store(until, Ordering::Relaxed);
    }

    /// Numbers of waiting and active sessions if a pre-ticket is required at `now`: the store said so within the last second.
    pub(crate) fn required(&self, queue: &QueueId, now: Micros) -> Option<(u64, u64)> {
        let known = self.of(queue);
        let until = known.required_until.load(Ordering::Relaxed);
        // After a step back of the clock, the store is asked.
        let is_required = now.0 < until && until <= now.0 + REQUIRED_FOR;
        is_required.then(|| (known.waiting.load(Ordering::Relaxed), known.active.load(Ordering::Relaxed)))
    }
}

/// A pre-ticket that an answer carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PreTicketOffer {
    /// That of a first visit.
    First(FirstVisit),
    /// One that the visitor has, with changes.
    Again(PreTicket),
}

impl PreTicketOffer {
    /// What the newcomer has to do who gets this pre-ticket and has to prove work.
    pub(crate) fn prove(&self, settings: &Settings, now: Micros) -> Option<JoinStep> {
        let (first_visit, required, left) = match self {
            Self::First(visit) => (visit.at, visit.difficulty?, visit.difficulty?.into()),
            Self::Again(pre_ticket) => (pre_ticket.first_visit(), pre_ticket.difficulty()?, pre_ticket.work_left()),
        };
        let delay = delay_of(required.into());
        // If the time is over, too many joined so: try again soon, spread by the clock.
        let delayed_after = match delay.saturating_sub(now.since(first_visit) / MICROS_PER_SECOND) {
            0 => DELAYED_RETRY + now.0 % DELAYED_RETRY,
            left => left,
        };
        Some(JoinStep::Prove {
            difficulty: left,
            effort: settings.line.protection.proof_of_work.effort,
            challenge_url: format!("/_vestibule/challenge?queue={}", settings.id),
            delayed_after,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vestibule_core::SessionId;
    use vestibule_core::line::{Line, Visit};

    use super::*;

    const NOW: Micros = Micros(1_700_000_000_000_000);

    fn settings() -> Settings {
        Settings::from_value(&json!({
            "id": "tour", "tenant": "acme", "hosts": ["*"], "quota": 2, "handover": { "kind": "check" },
        }))
        .unwrap()
    }

    #[test]
    fn required_pre_tickets_are_known_for_a_second() {
        let (pre_tickets, settings) = (PreTickets::default(), settings());
        let mut line = Line::new(settings.line.clone(), NOW, false);
        let required = |micros: u64| pre_tickets.required(&settings.id, Micros(NOW.0 + micros));
        assert_eq!(required(0), None, "nothing is known yet");
        pre_tickets.observe(&settings, &line.visit(NOW, &Visit::default()));
        assert_eq!(required(0), None, "no slot is in use");
        pre_tickets.observe(&settings, &line.visit(NOW, &Visit::joining(SessionId::random())));
        assert_eq!([required(0), required(999_999), required(1_000_000)], [Some((0, 1)), Some((0, 1)), None]);
        let before = Micros(NOW.0 - 1);
        assert_eq!(pre_tickets.required(&settings.id, before), None, "the clock stepped back");
    }
}
