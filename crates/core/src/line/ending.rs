//! Rule 8: how sessions end.

use super::REAP_BATCH;
use super::state::Line;
use super::types::Removed;
use crate::SessionId;
use crate::line::Ticket;
use crate::time::{MICROS_PER_SECOND, Micros};

/// Who ends a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EndedBy {
    /// An operator: the session does not take part in the draw of an event whose lobby is open, whatever the mode.
    Operator,
    /// Its visitor.
    Visitor {
        /// Whether its tickets are valid for `claim_ttl` only, and so is the tombstone of a session that is not active.
        is_brief: bool,
        /// Whether its own ticket could have restored it to a slot.
        returned: bool,
    },
}

impl Line {
    /// Rule 8: ends the visitor's own session; its ticket can't return. The slot is free once the
    /// last credential has expired.
    pub fn leave(&mut self, now: Micros, ticket: &Ticket) -> Removed {
        if ticket.epoch() != self.rules.epoch || self.is_void(now, ticket) {
            return Removed::Absent;
        }
        let is_brief = ticket.is_unconfirmed() && !ticket.may_follow_an_end();
        let returned = ticket.admitted_at().is_some() && self.is_good(now, ticket);
        let removed = self.end_and_advance(now, ticket.session(), EndedBy::Visitor { is_brief, returned });
        self.counters.left += u64::from(removed != Removed::Absent);
        removed
    }

    /// Rule 8: an operator ends a session, present or away.
    pub fn end(&mut self, now: Micros, session: SessionId) -> Removed {
        let removed = self.end_and_advance(now, session, EndedBy::Operator);
        self.counters.ended += u64::from(removed != Removed::Absent);
        removed
    }

    /// Ends a session, present or away, and admits to what it frees.
    fn end_and_advance(&mut self, now: Micros, session: SessionId, by: EndedBy) -> Removed {
        self.start(now);
        self.clear_tombstones(now, REAP_BATCH);
        let removed = self.end_session(now, session, by);
        self.advance(now, None);
        removed
    }

    /// Ends a session, present or away.
    pub(super) fn end_session(&mut self, now: Micros, session: SessionId, by: EndedBy) -> Removed {
        let was_ended = self.is_ended(now, session);
        let presence = self.present.get(&session).copied();
        let admitted_at = presence.and_then(|presence| presence.admitted_at());
        let removed = match presence.map(|presence| (presence.admitted_at(), presence.expires_at)) {
            Some((Some(admitted_at), _)) if self.is_over(now, session, admitted_at) => Removed::Absent,
            Some((Some(_), expires_at)) => {
                let last_credential = now.add_seconds(self.rules.credential_ttl).min(expires_at);
                if last_credential > now {
                    self.set_expiry(session, last_credential);
                } else {
                    self.record_stay(now, session);
                    self.remove(session);
                }
                Removed::Active
            }
            Some((None, _)) => self.remove_from_line(session),
            None => {
                if matches!(by, EndedBy::Visitor { returned: true, .. }) && !was_ended {
                    self.settle(now);
                }
                Removed::Absent
            }
        };
        let ended_at = match (by, admitted_at) {
            // The session may be in the lobby, whose tickets restore it after the draw.
            (EndedBy::Operator, _) => now.max(admitted_at.unwrap_or(now)).max(self.rules.draw_phase_ends_at(now)),
            (EndedBy::Visitor { .. }, Some(admitted_at)) => now.max(admitted_at),
            // As if it had ended so long ago that only claim_ttl is left.
            (EndedBy::Visitor { is_brief: true, .. }, None) => {
                let expires_at = now.add_seconds(self.rules.claim_ttl);
                Micros(expires_at.0.saturating_sub(self.rules.tombstone_ttl() * MICROS_PER_SECOND))
            }
            (EndedBy::Visitor { is_brief: false, .. }, None) => now,
        };
        self.add_tombstone(session, ended_at);
        removed
    }

    /// Rule 8: the queue page was closed. The presence of a waiting session ends; its ticket still
    /// holds the position.
    pub fn away(&mut self, now: Micros, ticket: &Ticket) -> Removed {
        self.start(now);
        let session = ticket.session();
        let waits = self.present.get(&session).is_some_and(|presence| presence.admitted_at().is_none());
        let removed = if waits && ticket.epoch() == self.rules.epoch {
            self.counters.away += 1;
            self.remove_from_line(session)
        } else {
            Removed::Absent
        };
        self.advance(now, None);
        removed
    }
}
