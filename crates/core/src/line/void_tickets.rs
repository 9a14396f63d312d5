//! Tickets that stay void though a TTL was raised.

use serde::{Deserialize, Serialize};

use super::LineRules;
use crate::line::Ticket;
use crate::time::{MICROS_PER_SECOND, Micros};

/// Tickets that were no longer good when a TTL was raised, by the latest times of signing: they stay void. Otherwise visitors who lost
/// their positions long ago, or sessions whose tombstones have expired, would return ahead of those who wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct VoidTickets {
    /// Tickets of waiting sessions, by `hold_ttl`.
    pub(super) waiting: Micros,
    /// Tickets of active sessions, by `active_ttl`.
    pub(super) active: Micros,
    /// Tickets of sessions that are not confirmed, by `claim_ttl`.
    pub(super) unconfirmed: Micros,
}

impl VoidTickets {
    /// The same after a change of the rules.
    pub(super) fn after_change(self, now: Micros, before: &LineRules, after: &LineRules) -> Self {
        let latest = |latest: Micros, before: u64, after: u64| {
            let void = Micros(now.0.saturating_sub(before * MICROS_PER_SECOND));
            if after > before { latest.max(void) } else { latest }
        };
        Self {
            waiting: latest(self.waiting, before.hold_ttl, after.hold_ttl),
            active: latest(self.active, before.active_ttl, after.active_ttl),
            unconfirmed: latest(self.unconfirmed, before.claim_ttl, after.claim_ttl),
        }
    }

    /// Whether the ticket is one of them.
    pub(super) fn contain(self, ticket: &Ticket) -> bool {
        let latest = if ticket.admitted_at().is_some() { self.active } else { self.waiting };
        let signed_at = ticket.signed_at();
        signed_at <= latest || ticket.is_unconfirmed() && signed_at <= self.unconfirmed
    }
}
