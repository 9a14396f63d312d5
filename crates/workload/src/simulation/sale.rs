//! The event of a plan: visitors of its lobby come before the start, and their order is drawn, or that of their arrival.

use serde_json::json;
use vestibule_core::line::{LineRules, Mode};
use vestibule_core::settings::{Event, EventOrder, LOBBY_DEFAULT, Settings};
use vestibule_core::{
    Draw, KeyList, LobbyTicket, MICROS_PER_SECOND, Micros, QueueId, SaleKeys, SessionId, Ticket, Timestamp,
};

/// Longest time that a plan looks ahead is shorter, so the event never ends in it.
const DURATION: u64 = 7 * 86_400;

/// An event to be simulated. It starts 30 minutes after the start of the simulation.
#[derive(Debug, Clone, Copy)]
pub struct Sale {
    /// Visitors who come in the 30 minutes before the start, at any time. The others come as the workload says, from the start on.
    pub lobby: u32,
    /// The order of admissions.
    pub order: EventOrder,
    /// Seconds after the start in which visitors of the lobby join the line in their drawn order, 10 to 600.
    pub draw_seconds: u64,
}

impl Sale {
    /// Seconds from the start of the simulation to the start of the sale.
    pub const STARTS_AFTER: u64 = LOBBY_DEFAULT;
}

/// An event in virtual time.
pub(super) struct VirtualSale {
    pub(super) event: Event,
    draw: Option<Draw>,
}

impl VirtualSale {
    /// The event of a queue whose simulation begins at `start`.
    #[expect(clippy::expect_used, reason = "the settings are constants but for a bounded number")]
    pub(super) fn new(sale: &Sale, queue: &QueueId, start: Micros) -> Self {
        let at = |seconds| Timestamp::of(start.add_seconds(seconds)).to_string();
        let mut event = json!({
            "id": "sale", "lobby_at": at(0), "starts_at": at(Sale::STARTS_AFTER), "ends_at": at(DURATION),
            "order": sale.order.as_str(), "key": "plan", "salt": "plan",
        });
        if sale.order == EventOrder::Draw {
            event["draw_seconds"] = sale.draw_seconds.into();
        }
        let settings = Settings::from_value(&json!({
            "id": queue.as_str(), "tenant": "plan", "hosts": ["*"], "quota": 0, "handover": { "kind": "check" },
            "events": [event],
        }));
        let event = settings.expect("valid settings").line.events[0].clone();
        let keys = SaleKeys::new(&KeyList::of_bytes("plan", [7; 32])).expect("a key of the right length");
        Self { draw: keys.draw(queue, &event), event }
    }

    /// The rules of a line that follows the event.
    pub(super) fn rules(&self, rules: &LineRules) -> LineRules {
        LineRules { mode: Mode::Scheduled, events: [self.event.clone()].into_iter().collect(), ..rules.clone() }
    }

    /// Seconds until the start if visitors are in the lobby of the draw at `now`.
    pub(super) fn lobby_ends_in(&self, now: Micros) -> Option<f64> {
        let left = self.event.starts_at.micros().since(now);
        (self.draw.is_some() && left > 0).then(|| left as f64 / MICROS_PER_SECOND as f64)
    }

    /// What a lobby ticket becomes at the start: the ticket of its session at the drawn arrival.
    pub(super) fn drawn(&self, ticket: &LobbyTicket) -> Option<Ticket> {
        Some(ticket.drawn(self.draw.as_ref()?, self.event.drawn_at()?, 0))
    }

    /// The number of a session in millionths.
    pub(super) fn number(&self, session: SessionId) -> Option<u32> {
        let number = self.draw.as_ref()?.number(session);
        Some(((u128::from(number.0) * 1_000_000) >> u64::BITS) as u32)
    }
}
