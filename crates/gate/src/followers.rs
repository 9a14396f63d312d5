//! Follows jobs: one task per job queue reads all jobs that are followed in this process, with one call every 250 ms.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;
use tokio::time::sleep;
use tracing::debug;
use vestibule_core::jobs::{Detail, JOB_BATCH, JobId, JobQueueId, JobState, JobView};
use vestibule_runtime::JobQueues;

/// Interval at which followed jobs are read.
const INTERVAL: Duration = Duration::from_millis(250);
/// Maximum number of followers of one job: its session can have as many tabs, and can't displace others.
const FOLLOWERS_OF_JOB_MAX: usize = 32;

/// What is known about a followed job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Seen {
    /// It has not been read yet.
    #[default]
    NotYet,
    /// The backend does not know it.
    Unknown,
    /// The job, without contents.
    Job(Arc<JobView>),
}

/// Whether a job in this state stays in it.
pub(crate) const fn is_final(state: JobState) -> bool {
    !matches!(state, JobState::Queued | JobState::Running | JobState::Retrying)
}

type Followed = HashMap<JobQueueId, HashMap<JobId, watch::Sender<Seen>>>;

/// The followed jobs of this process. Cheap to clone; clones share them.
#[derive(Clone, Default)]
pub(crate) struct Followers {
    followed: Arc<Mutex<Followed>>,
}

impl Followers {
    /// Follows a job until the receiver is dropped; `None` if it has too many followers.
    pub(crate) fn follow(
        &self,
        job_queues: &Arc<JobQueues>,
        job_queue: &JobQueueId,
        job: JobId,
    ) -> Option<watch::Receiver<Seen>> {
        let mut followed = self.lock();
        let is_read = followed.contains_key(job_queue);
        let sender = followed.entry(job_queue.clone()).or_default().entry(job).or_default();
        if sender.receiver_count() >= FOLLOWERS_OF_JOB_MAX {
            return None;
        }
        if sender.receiver_count() == 0 {
            // It was read for somebody who is gone, perhaps before the function was frozen.
            sender.send_replace(Seen::NotYet);
        }
        let mut seen = sender.subscribe();
        // What others have seen already is new to this one.
        seen.mark_changed();
        if !is_read {
            tokio::spawn(self.clone().read_all(job_queues.clone(), job_queue.clone()));
        }
        Some(seen)
    }

    fn lock(&self) -> MutexGuard<'_, Followed> {
        self.followed.lock()
    }

    /// Reads the followed jobs of a job queue until there are none.
    async fn read_all(self, job_queues: Arc<JobQueues>, job_queue: JobQueueId) {
        while let Some(jobs) = self.still_followed(&job_queue) {
            for batch in jobs.chunks(JOB_BATCH) {
                self.read(&job_queues, &job_queue, batch).await;
            }
            sleep(INTERVAL).await;
        }
    }

    /// The jobs that someone follows. Forgets the others, and the job queue if there are none.
    fn still_followed(&self, job_queue: &JobQueueId) -> Option<Vec<JobId>> {
        let mut followed = self.lock();
        let jobs = followed.get_mut(job_queue)?;
        jobs.retain(|_, seen| seen.receiver_count() > 0);
        let jobs: Vec<JobId> = jobs.keys().copied().collect();
        if jobs.is_empty() {
            followed.remove(job_queue);
            return None;
        }
        Some(jobs)
    }

    async fn read(&self, job_queues: &JobQueues, job_queue: &JobQueueId, jobs: &[JobId]) {
        let Ok(Some(cached)) = job_queues.get(job_queue).await else { return };
        match job_queues.job_store().get(&cached.settings, jobs, Detail::Status).await {
            Ok(views) => {
                let followed = self.lock();
                let Some(senders) = followed.get(job_queue) else { return };
                for (job, view) in jobs.iter().zip(views) {
                    let now = view.map_or(Seen::Unknown, |view| Seen::Job(Arc::new(view)));
                    if let Some(sender) = senders.get(job) {
                        sender.send_if_modified(|seen| {
                            let is_new = *seen != now;
                            *seen = now;
                            is_new
                        });
                    }
                }
            }
            Err(error) => debug!(%job_queue, %error, "followed jobs could not be read; trying again"),
        }
    }
}
