//! Rules 2 to 4: admission.

use super::presence::Presence;
use super::state::Line;
use super::{ADVANCE_BATCH, Mode, RELEASE_BATCH};
use crate::SessionId;
use crate::time::Micros;

/// The result of one round of admissions.
#[derive(Default)]
pub(super) struct Admissions {
    pub(super) admitted: u64,
    /// The admitted sessions that had waited, as opposed to those admitted on arrival.
    waited: u64,
}

/// The session being served, which is present now: its id, whether it is confirmed, and whether it
/// has just joined the line.
pub(super) type CurrentVisit = (SessionId, bool, bool);

impl Line {
    /// Rule 2: while slots are free, the rate allows it and the line is not empty, the session with
    /// the lowest arrival is admitted.
    pub(super) fn advance(&mut self, now: Micros, current: Option<CurrentVisit>) -> u64 {
        let admissions = self.admit_next(now, current);
        self.save_pace(now, admissions.waited);
        admissions.admitted
    }

    /// Number of admissions that the rate allows now; `None` without a rate.
    pub(super) fn paid_admissions(&self, now: Micros) -> Option<u64> {
        let mut bucket = self.bucket;
        self.rules.rate().map(|rate| bucket.refill(now, rate))
    }

    fn admit_next(&mut self, now: Micros, current: Option<CurrentVisit>) -> Admissions {
        let free = self.free_slots(now);
        let halted = self.recovering(now) || self.is_silent(now);
        if !self.mode(now).admits() || free == 0 || self.order.is_empty() || halted {
            return Admissions::default();
        }
        let rate = self.rules.rate();
        let paid = rate.map_or(free, |rate| self.bucket.refill(now, rate));
        let most = free.min(paid).min(ADVANCE_BATCH as u64) as usize;
        let admissions = self.admit_from_head(now, most, ADVANCE_BATCH, current);
        if rate.is_some() {
            self.bucket.spend(admissions.admitted);
        }
        self.counters.admitted += admissions.admitted;
        admissions
    }

    /// Rule 10: admits the next `count` sessions (at most [`RELEASE_BATCH`]) regardless of quota,
    /// rate and pause. Returns their number; 0 while the order is drawn (rule 13.9).
    pub fn release(&mut self, now: Micros, count: u64) -> u64 {
        self.start(now);
        self.advance(now, None);
        if self.mode(now) == Mode::Draw {
            return 0;
        }
        let released = self.admit_from_head(now, count.min(RELEASE_BATCH as u64) as usize, RELEASE_BATCH, None);
        self.save_pace(now, 0);
        self.counters.released += released.admitted;
        released.admitted
    }

    /// Rule 10, for one session: admits it from any position, regardless of quota, rate and pause.
    /// Returns whether it was waiting; `false` while the order is drawn (rule 13.9).
    pub fn admit(&mut self, now: Micros, session: SessionId) -> bool {
        self.start(now);
        self.advance(now, None);
        let Some(presence) = self.present.get(&session).copied() else { return false };
        if presence.admitted_at().is_some() || presence.expires_at <= now || self.mode(now) == Mode::Draw {
            return false;
        }
        self.remove(session);
        self.insert(session, Presence::admitted(now));
        self.set_expiry(session, self.unclaimed_until(now));
        self.waits.count(self.rules.waits_since(now, presence.since()), now);
        self.counters.released += 1;
        true
    }

    /// Admits up to `most` sessions from the head of the line and examines at most `batch`. Expired
    /// sessions there are removed, so a closed tab at the head blocks no one.
    pub(super) fn admit_from_head(
        &mut self,
        now: Micros,
        most: usize,
        batch: usize,
        current: Option<CurrentVisit>,
    ) -> Admissions {
        let mut admissions = Admissions::default();
        for _ in 0..batch {
            if admissions.admitted as usize == most {
                break;
            }
            let Some((arrival, session)) = self.order.first().copied() else { break };
            if self.present.get(&session).is_none_or(|presence| presence.expires_at <= now) {
                self.remove_from_line(session);
                self.counters.expired_waiting += 1;
                continue;
            }
            self.remove(session);
            self.reached = self.reached.max(arrival);
            let own = current.filter(|(own, _, _)| *own == session);
            self.insert(session, Presence::admitted(now));
            let expires_at = match own {
                Some((_, confirmed, _)) => self.expiry_after_visit(now, Some(now), confirmed, None),
                None => self.unclaimed_until(now),
            };
            self.set_expiry(session, expires_at);
            self.waits.count(self.rules.waits_since(now, arrival), now);
            admissions.admitted += 1;
            admissions.waited += u64::from(!own.is_some_and(|(_, _, newly)| newly));
        }
        admissions
    }

    /// Expiry of a slot that was assigned at `admitted_at` and has not been claimed.
    fn unclaimed_until(&self, admitted_at: Micros) -> Micros {
        self.capped(admitted_at.add_seconds(self.rules.claim_ttl), Some(admitted_at))
    }
}
