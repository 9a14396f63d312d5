//! Which parts of Redis answer at all. A part is a hash slot of a cluster, or the one server.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

/// Operations that still try where nothing succeeds; all others fail at once.
const PROBES: usize = 16;

/// Instants are milliseconds since the store was made, and 0 is never.
#[derive(Default)]
struct Part {
    last_success: AtomicU64,
    failing_since: AtomicU64,
}

/// What is known of every part.
pub(crate) struct Health {
    began: Instant,
    parts: Vec<Part>,
    probes: Semaphore,
}

/// An operation that may try.
pub(crate) struct Attempt<'a> {
    part: &'a Part,
    pub(crate) started: Instant,
    _probe: Option<SemaphorePermit<'a>>,
}

/// What an operation that got no answer has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Others of that time were answered.
    Nothing,
    /// Nothing was answered for as long as it waited.
    FailingNow,
    /// Nothing has been answered for this long.
    FailingFor(Duration),
}

impl Health {
    pub(crate) fn new(parts: usize) -> Self {
        let parts = std::iter::repeat_with(Part::default).take(parts).collect();
        Self { began: Instant::now(), parts, probes: Semaphore::new(PROBES) }
    }

    /// How many parts there are.
    pub(crate) fn parts(&self) -> usize {
        self.parts.len()
    }

    fn millis(&self, instant: Instant) -> u64 {
        1 + instant.saturating_duration_since(self.began).as_millis() as u64
    }

    /// Lets an operation try, unless nothing succeeds there and enough others try already.
    pub(crate) fn attempt(&self, part: usize) -> Option<Attempt<'_>> {
        let part = self.parts.get(part)?;
        let failing = part.failing_since.load(Ordering::Relaxed) > 0;
        let probe = if failing { Some(self.probes.try_acquire().ok()?) } else { None };
        Some(Attempt { part, started: Instant::now(), _probe: probe })
    }

    /// The server answered.
    pub(crate) fn answered(&self, attempt: &Attempt<'_>) {
        let part = attempt.part;
        part.last_success.store(self.millis(Instant::now()), Ordering::Relaxed);
        if part.failing_since.load(Ordering::Relaxed) > 0 {
            part.failing_since.store(0, Ordering::Relaxed);
        }
    }

    /// The server did not answer in time.
    pub(crate) fn silent(&self, attempt: &Attempt<'_>) -> Shown {
        let (part, now) = (attempt.part, self.millis(Instant::now()));
        let since = part.failing_since.load(Ordering::Relaxed);
        if since > 0 {
            Shown::FailingFor(Duration::from_millis(now.saturating_sub(since)))
        } else if part.last_success.load(Ordering::Relaxed) < self.millis(attempt.started) {
            part.failing_since.store(now, Ordering::Relaxed);
            Shown::FailingNow
        } else {
            Shown::Nothing
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_slow_answer_among_others_shows_nothing() {
        let health = Health::new(1);
        let (slow, quick) = (health.attempt(0).unwrap(), health.attempt(0).unwrap());
        advance(Duration::from_millis(100)).await;
        health.answered(&quick);
        advance(Duration::from_millis(150)).await;
        assert_eq!(health.silent(&slow), Shown::Nothing);
        assert_eq!((0..1000).filter_map(|_| health.attempt(0)).count(), 1000, "all may try");
    }

    #[tokio::test(start_paused = true)]
    async fn few_try_where_nothing_succeeds_until_one_does() {
        let health = Health::new(2);
        let attempt = health.attempt(0).unwrap();
        advance(Duration::from_millis(250)).await;
        assert_eq!(health.silent(&attempt), Shown::FailingNow);
        let probes: Vec<_> = (0..100).filter_map(|_| health.attempt(0)).collect();
        assert_eq!(probes.len(), PROBES);
        assert!(health.attempt(1).is_some(), "the other part is not concerned");
        advance(Duration::from_millis(250)).await;
        assert_eq!(health.silent(&probes[0]), Shown::FailingFor(Duration::from_millis(250)));
        health.answered(&probes[1]);
        assert!(health.attempt(0).is_some());
    }
}
