//! Rule 7, recovery: the rules while a state may be incomplete.
//!
//! A store may come back empty or with an older state, or visitors could not be served for so long
//! that their presence expired. One mechanism covers all cases: for one `waiting_ttl` no newcomer
//! is admitted, so that tickets restore the order first; and for `active_ttl` slots are reserved
//! for active sessions that have not returned yet.

use super::continuity::{CLOCK_GRAIN, Census, Continuity, GAP_MIN, LostTime, Recovery, RecoveryTtls};
use super::presence::{ACTIVE_REFRESH_SHARE, Presence};
use super::state::Line;
use super::types::Witness;
use super::void_tickets::VoidTickets;
use super::{LineRules, PRESENCE_SHARE};
use crate::line::Ticket;
use crate::time::{MICROS_PER_SECOND, Micros};

impl Line {
    /// A ticket of a higher epoch shows that provisional rules are older than the rules that were
    /// in force, or, signed in a gap, that the state went back to before a reset. The higher epoch is
    /// adopted with a new revision, so that every process reads the settings again.
    pub(super) fn adopt_epoch(&mut self, now: Micros, ticket: &Ticket) {
        let proves = self.provisional || !ticket.is_new_from_lobby() && is_signed_in(self.gap_at(now), ticket);
        let is_newer = proves && ticket.epoch() > self.rules.epoch;
        if is_newer && now < ticket.signed_at().add_seconds(self.rules.hold_ttl) {
            let LineRules { revision, .. } = self.rules;
            let rules = LineRules { epoch: ticket.epoch(), revision: revision + 1, ..self.rules.clone() };
            // An operator's settings stay so.
            let provisional = self.provisional;
            *self = Self { provisional, restored: provisional, ..Self::new(rules, now, true) };
        }
    }

    /// First step of every visit: records the use of the state and checks for signs that it is
    /// incomplete.
    pub(super) fn check_continuity(&mut self, now: Micros, ticket: Option<&Ticket>, witness: &Witness) {
        self.note_use(now);
        // A ticket from the lobby was not signed by the store's clock, so it proves nothing about the state.
        let lost = ticket.filter(|it| !it.is_new_from_lobby()).and_then(|ticket| self.lost_time(ticket));
        // Silence proves nothing; that visitors could not be served does.
        let interruption = || self.open_silence(now).filter(|_| witness.unserved >= self.silence_min());
        if let Some(LostTime { from: known_at, until: lost_until, active, reached }) = lost.or_else(interruption) {
            let ttls = RecoveryTtls::of(&self.rules);
            self.recovery =
                Recovery { since: now, known: active, known_at, lost_until, reached, settled: active, ttls };
            (self.continuity.gap, self.continuity.silence) = Default::default();
        }
        // Unconfirmed tickets may have been collected by an attacker, so they are not used as
        // evidence.
        let carried = ticket.filter(|ticket| !ticket.is_unconfirmed()).and_then(Ticket::census);
        for census in [carried, witness.census].into_iter().flatten() {
            self.learn(now, census);
        }
    }

    /// The silence of which a visit may still tell that it was an interruption: the current one, or the last one for
    /// `waiting_ttl` after another process ended it with a visit that did not tell.
    pub(super) fn open_silence(&self, now: Micros) -> Option<LostTime> {
        let Continuity { used_at, waited, silence, .. } = self.continuity;
        if waited && self.is_silent(now) {
            Some(self.lost(used_at, now))
        } else {
            silence.filter(|silence| now < silence.until.add_seconds(self.rules.waiting_ttl))
        }
    }

    /// Whether there was no visit for so long that there may be an interruption, of which the next visit tells. Until then
    /// nobody is admitted: the visitors ahead may have expired only because they could not be served.
    pub(super) fn is_silent(&self, now: Micros) -> bool {
        now.since(self.continuity.used_at) >= self.silence_min()
    }

    /// The least time without visits that is an interruption if none could be served, in microseconds: waiting visitors
    /// near the front poll three times per `waiting_ttl`.
    fn silence_min(&self) -> u64 {
        self.rules.waiting_ttl * MICROS_PER_SECOND / 2
    }

    /// This time, with the numbers of the current state.
    fn lost(&self, from: Micros, until: Micros) -> LostTime {
        LostTime { from, until, active: self.active(), reached: self.reached }
    }

    /// Records the use of the state. If the clock stepped back, the state is re-anchored to now, so
    /// that nothing waits for it.
    pub(super) fn note_use(&mut self, now: Micros) {
        let used_at = self.continuity.used_at;
        if now < used_at {
            self.continuity = Continuity { used_at: now, stepped_back: true, ..Continuity::default() };
            self.state_since = self.state_since.min(now);
            self.bucket.reanchor(now);
            self.reanchor_attack_mode(now, used_at);
            self.recovery.since = self.recovery.since.min(now);
            self.void_tickets = VoidTickets::default();
            self.empty_since = self.empty_since.map(|since| since.min(now));
            return;
        }
        if now.since(used_at) < CLOCK_GRAIN {
            return;
        }
        let (gap, silence, waited) = (self.gap_at(now), self.open_silence(now), !self.order.is_empty());
        self.continuity = Continuity { used_at: now, gap, waited, silence, ..self.continuity };
    }

    /// The longest recent gap without use, if the state is used now.
    fn gap_at(&self, now: Micros) -> (Micros, Micros) {
        let Continuity { used_at, gap, .. } = self.continuity;
        if now < used_at {
            return Default::default();
        }
        let idle = now.since(used_at);
        let expired = now >= gap.1.add_seconds(self.rules.active_ttl);
        if idle >= GAP_MIN && (expired || idle > gap.1.since(gap.0)) { (used_at, now) } else { gap }
    }

    /// The time of which the state has no data, if a ticket of this epoch proves a loss: the ticket is older than the state,
    /// or was signed in a gap, so the state went back in time.
    fn lost_time(&self, ticket: &Ticket) -> Option<LostTime> {
        let gap = self.continuity.gap;
        let (from, until) = if ticket.signed_at() < self.state_since && self.recovery.since < self.state_since {
            (Micros(0), self.state_since)
        } else if is_signed_in(gap, ticket) {
            gap
        } else {
            return None;
        };
        Some(self.lost(from, until))
    }

    /// Adopts a later census from the time that the state does not know, which determines how many sessions are to return.
    fn learn(&mut self, now: Micros, census: Census) {
        let Recovery { since, known_at, lost_until, .. } = self.recovery;
        let of_before =
            census.at < since.min(lost_until) && since.since(census.at) < self.rules.active_ttl * MICROS_PER_SECOND;
        if self.reserving(now) && of_before && census.at > known_at {
            let Census { at: known_at, active: known, reached } = census;
            self.recovery = Recovery { known, known_at, reached, ..self.recovery };
        }
    }

    /// Whether the bearer of a ticket that says "waiting" was admitted before the recovery without
    /// noticing: they were present at the census, and the order of admission passed their arrival
    /// since the ticket was signed. It had passed it before for those who joined ahead of others or
    /// missed their turn, so that shows nothing. Their slot is reserved, unless `max_session` has
    /// ended it since.
    pub(super) fn was_admitted_before_recovery(&self, now: Micros, ticket: &Ticket) -> bool {
        let Recovery { known_at, reached, .. } = self.recovery;
        let signed_at = ticket.signed_at();
        let presence_ttl = self.rules.presence_ttl(signed_at, ticket.due());
        let present = signed_at < known_at && known_at < signed_at.add_seconds(presence_ttl);
        let was_reached_since =
            ticket.arrival() <= reached && ticket.census().is_some_and(|census| census.reached < ticket.arrival());
        let exceeded_max_session = Presence::admitted(known_at).exceeded_max_session(now, self.rules.max_session);
        self.reserving(now) && ticket.admitted_at().is_none() && present && was_reached_since && !exceeded_max_session
    }

    /// Whether newcomers are not admitted yet, so that the order is restored first.
    pub(super) fn recovering(&self, now: Micros) -> bool {
        self.is_in_recovery(now, self.recovery_ttls().waiting)
    }

    /// Rule 12: whether visitors far from the front may not have returned yet, so that ranks are too
    /// small to be shown.
    pub(super) fn restoring(&self, now: Micros) -> bool {
        let RecoveryTtls { waiting, hold, .. } = self.recovery_ttls();
        // Half of the longest presence TTL.
        self.is_in_recovery(now, waiting.max(hold / 4))
    }

    fn reserving(&self, now: Micros) -> bool {
        self.is_in_recovery(now, self.recovery_ttls().active)
    }

    /// Whether visitors whose positions are held may not have returned yet.
    pub(super) fn is_incomplete(&self, now: Micros) -> bool {
        self.is_in_recovery(now, self.recovery_ttls().hold)
    }

    fn recovery_ttls(&self) -> RecoveryTtls {
        RecoveryTtls::of(&self.rules).min(self.recovery.ttls)
    }

    /// Whether the recovery began less than this number of seconds ago.
    fn is_in_recovery(&self, now: Micros, seconds: u64) -> bool {
        self.recovery.since.0 > 0 && now < self.recovery.since.add_seconds(seconds)
    }

    /// The expiry of an unconfirmed ticket that would otherwise be `claim`. A session that could
    /// still claim its position at the census has `claim_ttl` from the start of the recovery.
    pub(super) fn claim_after_recovery(&self, now: Micros, ticket: &Ticket, claim: Micros) -> Micros {
        let Recovery { since, known_at, .. } = self.recovery;
        let was_good = known_at.0 > 0 && ticket.signed_at() < since && claim > known_at;
        if self.reserving(now) && was_good { claim.max(since.add_seconds(self.rules.claim_ttl)) } else { claim }
    }

    /// Slots reserved for active sessions that have not returned yet.
    pub(super) fn reserved(&self, now: Micros) -> u64 {
        if self.reserving(now) { self.recovery.known.saturating_sub(self.recovery.settled) } else { 0 }
    }

    /// Slots available to waiting sessions.
    pub(super) fn free_slots(&self, now: Micros) -> u64 {
        self.rules.quota.saturating_sub(self.active() + self.reserved(now))
    }

    /// An active session that was away since the recovery began has returned or left.
    pub(super) fn settle(&mut self, now: Micros) {
        self.recovery.settled += u64::from(self.reserving(now));
    }

    /// Keeps the slot of an expiring active session reserved if it had no visit since the recovery
    /// began: it may have had one in the lost data, or while it could not be served. The slot of a
    /// session that never claimed it is not kept.
    pub(super) fn keep_slot_of(&mut self, now: Micros, presence: &Presence) {
        let (since, (share, of)) = (self.recovery.since, ACTIVE_REFRESH_SHARE);
        let visited_until = since.0 + self.rules.active_ttl * MICROS_PER_SECOND * share / of;
        let had_no_visit = presence.since() < since && presence.expires_at.0 < visited_until;
        let claimed = presence.expires_at > presence.since().add_seconds(self.rules.claim_ttl);
        if self.reserving(now) && had_no_visit && claimed {
            self.recovery.settled = self.recovery.settled.saturating_sub(1);
        }
    }

    /// After the clock stepped back, shortens up to `limit` expiries that no visit could have set
    /// to what a visit would set now.
    pub(super) fn reanchor_expiries(&mut self, now: Micros, limit: usize) {
        if !self.continuity.stepped_back {
            return;
        }
        let longest = self.rules.longest_presence_ttl();
        let furthest = now.add_seconds(longest.max(self.rules.active_ttl));
        let ahead: Vec<_> =
            self.pool.iter().rev().take_while(|(due, _)| *due > furthest).take(limit).map(|(_, it)| *it).collect();
        for session in &ahead {
            let admitted_at = self.present.get(session).and_then(Presence::admitted_at);
            // The wait that was shown is not known here; the next visit shortens the expiry.
            let due = Some(now.add_seconds(PRESENCE_SHARE * longest));
            self.set_expiry(*session, self.expiry_after_visit(now, admitted_at, true, due));
        }
        self.continuity.stepped_back = ahead.len() == limit;
    }
}

/// Whether a ticket was signed in a gap.
fn is_signed_in((from, until): (Micros, Micros), ticket: &Ticket) -> bool {
    let signed_at = ticket.signed_at();
    signed_at.0 > from.0 + CLOCK_GRAIN && signed_at < until
}
