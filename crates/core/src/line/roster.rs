//! Which sessions are present: a session is in the pool and in exactly one of the line and the active set.

use super::presence::{ACTIVE_REFRESH_SHARE, Presence, WAITING_REFRESH_SHARE};
use super::state::Line;
use super::types::{RecognizedSession, Removed, VisitKind};
use crate::SessionId;
use crate::time::Micros;

impl Line {
    pub(super) fn insert(&mut self, session: SessionId, presence: Presence) {
        if presence.admitted_at().is_none() {
            self.order.insert((presence.since(), session));
        }
        self.pool.insert((presence.expires_at, session));
        self.present.insert(session, presence);
    }

    pub(super) fn remove(&mut self, session: SessionId) -> Removed {
        let Some(presence) = self.present.remove(&session) else { return Removed::Absent };
        self.pool.remove(&(presence.expires_at, session));
        if presence.admitted_at().is_some() {
            return Removed::Active;
        }
        self.order.remove(&(presence.since(), session));
        Removed::Waiting
    }

    pub(super) fn set_expiry(&mut self, session: SessionId, expires_at: Micros) {
        if let Some(presence) = self.present.get_mut(&session) {
            self.pool.remove(&(presence.expires_at, session));
            presence.expires_at = expires_at;
            self.pool.insert((presence.expires_at, session));
        }
    }

    /// Whether the expiry shows that no ticket of this waiting session was ever returned: only a
    /// visit with a ticket extends it beyond `claim_ttl`.
    fn is_unconfirmed(&self, presence: &Presence) -> bool {
        presence.admitted_at().is_none() && presence.expires_at <= presence.since().add_seconds(self.rules.claim_ttl)
    }

    /// Removes a session other than by admission. A confirmed session that leaves the line moves
    /// those behind it.
    pub(super) fn remove_from_line(&mut self, session: SessionId) -> Removed {
        let confirmed = self.present.get(&session).is_some_and(|presence| !self.is_unconfirmed(presence));
        let removed = self.remove(session);
        self.movements.departures += i64::from(removed == Removed::Waiting && confirmed);
        removed
    }

    /// Rules 5 and 12: the expiry of a session that is visited now. `due` is when a waiting visitor
    /// expects the turn.
    pub(super) fn expiry_after_visit(
        &self,
        now: Micros,
        admitted_at: Option<Micros>,
        confirmed: bool,
        due: Option<Micros>,
    ) -> Micros {
        let full = if admitted_at.is_some() { self.rules.active_ttl } else { self.rules.presence_ttl(now, due) };
        let ttl = if confirmed { full } else { full.min(self.rules.claim_ttl) };
        self.capped(now.add_seconds(ttl), admitted_at)
    }

    /// Caps an expiry at `max_session`.
    pub(super) fn capped(&self, expires_at: Micros, admitted_at: Option<Micros>) -> Micros {
        match (admitted_at, self.rules.max_session) {
            (Some(admitted_at), Some(most)) => expires_at.min(admitted_at.add_seconds(most)),
            _ => expires_at,
        }
    }

    /// Rules 5 and 12: a visit with a ticket extends the expiry, unless most of the TTL is left.
    pub(super) fn refresh(&mut self, now: Micros, visitor: &RecognizedSession) {
        let RecognizedSession { session, confirmed, due, .. } = *visitor;
        let Some(presence) = self.present.get(&session).copied() else { return };
        let target = self.expiry_after_visit(now, presence.admitted_at(), confirmed, due);
        if visitor.kind != VisitKind::Renewed {
            self.set_expiry(session, target);
        } else if confirmed {
            // The first returned ticket confirms the session.
            let first = visitor.unconfirmed_until.is_some_and(|until| presence.expires_at <= until);
            self.counters.confirmed += u64::from(first);
            let (share, of) =
                if presence.admitted_at().is_some() { ACTIVE_REFRESH_SHARE } else { WAITING_REFRESH_SHARE };
            let expiry = presence.expires_at;
            let is_far = expiry <= target && expiry.since(now) * of >= target.since(now) * share;
            if first || !is_far {
                self.set_expiry(session, target);
            }
        }
    }

    /// Adds a tombstone, which says when the session ended and is kept for [`LineRules::tombstone_ttl`](super::LineRules). The end
    /// of an active session is never before its admission, though the clock stepped back. One that is there is never shortened: a
    /// visitor who leaves does not undo the end by an operator.
    pub(super) fn add_tombstone(&mut self, session: SessionId, ended_at: Micros) {
        let before = self.remove_tombstone(session);
        let ended_at = before.map_or(ended_at, |before| before.max(ended_at));
        self.ended.insert(session, ended_at);
        self.tombstones.insert((ended_at, session));
    }

    /// Removes a tombstone and returns when the session ended.
    pub(super) fn remove_tombstone(&mut self, session: SessionId) -> Option<Micros> {
        let ended_at = self.ended.remove(&session)?;
        self.tombstones.remove(&(ended_at, session));
        Some(ended_at)
    }

    /// When a tombstone expires.
    pub(super) fn tombstone_expiry(&self, ended_at: Micros) -> Micros {
        ended_at.add_seconds(self.rules.tombstone_ttl())
    }

    /// When the session ended, if its tombstone has not expired (rule 8).
    pub(super) fn ended_at(&self, now: Micros, session: SessionId) -> Option<Micros> {
        self.ended.get(&session).copied().filter(|ended_at| self.tombstone_expiry(*ended_at) > now)
    }

    /// Whether the session was ended and its tombstone has not expired (rule 8).
    pub(super) fn is_ended(&self, now: Micros, session: SessionId) -> bool {
        self.ended_at(now, session).is_some()
    }

    /// Whether an active session has ended and holds its slot until the last credential issued for it expires. The session of an
    /// account can have been admitted again after it ended.
    pub(super) fn is_over(&self, now: Micros, session: SessionId, admitted_at: Micros) -> bool {
        self.ended_at(now, session).is_some_and(|ended_at| admitted_at <= ended_at)
    }

    pub(super) fn clear_tombstones(&mut self, now: Micros, limit: usize) -> u64 {
        let is_due = |(ended_at, _): &&(Micros, SessionId)| self.tombstone_expiry(*ended_at) <= now;
        let due: Vec<_> = self.tombstones.iter().take_while(is_due).take(limit).copied().collect();
        for entry in &due {
            self.tombstones.remove(entry);
            self.ended.remove(&entry.1);
        }
        due.len() as u64
    }

    /// Rule 6: removes up to `limit` expired sessions.
    pub(super) fn reap(&mut self, now: Micros, limit: usize) -> u64 {
        let due: Vec<_> = self.pool.iter().take_while(|(due, _)| *due <= now).take(limit).copied().collect();
        for (_, session) in &due {
            self.expire_session(now, *session);
        }
        due.len() as u64
    }

    fn expire_session(&mut self, now: Micros, session: SessionId) {
        let Some(presence) = self.present.get(&session).copied() else { return };
        self.record_stay(now, session);
        // The session was ended before; its slot was held until its last credential expired.
        if presence.admitted_at().is_some_and(|admitted_at| self.is_over(now, session, admitted_at)) {
            self.remove(session);
            return;
        }
        let exceeded_max_session = presence.exceeded_max_session(now, self.rules.max_session);
        match self.remove_from_line(session) {
            Removed::Active if exceeded_max_session => {
                self.add_tombstone(session, now.max(presence.since()));
                self.counters.ended += 1;
            }
            Removed::Active => {
                self.counters.expired_active += 1;
                self.keep_slot_of(now, &presence);
            }
            Removed::Waiting => self.counters.expired_waiting += 1,
            Removed::Absent => {}
        }
    }
}
