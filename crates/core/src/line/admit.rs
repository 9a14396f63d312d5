//! Rules 2 to 4: who is let in, and when.

use super::ADVANCE_BATCH;
use super::presence::Presence;
use super::state::Line;
use crate::SessionId;
use crate::time::Micros;

/// What a round of admissions did.
#[derive(Default)]
pub(super) struct Promoted {
    pub(super) admitted: u64,
    /// Those of them who had waited for it, rather than found the door open.
    waited: u64,
}

/// The session that is being served: it is here now, whether a ticket came back, whether it came to the line just now.
pub(super) type Caller = (SessionId, bool, bool);

impl Line {
    /// Rule 2: while there are places, the rate allows it and the line is not empty, the lowest arrival moves to places.
    pub(super) fn advance(&mut self, now: Micros, caller: Option<Caller>) -> u64 {
        let promoted = self.admit_next(now, caller);
        self.keep_pace(now, promoted.waited);
        promoted.admitted
    }

    fn admit_next(&mut self, now: Micros, caller: Option<Caller>) -> Promoted {
        let free = self.free_slots(now);
        if !self.rules.mode.admits() || free == 0 || self.order.is_empty() || self.recovering(now) {
            return Promoted::default();
        }
        let paid = match self.rules.admissions_per_minute {
            Some(per_minute) => self.bucket.refill(now, per_minute),
            None => free,
        };
        let most = free.min(paid).min(ADVANCE_BATCH as u64) as usize;
        let promoted = self.promote(now, most, ADVANCE_BATCH, caller);
        if self.rules.admissions_per_minute.is_some() {
            self.bucket.spend(promoted.admitted);
        }
        self.counters.admitted += promoted.admitted;
        promoted
    }

    /// Rule 10, for one session: lets it in wherever it stands in the line, whatever quota, rate or pause say. Whether it
    /// waited.
    pub fn admit(&mut self, now: Micros, session: SessionId) -> bool {
        self.start(now);
        self.advance(now, None);
        let Some(presence) = self.present.get(&session).copied() else { return false };
        if presence.admitted_at().is_some() || presence.expires_at <= now {
            return false;
        }
        self.remove(session);
        self.insert(session, Presence::admitted(now));
        self.set_expiry(session, self.claim_ends(now));
        self.waits.count(presence.since(), now);
        self.counters.released += 1;
        true
    }

    /// Lets in up to `most` from the head of the line, looking at `batch` at most. Who lapsed there is removed instead:
    /// a closed tab at the head stops nobody.
    pub(super) fn promote(&mut self, now: Micros, most: usize, batch: usize, caller: Option<Caller>) -> Promoted {
        let mut promoted = Promoted::default();
        for _ in 0..batch {
            if promoted.admitted as usize == most {
                break;
            }
            let Some((arrival, session)) = self.order.first().copied() else { break };
            if self.present.get(&session).is_none_or(|presence| presence.expires_at <= now) {
                self.drop_out(session);
                self.counters.expired_in_line += 1;
                continue;
            }
            self.remove(session);
            self.reached = self.reached.max(arrival);
            let own = caller.filter(|(own, _, _)| *own == session);
            self.insert(session, Presence::admitted(now));
            let expires_at = match own {
                Some((_, confirmed, _)) => self.lapse(now, Some(now), confirmed),
                None => self.claim_ends(now),
            };
            self.set_expiry(session, expires_at);
            self.waits.count(arrival, now);
            promoted.admitted += 1;
            promoted.waited += u64::from(!own.is_some_and(|(_, _, newly)| newly));
        }
        promoted
    }

    /// Until when a place that was taken at `admitted_at` stands unclaimed.
    fn claim_ends(&self, admitted_at: Micros) -> Micros {
        self.capped(admitted_at.plus_seconds(self.rules.claim_ttl), Some(admitted_at))
    }
}
