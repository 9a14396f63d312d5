//! Enqueues the jobs of schedules (S1, S2).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};
use tracing::{info, warn};
use vestibule_core::jobs::{Enqueued, JobQueueSettings, JobSchedule, NewJob};
use vestibule_core::{Micros, StoreError};
use vestibule_runtime::{JobQueues, last_run, schedule_key, set_last_run};

/// Resolution of schedules.
const TICK: Duration = Duration::from_secs(1);

/// Follows the schedules of all job queues. Any number of processes may do so: the job of an occurrence always has the same ID,
/// and the store remembers the last occurrence of each schedule.
pub(crate) struct Scheduler {
    job_queues: Arc<JobQueues>,
    /// The schedules by their keys in the store.
    followed: HashMap<String, Followed>,
    /// The keys of those whose last job could not be enqueued, which was logged.
    failing: HashSet<String>,
    is_reachable: bool,
}

/// What this process knows of a schedule.
#[derive(Clone, Copy)]
struct Followed {
    /// The last occurrence that is settled, those that are too old included, or when the schedule was first seen.
    last: Micros,
    /// The next one; `None` if there is none.
    next: Option<Micros>,
}

/// Why the job of an occurrence could not be enqueued.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ScheduleError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the job of schedule \"{schedule}\" of job queue \"{job_queue}\" is not queued: {why}")]
    NotQueued { job_queue: String, schedule: String, why: String },
}

impl Scheduler {
    pub(crate) fn new(job_queues: Arc<JobQueues>) -> Self {
        Self { job_queues, followed: HashMap::new(), failing: HashSet::new(), is_reachable: true }
    }

    /// Enqueues jobs until the future is dropped.
    pub(crate) async fn run(mut self) {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            match self.enqueue_due().await {
                // That of a schedule is logged.
                Ok(()) | Err(ScheduleError::NotQueued { .. }) => self.is_reachable = true,
                Err(error) => {
                    if std::mem::take(&mut self.is_reachable) {
                        warn!(%error, "schedules wait; trying again");
                    }
                }
            }
        }
    }

    /// Enqueues the jobs of all occurrences that are due. One that fails does not stop the others.
    pub(crate) async fn enqueue_due(&mut self) -> Result<(), ScheduleError> {
        let job_queues = self.job_queues.all().await?;
        let schedules: Vec<_> = job_queues
            .iter()
            .flat_map(|it| {
                it.settings
                    .schedules
                    .iter()
                    .map(move |schedule| (schedule_key(&it.settings.id, schedule), it, schedule))
            })
            .collect();
        self.followed.retain(|known, _| schedules.iter().any(|(key, ..)| key == known));
        if schedules.is_empty() {
            return Ok(());
        }
        let now = self.job_queues.records().now().await?;
        let mut outcome = Ok(());
        self.failing.retain(|known| schedules.iter().any(|(key, ..)| key == known));
        for (key, job_queue, schedule) in schedules {
            match self.follow(key.clone(), &job_queue.settings, schedule, now).await {
                Ok(()) => drop(self.failing.remove(&key)),
                Err(error) => {
                    if matches!(error, ScheduleError::NotQueued { .. }) && self.failing.insert(key) {
                        warn!(%error, "schedules wait; trying again");
                    }
                    outcome = Err(error);
                }
            }
        }
        outcome
    }

    async fn follow(
        &mut self,
        key: String,
        job_queue: &JobQueueSettings,
        schedule: &JobSchedule,
        now: Micros,
    ) -> Result<(), ScheduleError> {
        let is_due = |followed: &Followed| followed.next.is_some_and(|next| next <= now);
        if self.followed.get(&key).is_some_and(|followed| !is_due(followed)) {
            return Ok(());
        }
        // Another process may have enqueued the job meanwhile.
        let records = &**self.job_queues.records();
        let stored = last_run(records, &key).await?;
        let known = self.followed.get(&key).map(|followed| followed.last);
        // A schedule that is new, or that the store has lost, begins now.
        let mut last = stored.max(known).unwrap_or(now);
        if let Some(occurrence) = schedule.due(last, now) {
            self.enqueue(job_queue, schedule, occurrence).await?;
            last = now;
            set_last_run(records, &key, last).await?;
        } else if schedule.next_after(last).is_some_and(|next| next <= now) {
            warn!(job_queue = %job_queue.id, schedule = %schedule.id, "a missed occurrence is too old and does not run");
            // The store keeps when the last job was enqueued, so that metrics show occurrences without a job.
            last = now;
        } else if stored.is_none() {
            set_last_run(records, &key, last).await?;
        }
        self.followed.insert(key, Followed { last, next: schedule.next_after(last) });
        Ok(())
    }

    async fn enqueue(
        &self,
        job_queue: &JobQueueSettings,
        schedule: &JobSchedule,
        occurrence: Micros,
    ) -> Result<(), ScheduleError> {
        let failed = |why: String| ScheduleError::NotQueued {
            job_queue: job_queue.id.to_string(),
            schedule: schedule.id.to_string(),
            why,
        };
        let Some(job) = NewJob::of_schedule(&job_queue.id, schedule, occurrence.seconds()) else { return Ok(()) };
        let (id, at) = (job.id, occurrence.seconds());
        let enqueued =
            self.job_queues.enqueue(job_queue, vec![job]).await.map_err(|error| failed(error.to_string()))?;
        match enqueued.first() {
            Some(Enqueued::Accepted) => {
                info!(job_queue = %job_queue.id, schedule = %schedule.id, job = %id, at, "job of a schedule is queued");
                Ok(())
            }
            Some(Enqueued::Duplicate(_)) => Ok(()),
            Some(Enqueued::Full | Enqueued::TooMany) | None => Err(failed("the job queue is full".to_owned())),
            Some(Enqueued::Removed) => Err(failed("the job queue was removed".to_owned())),
            Some(Enqueued::NotSent | Enqueued::Unconfirmed) => {
                Err(failed("the backend did not store it, or did not confirm it".to_owned()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vestibule_core::fields::Object as _;
    use vestibule_core::settings::{JobQueueChange, JobQueuePlan};
    use vestibule_core::{ManualClock, SystemClock};
    use vestibule_store_memory::{MemoryJobs, MemoryRecords, MemoryStore};

    use super::*;

    /// 5 March 2027, 08:59:30 UTC.
    const START: u64 = 1_804_237_170;
    const SECOND: u64 = 1_000_000;

    struct Fixture {
        clock: Arc<ManualClock>,
        job_queues: Arc<JobQueues>,
    }

    impl Fixture {
        async fn new(settings: serde_json::Value) -> Self {
            let clock = Arc::new(ManualClock::at(Micros(0).add_seconds(START)));
            let job_queues = JobQueues::new(
                Arc::new(MemoryRecords::new(clock.clone())),
                Arc::new(MemoryStore::new(SystemClock::new())),
                Arc::new(MemoryJobs::new(clock.clone())),
            );
            let fixture = Self { clock, job_queues: Arc::new(job_queues) };
            fixture.write(settings, 0).await;
            fixture
        }

        async fn write(&self, more: serde_json::Value, replaces: u64) {
            let target = json!({ "kind": "http", "url": "https://crm.acme.example/jobs" });
            // The shortest times for which anything is remembered.
            let mut settings = json!({
                "id": "stock", "tenant": "acme", "target": target, "deduplication_interval": 0, "result_ttl": 60,
            });
            settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let settings = JobQueueSettings::from_json(&settings).unwrap();
            let changed = vec![JobQueueChange { settings, retired_secret: None, replaces, changes: Vec::new() }];
            self.job_queues.execute(&JobQueuePlan { changed, ..JobQueuePlan::default() }).await.unwrap();
        }

        fn advance(&self, seconds: u64) {
            self.clock.advance(seconds * SECOND);
        }

        fn process(&self) -> Scheduler {
            Scheduler::new(self.job_queues.clone())
        }

        /// Jobs that were accepted, and those that were not queued as they were already there.
        async fn jobs(&self) -> (u64, u64) {
            let job_queue = self.job_queues.get(&"stock".parse().unwrap()).await.unwrap().unwrap();
            let counters = self.job_queues.job_store().stats(&job_queue.settings).await.unwrap().counters;
            (counters.enqueued, counters.duplicate)
        }
    }

    fn schedules(cron: &str) -> serde_json::Value {
        json!({ "schedules": [{ "id": "import", "cron": cron, "payload": "{}" }] })
    }

    #[tokio::test]
    async fn any_number_of_processes_enqueue_one_job_per_occurrence() {
        let fixture = Fixture::new(schedules("*/5 * * * *")).await;
        let mut processes = [fixture.process(), fixture.process(), fixture.process()];
        for second in 0..3_600_u64 {
            for (index, process) in processes.iter_mut().enumerate() {
                // Each at other times, and one is restarted now and then.
                if (second + 1) % (index as u64 + 2) == 0 {
                    process.enqueue_due().await.unwrap();
                }
                if index == 1 && second % 700 == 0 {
                    *process = fixture.process();
                }
            }
            fixture.advance(1);
        }
        assert_eq!(fixture.jobs().await.0, 12);
    }

    #[tokio::test]
    async fn occurrences_before_a_schedule_was_added_do_not_run() {
        let fixture = Fixture::new(json!({})).await;
        fixture.advance(1800);
        fixture.write(schedules("@hourly"), 1).await;
        let mut process = fixture.process();
        process.enqueue_due().await.unwrap();
        assert_eq!(fixture.jobs().await, (0, 0), "the schedule begins now, at 09:29:30");
        fixture.write(schedules("15 * * * *"), 2).await;
        process.enqueue_due().await.unwrap();
        assert_eq!(fixture.jobs().await, (0, 0), "09:15 was before the change");
        fixture.advance(2730);
        process.enqueue_due().await.unwrap();
        assert_eq!(fixture.jobs().await, (1, 0), "10:15");
    }

    #[tokio::test]
    async fn one_missed_occurrence_runs_after_downtime() {
        let fixture = Fixture::new(schedules("*/10 * * * *")).await;
        fixture.process().enqueue_due().await.unwrap();
        fixture.advance(3_000);
        fixture.process().enqueue_due().await.unwrap();
        fixture.process().enqueue_due().await.unwrap();
        assert_eq!(fixture.jobs().await, (1, 0));
        fixture.write(schedules("0 9 * * *"), 1).await;
        fixture.process().enqueue_due().await.unwrap();
        fixture.advance(86_400 + 3_600);
        fixture.process().enqueue_due().await.unwrap();
        assert_eq!(fixture.jobs().await, (1, 0), "an occurrence of more than an hour ago is left out");
    }

    #[tokio::test]
    async fn missed_occurrence_of_a_rare_schedule_runs_after_downtime() {
        // START is 5 March 2027: the next 29 February is 361 days ahead.
        let fixture = Fixture::new(schedules("0 9 29 2 *")).await;
        fixture.process().enqueue_due().await.unwrap();
        fixture.advance(361 * 86_400 + 600);
        fixture.process().enqueue_due().await.unwrap();
        assert_eq!(fixture.jobs().await, (1, 0));
        let records = &**fixture.job_queues.records();
        let job_queue = fixture.job_queues.get(&"stock".parse().unwrap()).await.unwrap().unwrap();
        let schedule = &job_queue.settings.schedules[0];
        fixture.advance(4 * 366 * 86_400);
        let last = last_run(records, &schedule_key(&job_queue.settings.id, schedule)).await.unwrap();
        assert!(last.is_some(), "metrics show that the next occurrences have no job");
    }

    #[tokio::test]
    async fn occurrence_that_is_left_out_does_not_count_as_a_run() {
        let mut settings = schedules("0 9 * * *");
        settings["max_jobs"] = json!(1);
        let fixture = Fixture::new(settings.clone()).await;
        let job_queue = fixture.job_queues.get(&"stock".parse().unwrap()).await.unwrap().unwrap();
        let schedule = &job_queue.settings.schedules[0];
        let mut process = fixture.process();
        process.enqueue_due().await.unwrap();
        let other = NewJob::of_schedule(&job_queue.settings.id, schedule, "now").unwrap();
        fixture.job_queues.enqueue(&job_queue.settings, vec![other]).await.unwrap();
        let key = schedule_key(&job_queue.settings.id, schedule);
        let stored = async || last_run(&**fixture.job_queues.records(), &key).await.unwrap().unwrap();
        for day in 0..2 {
            fixture.advance(60);
            process.enqueue_due().await.unwrap_err();
            fixture.advance(3_600);
            process.enqueue_due().await.unwrap();
            assert_eq!(stored().await.seconds(), START, "day {day}: the metrics show the last run");
            fixture.advance(86_400 - 3_660);
        }
        settings["max_jobs"] = json!(2);
        fixture.write(settings, 1).await;
        fixture.advance(60);
        process.enqueue_due().await.unwrap();
        assert_eq!((fixture.jobs().await.0, stored().await.seconds()), (2, START + 2 * 86_400 + 60));
    }

    #[tokio::test]
    async fn schedule_that_is_added_again_runs_no_earlier_occurrence() {
        let hourly = schedules("@hourly");
        let fixture = Fixture::new(hourly.clone()).await;
        fixture.process().enqueue_due().await.unwrap();
        fixture.write(json!({ "schedules": [] }), 1).await;
        fixture.advance(1_800);
        fixture.write(hourly, 2).await;
        fixture.process().enqueue_due().await.unwrap();
        assert_eq!(fixture.jobs().await.0, 0, "at 09:00 there was no schedule");
    }

    #[tokio::test]
    async fn full_job_queue_gets_the_job_later() {
        let mut settings = schedules("0 9 * * *");
        settings["max_jobs"] = json!(1);
        let fixture = Fixture::new(settings.clone()).await;
        let mut process = fixture.process();
        process.enqueue_due().await.unwrap();
        let job_queue = fixture.job_queues.get(&"stock".parse().unwrap()).await.unwrap().unwrap();
        let other = NewJob::of_schedule(&job_queue.settings.id, &job_queue.settings.schedules[0], "now").unwrap();
        fixture.job_queues.enqueue(&job_queue.settings, vec![other]).await.unwrap();
        fixture.advance(60);
        let error = process.enqueue_due().await.unwrap_err().to_string();
        assert!(error.contains("\"import\" of job queue \"stock\" is not queued: the job queue is full"), "{error}");
        settings["max_jobs"] = json!(2);
        fixture.write(settings, 1).await;
        process.enqueue_due().await.unwrap();
        assert_eq!(fixture.jobs().await.0, 2);
    }
}
