//! Removes what has expired in job queues without traffic, which other operations do, too. Reports jobs that the backend has lost.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};
use tracing::warn;
use vestibule_core::jobs::JobQueueId;
use vestibule_runtime::JobQueues;

/// How often each job queue is looked at.
const INTERVAL: Duration = Duration::from_mins(1);
/// Maximum number of operations on one job queue at a time.
const BATCHES_MAX: usize = 1_000;

/// Removes what has expired until the future is dropped. Any number of processes may do so.
pub(crate) async fn run(job_queues: Arc<JobQueues>) {
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut losses = Losses::default();
    loop {
        ticks.tick().await;
        reap(&job_queues).await;
        losses.report(&job_queues).await;
    }
}

/// How many jobs of each job queue the backend had lost when this process looked last.
#[derive(Default)]
struct Losses(HashMap<JobQueueId, u64>);

impl Losses {
    /// Logs jobs that were lost since.
    async fn report(&mut self, job_queues: &JobQueues) {
        let Ok(all) = job_queues.all().await else { return };
        for job_queue in all {
            let (id, stats) = (&job_queue.settings.id, job_queues.job_store().stats(&job_queue.settings).await);
            if let Ok(stats) = stats
                && let Some(jobs) = self.added(id, stats.counters.lost)
            {
                warn!(job_queue = %id, jobs, "the job backend has lost jobs: what it knew of them was evicted or deleted");
            }
        }
    }

    /// How many are new; `None` without any, or for a job queue that was not known before.
    fn added(&mut self, id: &JobQueueId, lost: u64) -> Option<u64> {
        let before = self.0.insert(id.clone(), lost)?;
        lost.checked_sub(before).filter(|added| *added > 0)
    }
}

/// Removes what has expired in all job queues. What fails is tried again a minute later.
pub(crate) async fn reap(job_queues: &JobQueues) {
    // The worker logs that they can't be read.
    let Ok(all) = job_queues.all().await else { return };
    for job_queue in all {
        for _ in 0..BATCHES_MAX {
            match job_queues.job_store().reap(&job_queue.settings).await {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    warn!(job_queue = %job_queue.settings.id, %error, "expired jobs and results could not be removed yet");
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vestibule_core::fields::Object as _;
    use vestibule_core::jobs::{JOB_REAP_BATCH, JobId, JobQueueSettings, NewJob, Payload};
    use vestibule_core::settings::{JobQueueChange, JobQueuePlan};
    use vestibule_core::{ManualClock, Micros, SystemClock};
    use vestibule_store_memory::{MemoryJobs, MemoryRecords, MemoryStore};

    use super::*;

    #[test]
    fn losses_are_reported_once() {
        let (mut losses, id) = (Losses::default(), "mails".parse().unwrap());
        assert_eq!(losses.added(&id, 3), None, "an earlier process has reported them");
        assert_eq!((losses.added(&id, 5), losses.added(&id, 5)), (Some(2), None));
        assert_eq!(losses.added(&id, 0), None, "the job queue was created again");
    }

    #[tokio::test]
    async fn job_queue_without_traffic_keeps_nothing_that_has_expired() {
        let clock = Arc::new(ManualClock::at(Micros(1_700_000_000_000_000)));
        let job_queues = JobQueues::new(
            Arc::new(MemoryRecords::new(clock.clone())),
            Arc::new(MemoryStore::new(SystemClock::new())),
            Arc::new(MemoryJobs::new(clock.clone())),
        );
        let settings = json!({ "id": "idle", "tenant": "acme", "target": { "kind": "pull" }, "retention": 60 });
        let settings = JobQueueSettings::from_json(&settings).unwrap();
        let change =
            JobQueueChange { settings: settings.clone(), retired_secret: None, replaces: 0, changes: Vec::new() };
        job_queues.execute(&JobQueuePlan { changed: vec![change], ..JobQueuePlan::default() }).await.unwrap();
        let payload = Payload { content_type: "text/plain".to_owned(), bytes: b"hello".to_vec() };
        for _ in 0..=JOB_REAP_BATCH {
            job_queues.enqueue(&settings, vec![NewJob::new(JobId::random(), payload.clone())]).await.unwrap();
        }
        clock.advance(60_000_000);
        reap(&job_queues).await;
        // As every operation removes a batch, only at this time is it seen what was removed before.
        clock.step_back(1_000_000);
        let stats = job_queues.job_store().stats(&settings).await.unwrap();
        assert_eq!((stats.waiting, stats.dead), (0, JOB_REAP_BATCH as u64 + 1));
    }
}
