//! Sessions as operators see them.

use super::state::Line;
use super::types::{ListedSession, LocatedSession, PageStart, SessionList, SessionLocation, SessionPage};
use super::{PAGE_MAX, PAGE_SKIP_MAX};
use crate::SessionId;
use crate::time::{MICROS_PER_SECOND, Micros};

impl Line {
    /// Looks up a session. Does not change the state.
    pub fn find(&self, now: Micros, session: SessionId) -> Option<LocatedSession> {
        let is_over = |admitted_at| self.is_over(now, session, admitted_at);
        if let Some(presence) = self.present.get(&session).filter(|it| !it.admitted_at().is_some_and(is_over)) {
            let state = match presence.admitted_at() {
                Some(admitted_at) => SessionLocation::Active { admitted_at },
                None => SessionLocation::Waiting {
                    arrival: presence.since(),
                    position: self.rank(presence.since(), session),
                },
            };
            return Some(LocatedSession { state, expires_at: presence.expires_at });
        }
        let expires_at = self.tombstone_expiry(self.ended_at(now, session)?);
        Some(LocatedSession { state: SessionLocation::Ended, expires_at })
    }

    /// A page of up to `limit` (at most [`PAGE_MAX`]) sessions of a list. Does not change the state.
    /// Sessions in the list of active ones that have ended, and hold their slot for a last
    /// credential, are left out. O(log n + `limit`); the list of active sessions takes O(n log n).
    pub fn page(&self, now: Micros, list: SessionList, start: PageStart, limit: usize) -> SessionPage {
        let first = (start.at, SessionId::from_bytes([0; SessionId::SIZE]));
        match list {
            SessionList::Waiting => self.page_of(now, list, start, limit, self.order.range(first..).copied()),
            SessionList::Active => {
                let active = self.present.iter().filter_map(|(session, it)| Some((it.admitted_at()?, *session)));
                let mut active: Vec<_> = active.filter(|entry| *entry >= first).collect();
                active.sort_unstable();
                self.page_of(now, list, start, limit, active)
            }
            SessionList::Ended => {
                // The entries to skip are forgotten by now.
                let skip = if start.at <= now { 0 } else { start.skip };
                let ttl = self.rules.tombstone_ttl() * MICROS_PER_SECOND;
                let first = (Micros(start.at.0.saturating_sub(ttl)), first.1);
                let expiries =
                    self.tombstones.range(first..).map(|(at, session)| (self.tombstone_expiry(*at), *session));
                let valid = expiries.skip_while(|(until, _)| *until <= now);
                self.page_of(now, list, PageStart { skip, ..start }, limit, valid)
            }
        }
    }

    fn page_of(
        &self,
        now: Micros,
        list: SessionList,
        start: PageStart,
        limit: usize,
        found: impl IntoIterator<Item = (Micros, SessionId)>,
    ) -> SessionPage {
        let limit = limit.min(PAGE_MAX);
        let found = found.into_iter().skip(start.skip.min(PAGE_SKIP_MAX) as usize).take(limit + 1);
        let mut found: Vec<_> = found.collect();
        let next = found.get(limit).map(|(at, _)| {
            let same = found[..limit].iter().filter(|(other, _)| other == at).count() as u64;
            PageStart { at: *at, skip: if *at == start.at { start.skip + same } else { same } }
        });
        found.truncate(limit);
        let listed = |(at, session): (Micros, SessionId)| {
            let expires_at = match list {
                SessionList::Ended => at,
                SessionList::Waiting | SessionList::Active => self.present.get(&session)?.expires_at,
            };
            let is_ended = list == SessionList::Active && self.is_over(now, session, at);
            (!is_ended).then_some(ListedSession { session, at, expires_at })
        };
        SessionPage { entries: found.into_iter().filter_map(listed).collect(), next }
    }
}
