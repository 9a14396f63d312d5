//! Limits attempts while Redis does not reply, for each hash slot of a cluster, or for the single server.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

/// Operations that may still try while a circuit is open; others fail immediately.
const PROBES_MAX: usize = 16;
/// How long nothing is sent after a cluster refused a command: the client reconnects at every such refusal.
const REFUSAL_PAUSE: Duration = Duration::from_millis(500);

/// The circuits, each independent of the others.
pub(crate) struct CircuitBreaker {
    created: Instant,
    circuits: Vec<Circuit>,
}

struct Circuit {
    /// Milliseconds from creation to the last reply, from 1; 0 means never.
    last_reply: AtomicU64,
    is_open: AtomicBool,
    /// Milliseconds from creation to the last refusal, from 1; 0 means none.
    refused_at: AtomicU64,
    probes: Semaphore,
}

impl Default for Circuit {
    fn default() -> Self {
        let [last_reply, refused_at] = [AtomicU64::default(), AtomicU64::default()];
        Self { last_reply, is_open: AtomicBool::default(), refused_at, probes: Semaphore::new(PROBES_MAX) }
    }
}

/// Permission for an operation to try.
pub(crate) struct Permit<'a> {
    breaker: &'a CircuitBreaker,
    circuit: &'a Circuit,
    started: Instant,
    _probe: Option<SemaphorePermit<'a>>,
}

impl CircuitBreaker {
    pub(crate) fn new(circuits: usize) -> Self {
        Self { created: Instant::now(), circuits: std::iter::repeat_with(Circuit::default).take(circuits).collect() }
    }

    /// The circuit of a hash slot. A single server has one for all.
    fn circuit(&self, slot: Option<u16>) -> &Circuit {
        &self.circuits[usize::from(slot.unwrap_or_default()) % self.circuits.len()]
    }

    /// Permits an operation that started then, unless the circuit is open and enough others are trying.
    pub(crate) fn try_acquire(&self, slot: Option<u16>, started: Instant) -> Option<Permit<'_>> {
        let circuit = self.circuit(slot);
        let is_open = circuit.is_open.load(Ordering::Relaxed);
        let probe = if is_open { Some(circuit.probes.try_acquire().ok()?) } else { None };
        Some(Permit { breaker: self, circuit, started, _probe: probe })
    }

    /// Whether operations on this slot currently get no reply.
    pub(crate) fn is_open(&self, slot: Option<u16>) -> bool {
        self.circuit(slot).is_open.load(Ordering::Relaxed)
    }

    /// Whether a command on this slot was refused a moment ago.
    pub(crate) fn is_paused(&self, slot: Option<u16>) -> bool {
        let refused_at = self.circuit(slot).refused_at.load(Ordering::Relaxed);
        refused_at > 0 && self.millis(Instant::now()) < refused_at + REFUSAL_PAUSE.as_millis() as u64
    }

    fn millis(&self, instant: Instant) -> u64 {
        1 + instant.saturating_duration_since(self.created).as_millis() as u64
    }
}

impl Permit<'_> {
    /// Records a reply of the server, which closes the circuit.
    pub(crate) fn record_reply(&self) {
        self.circuit.last_reply.store(self.breaker.millis(Instant::now()), Ordering::Relaxed);
        // Writing every time would move the cache line between cores.
        if self.circuit.is_open.load(Ordering::Relaxed) {
            self.circuit.is_open.store(false, Ordering::Relaxed);
        }
    }

    /// Records a refusal, after which nothing is sent for a while.
    pub(crate) fn record_refusal(&self) {
        self.circuit.refused_at.store(self.breaker.millis(Instant::now()), Ordering::Relaxed);
    }

    /// Records a timeout, which opens the circuit unless others got replies meanwhile. Returns whether it opened now.
    pub(crate) fn record_timeout(&self) -> bool {
        let others_got_replies = self.circuit.last_reply.load(Ordering::Relaxed) >= self.breaker.millis(self.started);
        !others_got_replies && !self.circuit.is_open.swap(true, Ordering::Relaxed)
    }

    /// The time of the last reply to any operation; at the earliest the start of this one.
    pub(crate) fn silent_since(&self) -> Instant {
        let last_reply = self.circuit.last_reply.load(Ordering::Relaxed);
        let last_reply = self.breaker.created + Duration::from_millis(last_reply.saturating_sub(1));
        self.started.max(last_reply)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn acquire(breaker: &CircuitBreaker, slot: u16) -> Option<Permit<'_>> {
        breaker.try_acquire(Some(slot), Instant::now())
    }

    #[tokio::test(start_paused = true)]
    async fn one_slow_reply_does_not_open_the_circuit() {
        let breaker = CircuitBreaker::new(1);
        let (slow, quick) = (acquire(&breaker, 0).unwrap(), acquire(&breaker, 9).unwrap());
        advance(Duration::from_millis(100)).await;
        quick.record_reply();
        advance(Duration::from_millis(150)).await;
        assert!(!slow.record_timeout());
        assert_eq!(slow.silent_since(), slow.started + Duration::from_millis(100));
        assert_eq!((0..1000).filter_map(|_| acquire(&breaker, 0)).count(), 1000, "all may try");
    }

    #[tokio::test(start_paused = true)]
    async fn few_attempts_are_made_until_one_gets_a_reply() {
        let breaker = CircuitBreaker::new(2);
        let permit = acquire(&breaker, 0).unwrap();
        advance(Duration::from_millis(250)).await;
        assert_eq!(permit.silent_since(), permit.started);
        assert!(permit.record_timeout());
        let probes: Vec<_> = (0..100).filter_map(|_| acquire(&breaker, 0)).collect();
        assert_eq!(probes.len(), PROBES_MAX);
        assert!(acquire(&breaker, 1).is_some(), "the other slot is not affected");
        assert!(!probes[0].record_timeout(), "it is open already");
        probes[1].record_reply();
        assert!(acquire(&breaker, 0).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn refusal_pauses_its_slot_for_a_while() {
        let breaker = CircuitBreaker::new(2);
        let permit = acquire(&breaker, 0).unwrap();
        assert!(!breaker.is_paused(Some(0)));
        permit.record_refusal();
        assert!(breaker.is_paused(Some(0)) && !breaker.is_paused(Some(1)));
        advance(REFUSAL_PAUSE).await;
        assert!(!breaker.is_paused(Some(0)));
    }

    #[tokio::test(start_paused = true)]
    async fn probes_of_one_slot_do_not_block_another() {
        let breaker = CircuitBreaker::new(2);
        let permits = [0, 1].map(|slot| acquire(&breaker, slot).unwrap());
        advance(Duration::from_millis(250)).await;
        assert!(permits.iter().all(Permit::record_timeout));
        let probes: Vec<_> = (0..100).filter_map(|_| acquire(&breaker, 0)).collect();
        assert_eq!(probes.len(), PROBES_MAX);
        assert!(acquire(&breaker, 1).is_some());
    }
}
