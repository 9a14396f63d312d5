//! Who is present: a session is in the pool and in exactly one of line and places.

use super::answers::{Presentation, Removal};
use super::state::{Line, Visitor};
use crate::SessionId;
use crate::time::Micros;

/// Where a present session is, since when, and until when unless it is heard of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Presence {
    since: Micros,
    admitted: bool,
    /// Whether a ticket came back; only then is there a browser that keeps one.
    pub(super) confirmed: bool,
    pub(super) expires_at: Micros,
}

/// When a session lapses, in half microseconds: of two that lapse at one instant, the one whose ticket never came back
/// goes first.
pub(super) type Due = u64;

impl Presence {
    pub(super) const fn waiting(arrival: Micros) -> Self {
        Self { since: arrival, admitted: false, confirmed: false, expires_at: Micros(0) }
    }

    pub(super) const fn admitted(admitted_at: Micros) -> Self {
        Self { since: admitted_at, admitted: true, confirmed: false, expires_at: Micros(0) }
    }

    /// The same session, let in.
    pub(super) const fn admit(self, now: Micros) -> Self {
        Self { confirmed: self.confirmed, ..Self::admitted(now) }
    }

    /// The same session, whose ticket came back.
    pub(super) const fn with_ticket(self) -> Self {
        Self { confirmed: true, ..self }
    }

    const fn due(&self) -> Due {
        (2 * self.expires_at.0).saturating_sub(!self.confirmed as u64)
    }

    /// The arrival in line, the time of admission in places.
    pub(super) const fn since(&self) -> Micros {
        self.since
    }

    pub(super) fn admitted_at(&self) -> Option<Micros> {
        self.admitted.then_some(self.since)
    }

    /// Whether the place has lasted as long as `max_session` lets it.
    pub(super) fn outlived(&self, now: Micros, max_session: Option<u64>) -> bool {
        self.admitted && max_session.is_some_and(|most| self.since.plus_seconds(most) <= now)
    }
}

/// An expiry in line is moved once less than a half of its time is left: a visitor asks three times in that time, so
/// none lapses for it, and most polls of a long line leave the pool as it is.
pub const LINE_SLACK: (u64, u64) = (1, 2);
/// In places, where a visitor may be silent for minutes, once a sixteenth has gone.
pub const PLACES_SLACK: (u64, u64) = (15, 16);

impl Line {
    pub(super) fn insert(&mut self, session: SessionId, presence: Presence) {
        if presence.admitted_at().is_none() {
            self.order.insert((presence.since(), session));
        }
        self.pool.insert((presence.due(), session));
        self.present.insert(session, presence);
    }

    pub(super) fn remove(&mut self, session: SessionId) -> Removal {
        let Some(presence) = self.present.remove(&session) else { return Removal::WasAbsent };
        self.pool.remove(&(presence.due(), session));
        if presence.admitted_at().is_some() {
            return Removal::WasAdmitted;
        }
        self.order.remove(&(presence.since(), session));
        Removal::Waited
    }

    pub(super) fn set_expiry(&mut self, session: SessionId, expires_at: Micros) {
        if let Some(presence) = self.present.get_mut(&session) {
            self.pool.remove(&(presence.due(), session));
            presence.expires_at = expires_at;
            self.pool.insert((presence.due(), session));
        }
    }

    /// A ticket came back for the first time.
    fn confirm(&mut self, session: SessionId) {
        if let Some(presence) = self.present.get_mut(&session).filter(|presence| !presence.confirmed) {
            self.pool.remove(&(presence.due(), session));
            presence.confirmed = true;
            self.pool.insert((presence.due(), session));
            self.counters.confirmed += 1;
        }
    }

    /// Removes a session other than by admitting it. Who leaves the line moves those behind.
    pub(super) fn drop_out(&mut self, session: SessionId) -> Removal {
        let confirmed = self.present.get(&session).is_some_and(|presence| presence.confirmed);
        let removal = self.remove(session);
        self.gone += i64::from(removal == Removal::Waited && confirmed);
        removal
    }

    /// Rule 5: when a session that is heard of now lapses if nothing more is.
    pub(super) fn lapse(&self, now: Micros, admitted_at: Option<Micros>, confirmed: bool) -> Micros {
        let full = if admitted_at.is_some() { self.rules.active_ttl } else { self.rules.waiting_ttl };
        let ttl = if confirmed { full } else { full.min(self.rules.claim_ttl) };
        self.capped(now.plus_seconds(ttl), admitted_at)
    }

    /// `max_session` ends a place for good.
    pub(super) fn capped(&self, expires_at: Micros, admitted_at: Option<Micros>) -> Micros {
        match (admitted_at, self.rules.max_session) {
            (Some(admitted_at), Some(most)) => expires_at.min(admitted_at.plus_seconds(most)),
            _ => expires_at,
        }
    }

    /// Rule 5: a visit pushes the expiry ahead, unless it is still far ahead. In line a ticket that says so is believed, so
    /// that most polls need not look; where it is not, `present_until` is empty afterwards.
    pub(super) fn refresh(&mut self, now: Micros, visitor: &mut Visitor) {
        let Visitor { session, confirmed, .. } = *visitor;
        let Some(presence) = self.present.get(&session).copied() else { return };
        let target = self.lapse(now, presence.admitted_at(), confirmed);
        let (share, of) = if presence.admitted_at().is_some() { PLACES_SLACK } else { LINE_SLACK };
        let is_far = |expiry: Micros| expiry <= target && expiry.since(now) * of >= target.since(now) * share;
        let is_present = visitor.presentation == Presentation::Present;
        let waits = is_present && presence.admitted_at().is_none();
        visitor.present_until = visitor.present_until.filter(|until| waits && is_far(*until));
        if visitor.present_until.is_some() || is_present && !confirmed {
            return;
        }
        if confirmed {
            self.confirm(session);
        }
        if !is_present || !is_far(presence.expires_at) {
            self.set_expiry(session, target);
        }
    }

    /// A tombstone keeps the session's ticket from returning.
    pub(super) fn bury(&mut self, now: Micros, session: SessionId) {
        let until = now.plus_seconds(self.rules.tombstone_ttl());
        if let Some(before) = self.ended.insert(session, until) {
            self.tombstones.remove(&(before, session));
        }
        self.tombstones.insert((until, session));
    }

    pub(super) fn clear_tombstones(&mut self, now: Micros, limit: usize) -> u64 {
        let due: Vec<_> = self.tombstones.iter().take_while(|(until, _)| *until <= now).take(limit).copied().collect();
        for entry in &due {
            self.tombstones.remove(entry);
            self.ended.remove(&entry.1);
        }
        due.len() as u64
    }

    /// Rule 6: removes up to `limit` lapsed sessions.
    pub(super) fn reap(&mut self, now: Micros, limit: usize) -> u64 {
        let due: Vec<_> = self.pool.iter().take_while(|(due, _)| *due <= 2 * now.0).take(limit).copied().collect();
        for (_, session) in &due {
            self.lapse_now(now, *session);
        }
        due.len() as u64
    }

    fn lapse_now(&mut self, now: Micros, session: SessionId) {
        let outlived = self.present.get(&session).is_some_and(|found| found.outlived(now, self.rules.max_session));
        self.end_stay(now, session);
        match self.drop_out(session) {
            Removal::WasAdmitted if outlived => {
                self.bury(now, session);
                self.counters.ended += 1;
            }
            Removal::WasAdmitted => self.counters.expired_in_places += 1,
            Removal::Waited => self.counters.expired_in_line += 1,
            Removal::WasAbsent => {}
        }
    }
}
