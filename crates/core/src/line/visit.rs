//! Visits: what a visitor's request does to the line, and what it is answered.

use super::newcomer::Newcomer;
use super::presence::Presence;
use super::state::Line;
use super::types::{RecognizedSession, SessionState, Visit, VisitAnswer, VisitKind};
use super::work::JoinRefusal;
use super::{Mode, Ticket};
use crate::SessionId;
use crate::time::Micros;

impl Line {
    /// Handles a visit: joins or returns, renews the presence, admits sessions, and returns the
    /// session's state. A read-only visit only admits sessions and reads.
    pub fn visit(&mut self, now: Micros, visit: &Visit) -> VisitAnswer {
        if self.mode(now) == Mode::Bypass && !self.may_have_waited(now) {
            return self.answer(now, None);
        }
        if let Some(ticket) = &visit.ticket {
            self.adopt_epoch(now, ticket);
        }
        let ticket = visit.ticket.as_ref().filter(|ticket| ticket.epoch() == self.rules.epoch);
        self.check_continuity(now, ticket, &visit.witness);
        self.start(now);
        self.advance_event_windows(now);
        let mut newcomer = Newcomer::of(visit, self.rules.epoch);
        let ticket = ticket.filter(|ticket| !self.is_void(now, ticket));
        let formed = self.order.is_empty();
        let visitor = if visit.read_only {
            ticket.and_then(|ticket| self.find_present(now, ticket))
        } else {
            let found = ticket.and_then(|ticket| self.find_or_restore(now, ticket));
            // The session of an invitation stays that of its code.
            let account = visit.account.filter(|_| ticket.is_none_or(|ticket| ticket.batch().is_none()));
            found.map(|found| self.hand_over(now, found, account))
        };
        let (visitor, needs_pre_ticket) = match visitor {
            None if !visit.read_only => self.enter(now, &mut newcomer),
            found => (found, false),
        };
        // Nobody is served by a read-only visit.
        let served = visitor.as_ref().filter(|_| !visit.read_only);
        if let Some(visitor) = served {
            self.refresh(now, visitor);
        }
        let is_full = self.is_full(now);
        let enters_lobby = visitor.is_none() && self.enters_lobby(now, ticket, &mut newcomer);
        let is_uninvited = self.needs_invitation(now, visit);
        let newly = |v: &RecognizedSession| matches!(v.kind, VisitKind::Joined | VisitKind::Restored);
        self.advance(now, served.map(|v| (v.session, v.confirmed, newly(v))));
        if formed && !self.order.is_empty() {
            self.form(now);
        }
        self.counters.pre_tickets_issued += visit.pre_tickets_issued;
        self.counters.identities_accepted += visit.identities.accepted;
        self.counters.identities_rejected += visit.identities.rejected;
        self.count_proofs(visit.proofs);
        let answer = self.answer(now, visitor.as_ref());
        let refusal = newcomer.refusal.map(|refusal| match refusal {
            JoinRefusal::Rejected(rejection) => VisitKind::Rejected(rejection),
            JoinRefusal::NeedsProof(difficulty) => VisitKind::NeedsProof(difficulty),
        });
        match answer.kind {
            VisitKind::Absent if refusal.is_some() => VisitAnswer { kind: refusal.unwrap_or(answer.kind), ..answer },
            VisitKind::Absent if enters_lobby => VisitAnswer { kind: VisitKind::Lobby, ..answer },
            VisitKind::Absent if visitor.is_none() && is_uninvited => {
                VisitAnswer { kind: VisitKind::InvitationRequired, ..answer }
            }
            VisitKind::Absent if visitor.is_none() && is_full => VisitAnswer { kind: VisitKind::Full, ..answer },
            VisitKind::Absent if needs_pre_ticket => VisitAnswer { kind: VisitKind::NeedsPreTicket, ..answer },
            _ => answer,
        }
    }

    /// Rule 14: in the lobby a newcomer is counted, and nothing else. Returns whether the visitor is in the lobby.
    fn enters_lobby(&mut self, now: Micros, ticket: Option<&Ticket>, newcomer: &mut Newcomer<'_>) -> bool {
        if self.mode(now) != Mode::Lobby {
            return false;
        }
        let from_lobby = ticket.is_some_and(Ticket::is_new_from_lobby);
        // The draw would not give its session back.
        let visit = newcomer.visit;
        let is_new = visit.join.is_some_and(|session| !from_lobby && !self.bars(now, visit, session));
        if !is_new || self.needs_invitation(now, visit) || self.is_blocked(now, newcomer) {
            return from_lobby;
        }
        let Some(event) = self.current_event(now) else { return from_lobby };
        *self.lobby_tickets.entry(event).or_default() += 1;
        true
    }

    /// Whether the line of an event may have become empty only because nobody could be served. A visit that may tell is handled as in
    /// the event.
    fn may_have_waited(&self, now: Micros) -> bool {
        let is_scheduled = self.rules.mode == Mode::Scheduled;
        is_scheduled && self.open_silence(now).is_some() && self.rules.may_be_ending(now)
    }

    /// Rule 1: the arrival of a newcomer at the end of the line.
    pub(super) fn next_arrival(&self, now: Micros) -> Micros {
        now.max(Micros(self.last_arrival.0 + 1))
    }

    /// Rules 1, 19, 20 and 22: a newcomer joins at this arrival unless the line is full or needs an invitation, an invited one
    /// ahead of it. The same id joins only once. `confirmed` says that the client came back with a token.
    pub(super) fn join(
        &mut self,
        now: Micros,
        newcomer: &mut Newcomer<'_>,
        session: SessionId,
        arrival: Micros,
        confirmed: bool,
    ) -> Option<RecognizedSession> {
        let visit = newcomer.visit;
        let visitor = |arrival, kind| RecognizedSession::without_ticket(session, arrival, kind, confirmed);
        // An account joins again under the same session after it has ended, once its slot is free.
        if self.bars(now, visit, session) {
            return None;
        }
        if let Some(presence) = self.present.get(&session) {
            let is_over = presence.admitted_at().is_some_and(|admitted_at| self.is_over(now, session, admitted_at));
            return (!is_over).then(|| visitor(presence.since(), VisitKind::Renewed));
        }
        if !self.mode(now).accepts_joins() || self.needs_invitation(now, visit) || !self.admits_join(now, newcomer) {
            return None;
        }
        let arrival = if newcomer.joins_late { self.next_arrival(now) } else { arrival };
        let head_start = visit.head_start.unwrap_or_default();
        // Invited visitors do not delay others who come now.
        if head_start == 0 {
            self.last_arrival = self.last_arrival.max(arrival);
        }
        let arrival = if head_start == 0 { arrival } else { self.rules.arrival_ahead(now, arrival, head_start) };
        self.insert(session, Presence::waiting(arrival));
        self.counters.joined += 1;
        Some(visitor(arrival, VisitKind::Joined))
    }

    fn answer(&self, now: Micros, visitor: Option<&RecognizedSession>) -> VisitAnswer {
        let session = visitor.and_then(|visitor| {
            let presence = self.present.get(&visitor.session)?;
            let admitted_at = presence.admitted_at();
            let position = if admitted_at.is_none() { self.rank(presence.since(), visitor.session) } else { 0 };
            let RecognizedSession { session: id, arrival, confirmed, .. } = *visitor;
            Some(SessionState { id, arrival, admitted_at, position, expires_at: presence.expires_at, confirmed })
        });
        VisitAnswer {
            now,
            revision: self.rules.revision,
            epoch: self.rules.epoch,
            mode: self.mode(now),
            kind: session.and(visitor).map_or(VisitKind::Absent, |visitor| visitor.kind),
            session,
            waiting: self.waiting(),
            active: self.active(),
            reached: self.reached,
            quota: self.rules.quota,
            recovering: self.recovering(now),
            restoring: self.restoring(now),
            attack_mode: self.attack_mode(now),
            pace: self.pace,
        }
    }
}
