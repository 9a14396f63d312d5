//! Tracks which parts of Redis respond. A part is a hash slot of a cluster, or the single server.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

/// Number of operations on a failing part that may still try; others fail immediately. A failing
/// part does not affect others.
const PROBES: usize = 16;

struct Part {
    /// Milliseconds since the store was created, from 1; 0 means never.
    last_success: AtomicU64,
    failing: AtomicBool,
    probes: Semaphore,
}

impl Default for Part {
    fn default() -> Self {
        Self { last_success: AtomicU64::default(), failing: AtomicBool::default(), probes: Semaphore::new(PROBES) }
    }
}

/// The health of every part.
pub(crate) struct Health {
    began: Instant,
    parts: Vec<Part>,
}

/// An operation that may try.
pub(crate) struct Attempt<'a> {
    part: &'a Part,
    pub(crate) started: Instant,
    _probe: Option<SemaphorePermit<'a>>,
}

impl Health {
    pub(crate) fn new(parts: usize) -> Self {
        let parts = std::iter::repeat_with(Part::default).take(parts).collect();
        Self { began: Instant::now(), parts }
    }

    /// The number of parts.
    pub(crate) fn parts(&self) -> usize {
        self.parts.len()
    }

    fn millis(&self, instant: Instant) -> u64 {
        1 + instant.saturating_duration_since(self.began).as_millis() as u64
    }

    /// Starts an attempt, unless the part is failing and enough operations are trying already.
    pub(crate) fn attempt(&self, part: usize, started: Instant) -> Option<Attempt<'_>> {
        let part = self.parts.get(part)?;
        let probe = if part.failing.load(Ordering::Relaxed) { Some(part.probes.try_acquire().ok()?) } else { None };
        Some(Attempt { part, started, _probe: probe })
    }

    /// Whether no operation currently succeeds on this part.
    pub(crate) fn is_failing(&self, part: usize) -> bool {
        self.parts.get(part).is_some_and(|part| part.failing.load(Ordering::Relaxed))
    }

    /// Records a reply of the server.
    pub(crate) fn answered(&self, attempt: &Attempt<'_>) {
        let part = attempt.part;
        part.last_success.store(self.millis(Instant::now()), Ordering::Relaxed);
        if part.failing.load(Ordering::Relaxed) {
            part.failing.store(false, Ordering::Relaxed);
        }
    }

    /// The time since which the part has sent nothing; at the earliest the start of the attempt.
    pub(crate) fn quiet_since(&self, attempt: &Attempt<'_>) -> Instant {
        let last = attempt.part.last_success.load(Ordering::Relaxed);
        let heard = self.began + Duration::from_millis(last.saturating_sub(1));
        attempt.started.max(heard)
    }

    /// Records a timeout. Returns whether it is the first since the last reply, as far as the
    /// attempt saw.
    pub(crate) fn silent(&self, attempt: &Attempt<'_>) -> bool {
        let part = attempt.part;
        let answered_others = part.last_success.load(Ordering::Relaxed) >= self.millis(attempt.started);
        !answered_others && !part.failing.swap(true, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_slow_reply_does_not_open_the_circuit() {
        let health = Health::new(1);
        let (slow, quick) = (health.attempt(0, Instant::now()).unwrap(), health.attempt(0, Instant::now()).unwrap());
        advance(Duration::from_millis(100)).await;
        health.answered(&quick);
        advance(Duration::from_millis(150)).await;
        assert!(!health.silent(&slow));
        assert_eq!(health.quiet_since(&slow), slow.started + Duration::from_millis(100));
        assert_eq!((0..1000).filter_map(|_| health.attempt(0, Instant::now())).count(), 1000, "all may try");
    }

    #[tokio::test(start_paused = true)]
    async fn few_attempts_are_made_until_one_succeeds() {
        let health = Health::new(2);
        let attempt = health.attempt(0, Instant::now()).unwrap();
        advance(Duration::from_millis(250)).await;
        assert_eq!(health.quiet_since(&attempt), attempt.started);
        assert!(health.silent(&attempt));
        let probes: Vec<_> = (0..100).filter_map(|_| health.attempt(0, Instant::now())).collect();
        assert_eq!(probes.len(), PROBES);
        assert!(health.attempt(1, Instant::now()).is_some(), "the other part is not concerned");
        assert!(!health.silent(&probes[0]), "that is known");
        health.answered(&probes[1]);
        assert!(health.attempt(0, Instant::now()).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn failed_part_does_not_block_other_parts() {
        let health = Health::new(2);
        let attempts = [0, 1].map(|part| health.attempt(part, Instant::now()).unwrap());
        advance(Duration::from_millis(250)).await;
        assert!(attempts.iter().all(|attempt| health.silent(attempt)));
        let away: Vec<_> = (0..100).filter_map(|_| health.attempt(0, Instant::now())).collect();
        assert_eq!(away.len(), PROBES);
        assert!(health.attempt(1, Instant::now()).is_some(), "the other one may be back");
    }
}
