//! The complete state of a queue that a store exposes.

use std::collections::{HashMap, HashSet};

use futures_util::future::join_all;
use vestibule_core::line::{ListedSession, PageStart, SessionList, SessionLocation, Stats};
use vestibule_core::{Micros, QueueId, SessionId, Store};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Snapshot {
    pub(super) stats: Stats,
    /// Waiting sessions, in order.
    pub(super) line: Vec<ListedSession>,
    /// Active sessions: time of admission and expiry.
    pub(super) active: HashMap<SessionId, (Micros, Micros)>,
}

impl Snapshot {
    /// The current state. Every active session was waiting or active in `before`, or is `came`.
    pub(super) async fn take(
        store: &dyn Store,
        queue: &QueueId,
        before: Option<&Self>,
        came: Option<SessionId>,
    ) -> Self {
        let (stats, line) = Self::glance(store, queue).await;
        let mut known: HashSet<SessionId> = before.iter().flat_map(|before| before.sessions()).chain(came).collect();
        for entry in &line {
            known.remove(&entry.session);
        }
        let found = join_all(known.iter().map(async |session| store.find(queue, *session).await.unwrap())).await;
        let active = known.into_iter().zip(found).filter_map(|(session, found)| {
            let found = found?;
            let SessionLocation::Active { admitted_at } = found.state else { return None };
            Some((session, (admitted_at, found.expires_at)))
        });
        Self { active: active.collect(), stats, line }
    }

    /// The state without the active sessions.
    pub(super) async fn glance(store: &dyn Store, queue: &QueueId) -> (Stats, Vec<ListedSession>) {
        let mut stats = store.stats(queue).await.unwrap();
        // A line in memory does not save what it knows about joins, so copies of it forget that.
        stats.limits.client_address = None;
        (stats, read_line(store, queue).await)
    }

    pub(super) fn sessions(&self) -> impl Iterator<Item = SessionId> {
        self.line.iter().map(|entry| entry.session).chain(self.active.keys().copied())
    }

    /// Expiries of all present sessions, in a fixed order, so that a seed always produces the same
    /// run.
    pub(super) fn expiries(&self) -> Vec<Micros> {
        let waiting = self.line.iter().map(|entry| entry.expires_at);
        let mut expiries: Vec<Micros> =
            waiting.chain(self.active.values().map(|(_, expires_at)| *expires_at)).collect();
        expiries.sort_unstable();
        expiries
    }

    pub(super) fn arrival(&self, session: SessionId) -> Option<Micros> {
        self.line.iter().find(|entry| entry.session == session).map(|entry| entry.at)
    }
}

async fn read_line(store: &dyn Store, queue: &QueueId) -> Vec<ListedSession> {
    let (mut line, mut from) = (Vec::new(), Some(PageStart::default()));
    while let Some(cursor) = from {
        let page = store.page(queue, SessionList::Waiting, cursor, usize::MAX).await.unwrap();
        line.extend(page.entries);
        from = page.next;
    }
    line
}
