//! Rule 24, one session per account: all visits of an account have the same session. Its ticket is void once the session has ended,
//! and the account may join again, at the end of the line.

use super::ending::EndedBy;
use super::newcomer::Newcomer;
use super::presence::Presence;
use super::state::Line;
use super::types::{RecognizedSession, Visit, VisitKind};
use crate::line::Ticket;
use crate::time::Micros;
use crate::{PreTicket, SessionId};

impl Line {
    /// Whether a ticket that can be younger than the end of its session was issued before it: that of an account, or a drawn one.
    /// Other tickets are void while there is a tombstone.
    pub(super) fn is_void(&self, now: Micros, ticket: &Ticket) -> bool {
        let ended_at = self.ended_at(now, ticket.session()).filter(|_| ticket.may_follow_an_end());
        ended_at.is_some_and(|ended_at| ticket.issued_at() <= ended_at)
    }

    /// Whether a newcomer can't join, or come to the lobby, under this session: it has ended. An account can under its own, unless the
    /// end is in the future, as that in the lobby of a draw is.
    pub(super) fn bars(&self, now: Micros, visit: &Visit, session: SessionId) -> bool {
        self.ended_at(now, session).is_some_and(|ended_at| visit.account != Some(session) || ended_at > now)
    }

    /// The present session of a ticket. An older ticket of the same account, from another device, moves it ahead to its arrival if
    /// it would restore the session there.
    pub(super) fn renewed(&mut self, now: Micros, ticket: &Ticket) -> RecognizedSession {
        let bearer = self.bearer(ticket, VisitKind::Renewed);
        let session = bearer.session;
        let waiting = self.present.get(&session).copied().filter(|presence| presence.admitted_at().is_none());
        let Some(presence) = waiting.filter(|_| ticket.is_of_account()) else { return bearer };
        if ticket.arrival() >= presence.since() || !self.is_good(now, ticket) {
            return RecognizedSession { arrival: presence.since(), ..bearer };
        }
        self.remove(session);
        self.insert(session, Presence::waiting(ticket.arrival()).until(presence.expires_at));
        bearer
    }

    /// The visitor as the account who signed in: the session of the account takes over the position or slot of the one that was
    /// found, which ends. If it is present itself, it keeps its own.
    pub(super) fn hand_over(
        &mut self,
        now: Micros,
        found: RecognizedSession,
        account: Option<SessionId>,
    ) -> RecognizedSession {
        let Some(account) = account.filter(|account| *account != found.session) else { return found };
        // An account that may not join yet leaves the visitor who they are.
        if self.ended_at(now, account).is_some_and(|ended_at| ended_at > now) {
            return found;
        }
        let Some(held) = self.present.get(&account).copied() else { return self.rename(now, found, account) };
        // Its slot is held for a last credential; the visitor stays who they are until then.
        if held.admitted_at().is_some_and(|admitted_at| self.is_over(now, account, admitted_at)) {
            return found;
        }
        self.end_session(now, found.session, EndedBy::Visitor { is_brief: false, returned: false });
        self.counters.left += 1;
        RecognizedSession::without_ticket(account, held.since(), VisitKind::Renewed, true)
    }

    /// Gives the position or slot of a session to the account. A slot that was assigned before an earlier session of the
    /// account ended is not that of the earlier session.
    fn rename(&mut self, now: Micros, found: RecognizedSession, account: SessionId) -> RecognizedSession {
        let Some(presence) = self.present.get(&found.session).copied() else { return found };
        if presence.admitted_at().is_some_and(|admitted_at| self.is_over(now, account, admitted_at)) {
            self.remove_tombstone(account);
        }
        self.remove(found.session);
        self.insert(account, presence);
        self.add_tombstone(found.session, presence.admitted_at().map_or(now, |admitted_at| now.max(admitted_at)));
        RecognizedSession { session: account, confirmed: true, ..found }
    }

    /// An account joins with a pre-ticket, whose own session ends: so its arrival counts for one account.
    pub(super) fn redeem_as(
        &mut self,
        now: Micros,
        newcomer: &mut Newcomer<'_>,
        pre_ticket: &PreTicket,
        account: SessionId,
    ) -> Option<RecognizedSession> {
        let source = pre_ticket.session();
        let is_over = |line: &Self, at: Option<Micros>| at.is_some_and(|at| line.is_over(now, source, at));
        let present = self.present.get(&source).copied().filter(|it| !is_over(self, it.admitted_at()));
        if let Some(presence) = present.filter(|_| source != account) {
            let found = RecognizedSession::without_ticket(source, presence.since(), VisitKind::Renewed, true);
            return Some(self.hand_over(now, found, Some(account)));
        }
        let is_spent = self.is_ended(now, source);
        if is_spent {
            newcomer.work.spend();
        }
        // A first visit from before the account's own session ended is worth what that was: the account joins again at the end.
        let own_end = self.ended_at(now, account);
        let is_later = own_end.is_none_or(|ended_at| pre_ticket.first_visit() > ended_at);
        let first_visit = self.first_arrival(now, pre_ticket).filter(|_| !is_spent && is_later);
        let arrival = first_visit.unwrap_or_else(|| self.next_arrival(now));
        let joined = self.join_confirmed(now, newcomer, account, arrival)?;
        if source != account && !is_spent {
            self.add_tombstone(source, now);
        }
        Some(joined)
    }
}
