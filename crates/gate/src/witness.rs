//! What this process knows about its queues if the store loses them (rule 7, recovery): interruptions of the service and
//! the number of active sessions.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::time::{Instant, sleep};
use vestibule_core::QueueId;
use vestibule_core::line::{Census, VisitAnswer, Witness};

/// How often a continuous process checks whether it was frozen.
const BEAT: Duration = Duration::from_secs(1);
/// A check that is this late shows that the process was frozen.
const LATE: Duration = Duration::from_secs(3);

/// What is known about all queues.
pub(crate) struct Witnesses(Mutex<Known>);

#[derive(Default)]
struct Known {
    queues: HashMap<QueueId, Queue>,
    /// The start of a continuous process. The start of a function means no interruption, because other instances may have
    /// served meanwhile.
    began: Option<Instant>,
}

#[derive(Default)]
struct Queue {
    /// `None` after a successful visit.
    outage: Option<Outage>,
    census: Option<Census>,
}

/// A time in which visits failed.
#[derive(Clone, Copy)]
struct Outage {
    /// `None` if it began before this process.
    from: Option<Instant>,
    until: Instant,
}

impl Outage {
    fn micros(self) -> u64 {
        self.from.map_or(Witness::STARTED, |from| (self.until - from).as_micros() as u64)
    }
}

impl Witnesses {
    pub(crate) fn new() -> Self {
        Self(Mutex::default())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock()
    }

    /// What to tell the store with a visit to this queue. An outage counts for `waiting_ttl` seconds, the time in which
    /// all visitors poll again.
    pub(crate) fn of(&self, queue: &QueueId, waiting_ttl: u64) -> Witness {
        let known = self.known();
        let start = known.began.map(|until| Outage { from: None, until });
        let (outage, census) = known.queues.get(queue).map_or((start, None), |queue| (queue.outage, queue.census));
        let recent = outage.filter(|outage| outage.until.elapsed() <= Duration::from_secs(waiting_ttl));
        Witness { unserved: recent.map_or(0, Outage::micros), census }
    }

    /// Records a successful visit.
    pub(crate) fn served(&self, queue: &QueueId, answer: &VisitAnswer) {
        let mut known = self.known();
        match known.queues.get_mut(queue) {
            Some(queue) => *queue = Queue { outage: None, census: Some(answer.census()) },
            None => {
                known.queues.insert(queue.clone(), Queue { outage: None, census: Some(answer.census()) });
            }
        }
    }

    /// Records a failed visit.
    pub(crate) fn failed(&self, queue: &QueueId) {
        let mut known = self.known();
        let now = Instant::now();
        let start = known.began.map(|until| Outage { from: None, until });
        let is_new = !known.queues.contains_key(queue);
        let queue = known.queues.entry(queue.clone()).or_default();
        let before = if is_new { start } else { queue.outage };
        queue.outage = Some(Outage { from: before.map_or(Some(now), |before| before.from), until: now });
    }

    /// Records that the process was frozen until now.
    fn frozen_for(&self, pause: Duration) {
        let mut known = self.known();
        let now = Instant::now();
        let from = now.checked_sub(pause);
        for queue in known.queues.values_mut() {
            let from = queue.outage.map_or(from, |before| before.from.min(from));
            queue.outage = Some(Outage { from, until: now });
        }
        known.began = Some(now);
    }

    /// Never returns. Detects when the process was frozen; for continuous processes.
    pub(crate) async fn watch(&self) {
        let mut last = Instant::now();
        self.known().began = Some(last);
        loop {
            sleep(BEAT).await;
            let pause = last.elapsed();
            if pause > LATE {
                tracing::warn!(seconds = pause.as_secs(), "the process was frozen");
                self.frozen_for(pause);
            }
            last = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;
    use vestibule_core::line::{Line, LineRules, Visit};
    use vestibule_core::{Micros, SessionId};

    use super::*;

    fn answer() -> VisitAnswer {
        let rules = LineRules::with_quota(5);
        let now = Micros(1_000_000);
        Line::new(rules, now, false).visit(now, &Visit::joining(SessionId::random()))
    }

    #[tokio::test(start_paused = true)]
    async fn an_outage_ends_with_the_first_successful_visit() {
        let (witnesses, queue) = (Witnesses::new(), "tour".parse().unwrap());
        let unserved = || witnesses.of(&queue, 60).unserved / 1_000_000;
        witnesses.served(&queue, &answer());
        assert_eq!((unserved(), witnesses.of(&queue, 60).census.unwrap().active), (0, 1));
        witnesses.failed(&queue);
        advance(Duration::from_secs(40)).await;
        witnesses.failed(&queue);
        advance(Duration::from_secs(50)).await;
        assert_eq!(unserved(), 40);
        advance(Duration::from_secs(11)).await;
        assert_eq!(unserved(), 0, "by now they have had the time to ask again");
        witnesses.failed(&queue);
        witnesses.served(&queue, &answer());
        assert_eq!(unserved(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn only_continuous_processes_report_their_start() {
        let (witnesses, queue) = (Witnesses::new(), "tour".parse().unwrap());
        assert_eq!(witnesses.of(&queue, 60).unserved, 0);
        tokio::select! {
            () = witnesses.watch() => {}
            () = sleep(Duration::from_secs(5)) => {}
        }
        assert_eq!(witnesses.of(&queue, 60).unserved, Witness::STARTED);
        witnesses.served(&queue, &answer());
        assert_eq!(witnesses.of(&queue, 60).unserved, 0);
        witnesses.frozen_for(Duration::from_secs(3));
        assert_eq!(witnesses.of(&queue, 60).unserved, 3_000_000);
    }
}
