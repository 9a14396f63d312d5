//! The backend: what Redis and SQS do in each operation, and in which order.

use std::time::Duration;

use async_trait::async_trait;
use tracing::warn;
use vestibule_aws::AwsServer;
use vestibule_core::Micros;
use vestibule_core::jobs::{
    Canceled, DeadLetterPosition, Detail, Drained, Enqueued, Extension, JOB_BATCH, JobBackend, JobBackendError, JobId,
    JobQueueSettings, JobState, JobStats, JobView, Lease, LeasedJob, NewJob, ProgressAdded, ProgressMessage, Received,
    ReplayedAll, Resolution, Settled, Settlement,
};
use vestibule_store_redis::{AddressError, JobRegistry, MessageId, RedisJobs, RedisOptions, Start};

use crate::address::SqsPrefix;
use crate::in_flight::{Held, InFlight};
use crate::message::{Delivery, JobMessage};
use crate::queues::{BATCH, Queues};

/// How long a message of another job queue is hidden.
const OTHERS_WAIT: Duration = Duration::from_secs(5);
/// How long messages are hidden while Redis is unavailable.
const UNAVAILABLE_WAIT: Duration = Duration::from_secs(30);

/// A backend whose jobs are in SQS, with their state in Redis.
pub struct SqsJobs {
    registry: JobRegistry,
    queues: Queues,
    in_flight: InFlight,
}

impl SqsJobs {
    /// A backend on the SQS queues with this prefix, on `server` or where the AWS environment says, with its state in the Redis at
    /// this address. Both are connected when they are needed. With a clock in `options`, messages are hidden by it instead of
    /// by SQS.
    ///
    /// # Errors
    /// Returns the errors of [`RedisJobs::connect`].
    pub fn connect(
        prefix: SqsPrefix,
        server: Option<AwsServer>,
        redis_url: &str,
        options: RedisOptions,
    ) -> Result<Self, AddressError> {
        let in_flight = InFlight::new(options.clock.clone());
        Ok(Self { registry: JobRegistry::connect(redis_url, options)?, queues: Queues::new(prefix, server), in_flight })
    }

    const fn jobs(&self) -> &RedisJobs {
        self.registry.jobs()
    }

    /// Sends messages of registered jobs. Jobs that were certainly not sent are withdrawn, but not those of which an earlier message
    /// may be on its way.
    async fn send(&self, settings: &JobQueueSettings, messages: &[JobMessage]) -> Result<(), JobBackendError> {
        let is_fifo = settings.id.is_fifo();
        let sent = self.queues.send(is_fifo, messages, self.in_flight.is_timed_by_sqs()).await;
        let (mut withdrawn, mut first_error) = (Vec::new(), None);
        for (message, error) in messages.iter().zip(sent).filter_map(|(message, sent)| Some((message, sent.err()?))) {
            if error.is_certain && !message.is_repeated() {
                withdrawn.push(message.id().job);
            }
            first_error.get_or_insert(error.reason);
        }
        let Some(reason) = first_error else { return Ok(()) };
        match self.registry.withdraw(settings, &withdrawn).await {
            Ok(()) if withdrawn.len() == messages.len() => return Err(JobBackendError::NotSent(reason)),
            Ok(()) => {}
            Err(error) => {
                warn!(job_queue = %settings.id, jobs = withdrawn.len(), %error, "jobs that were not sent could not be withdrawn");
            }
        }
        Err(JobBackendError::Unavailable(reason))
    }

    /// Sends the messages of jobs that were replayed.
    async fn send_replayed(&self, settings: &JobQueueSettings, jobs: &[JobId]) -> Result<(), JobBackendError> {
        for jobs in jobs.chunks(JOB_BATCH) {
            let views = self.jobs().get(settings, jobs, Detail::Contents).await?;
            let replayed = views.into_iter().flatten().filter(|view| view.state == JobState::Queued);
            let messages: Vec<_> = replayed.filter_map(|view| JobMessage::replayed(&settings.id, view)).collect();
            self.send(settings, &messages).await?;
        }
        Ok(())
    }

    /// Whether the jobs of these messages can start. Jobs that Redis has lost are registered again before.
    async fn ask(&self, settings: &JobQueueSettings, deliveries: &[Delivery]) -> Result<Vec<Start>, JobBackendError> {
        let ids: Vec<MessageId> = deliveries.iter().map(|delivery| delivery.message.id()).collect();
        let mut starts = self.registry.start(settings, &ids).await?;
        for (delivery, start) in deliveries.iter().zip(&mut starts).filter(|(_, start)| **start == Start::Lost) {
            warn!(job_queue = %settings.id, job = %delivery.message.id().job, "Redis has lost a job; its message registers it again");
            *start = self.restore(settings, delivery).await.unwrap_or_else(|error| {
                warn!(job_queue = %settings.id, %error, "the job could not be registered yet; its message comes again");
                Start::Waits(UNAVAILABLE_WAIT)
            });
        }
        Ok(starts)
    }

    /// Registers a job again, and says whether it can start.
    async fn restore(&self, settings: &JobQueueSettings, delivery: &Delivery) -> Result<Start, JobBackendError> {
        let (id, job) = (delivery.message.id(), delivery.new_job());
        self.registry.restore(settings, &job, id.number, delivery.sent_at, delivery.may_be_repeated).await?;
        let mut again = self.registry.start(settings, &[id]).await?;
        Ok(again.pop().unwrap_or(Start::Lost))
    }

    /// Starts the jobs of these messages that can start, and hides or deletes the others.
    async fn start(
        &self,
        settings: &JobQueueSettings,
        deliveries: Vec<Delivery>,
    ) -> Result<Vec<LeasedJob>, JobBackendError> {
        let is_fifo = settings.id.is_fifo();
        let starts = match self.ask(settings, &deliveries).await {
            Ok(starts) => starts,
            Err(error) => {
                let hidden = deliveries.into_iter().map(|delivery| (delivery.handle, UNAVAILABLE_WAIT)).collect();
                self.in_flight.hide(&self.queues, is_fifo, hidden).await;
                return Err(error);
            }
        };
        let (mut jobs, mut hidden, mut deleted) = (Vec::new(), Vec::new(), Vec::new());
        for (delivery, start) in deliveries.into_iter().zip(starts) {
            match start {
                Start::Started(mut job) => {
                    let payload = delivery.payload;
                    job.payload.bytes.clone_from(&payload.bytes);
                    self.in_flight.hold(job.lease, is_fifo, delivery.handle, payload, settings.lease_seconds());
                    jobs.push(job);
                }
                Start::Waits(time) => hidden.push((delivery.handle, time)),
                // An equal job was accepted after this one was lost.
                Start::Finished | Start::Lost => deleted.push(delivery.handle),
                Start::NeedsPayload => {
                    let job = delivery.message.id().job;
                    match self.registry.keep_payload(settings, job, &delivery.payload).await {
                        Ok(()) => deleted.push(delivery.handle),
                        Err(error) => {
                            warn!(job_queue = %settings.id, %job, %error, "the payload of a dead letter could not be stored yet");
                            hidden.push((delivery.handle, UNAVAILABLE_WAIT));
                        }
                    }
                }
            }
        }
        self.in_flight.hide(&self.queues, is_fifo, hidden).await;
        self.queues.delete(is_fifo, deleted).await;
        Ok(jobs)
    }

    /// Receives messages once, and starts their jobs; `None` if there are no messages.
    async fn receive_once(
        &self,
        settings: &JobQueueSettings,
        max: usize,
    ) -> Result<Option<Vec<LeasedJob>>, JobBackendError> {
        let is_fifo = settings.id.is_fifo();
        let deliveries = self.queues.receive(is_fifo, max).await?;
        if deliveries.is_empty() {
            return Ok(None);
        }
        let is_own = |delivery: &Delivery| delivery.message.job_queue == settings.id;
        let (own, others): (Vec<_>, Vec<_>) = deliveries.into_iter().partition(is_own);
        let others = others.into_iter().map(|delivery| (delivery.handle, OTHERS_WAIT)).collect();
        self.in_flight.hide(&self.queues, is_fifo, others).await;
        // Boxed, because every receive carries this future.
        Box::pin(self.start(settings, own)).await.map(Some)
    }

    /// Deletes or hides the messages of leases that have ended.
    async fn finish(&self, settings: &JobQueueSettings, ended: Vec<(Lease, Settled)>) {
        let (mut deleted, mut waiting) = (Vec::new(), Vec::new());
        for (lease, settled) in ended {
            // The message of a lease that has expired comes again.
            let Settled::Now(state) = settled else { continue };
            let Some(held) = self.in_flight.take(lease) else { continue };
            match state {
                JobState::Queued | JobState::Retrying | JobState::Running => {
                    waiting.push((lease.job, held));
                }
                JobState::Failed if !settings.holds_orders() => {
                    match self.registry.keep_payload(settings, lease.job, &held.payload).await {
                        Ok(()) => deleted.push(held.handle),
                        // Its message comes again.
                        Err(error) => {
                            warn!(job_queue = %settings.id, job = %lease.job, %error, "the payload of a dead letter could not be stored yet");
                        }
                    }
                }
                JobState::Completed | JobState::Failed | JobState::Unknown => deleted.push(held.handle),
            }
        }
        self.queues.delete(settings.id.is_fifo(), deleted).await;
        self.wait(settings, waiting).await;
    }

    /// Hides the messages of jobs that wait for their next attempt.
    async fn wait(&self, settings: &JobQueueSettings, waiting: Vec<(JobId, Held)>) {
        if waiting.is_empty() {
            return;
        }
        let ids: Vec<_> = waiting.iter().map(|(job, _)| *job).collect();
        let views = self.jobs().get(settings, &ids, Detail::Status).await.unwrap_or_else(|error| {
            warn!(job_queue = %settings.id, %error, "it is not known when jobs are due; their messages come again soon");
            Vec::new()
        });
        let now = self.in_flight.now();
        let due = |index: usize| views.get(index).and_then(|view| view.as_ref()?.due_at);
        let hidden = waiting.into_iter().enumerate().map(|(index, (_, held))| {
            let micros = due(index).map_or(0, |due: Micros| due.0.saturating_sub(now.0));
            (held.handle, Duration::from_micros(micros))
        });
        self.in_flight.hide(&self.queues, settings.id.is_fifo(), hidden.collect()).await;
    }
}

#[async_trait]
impl JobBackend for SqsJobs {
    async fn enqueue(
        &self,
        settings: &JobQueueSettings,
        mut jobs: Vec<NewJob>,
    ) -> Result<Vec<Enqueued>, JobBackendError> {
        let count = jobs.len();
        jobs.truncate(JOB_BATCH);
        let registered = self.registry.register(settings, &jobs).await?;
        let message = |job: NewJob, answer: Enqueued, number: u64| match answer {
            Enqueued::Duplicate(earlier) => JobMessage::repeated(&settings.id, earlier, job, number),
            _ => JobMessage::of(&settings.id, job, number),
        };
        let pairs = jobs.into_iter().zip(&registered);
        let messages: Vec<_> = pairs.filter_map(|(job, it)| Some(message(job, it.answer, it.message?))).collect();
        self.send(settings, &messages).await?;
        let mut answers: Vec<_> = registered.into_iter().map(|it| it.answer).collect();
        answers.resize(count, Enqueued::Full);
        Ok(answers)
    }

    /// Receives messages of all job queues of this kind and keeps those of this job queue, so it is for few job queues. When the
    /// next job can start is not known: SQS brings it.
    async fn receive(&self, settings: &JobQueueSettings, max: usize) -> Result<Received, JobBackendError> {
        self.in_flight.expire();
        self.in_flight.show(&self.queues, settings.id.is_fifo()).await;
        let max = max.min(JOB_BATCH);
        let mut jobs = Vec::new();
        for _ in 0..JOB_BATCH.div_ceil(BATCH) {
            if jobs.len() >= max {
                break;
            }
            match self.receive_once(settings, max - jobs.len()).await {
                Ok(Some(started)) => jobs.extend(started),
                // The jobs that are leased already must run.
                Err(error) if jobs.is_empty() => return Err(error),
                Ok(None) | Err(_) => break,
            }
        }
        Ok(Received { jobs, next_due: None })
    }

    async fn extend(&self, settings: &JobQueueSettings, leases: &[Extension]) -> Result<Vec<bool>, JobBackendError> {
        let current = self.jobs().extend(settings, leases).await?;
        let extended = leases.iter().zip(&current).filter(|(_, is_current)| **is_current);
        let hidden: Vec<_> = extended
            .filter_map(|(extension, _)| {
                let handle = self.in_flight.extend(extension.lease, extension.seconds)?;
                Some((handle, Duration::from_secs(extension.seconds)))
            })
            .collect();
        if self.in_flight.is_timed_by_sqs() {
            self.queues.hide(settings.id.is_fifo(), hidden).await;
        }
        Ok(current)
    }

    async fn settle(
        &self,
        settings: &JobQueueSettings,
        settlements: Vec<Settlement>,
    ) -> Result<Vec<Settled>, JobBackendError> {
        let leases: Vec<_> = settlements.iter().map(|settlement| settlement.lease).collect();
        let settled = self.jobs().settle(settings, settlements).await?;
        self.finish(settings, leases.into_iter().zip(settled.iter().copied()).collect()).await;
        Ok(settled)
    }

    async fn get(
        &self,
        settings: &JobQueueSettings,
        jobs: &[JobId],
        detail: Detail,
    ) -> Result<Vec<Option<JobView>>, JobBackendError> {
        self.jobs().get(settings, jobs, detail).await
    }

    async fn add_progress(
        &self,
        settings: &JobQueueSettings,
        lease: Lease,
        message: ProgressMessage,
    ) -> Result<ProgressAdded, JobBackendError> {
        self.jobs().add_progress(settings, lease, message).await
    }

    async fn mark_delivered(&self, settings: &JobQueueSettings, job: JobId) -> Result<(), JobBackendError> {
        self.jobs().mark_delivered(settings, job).await
    }

    async fn cancel(&self, settings: &JobQueueSettings, jobs: &[JobId]) -> Result<Vec<Canceled>, JobBackendError> {
        self.jobs().cancel(settings, jobs).await
    }

    async fn drain(&self, settings: &JobQueueSettings) -> Result<Drained, JobBackendError> {
        self.jobs().drain(settings).await
    }

    async fn dead_letters(
        &self,
        settings: &JobQueueSettings,
        before: Option<DeadLetterPosition>,
        limit: usize,
    ) -> Result<Vec<JobView>, JobBackendError> {
        self.jobs().dead_letters(settings, before, limit).await
    }

    async fn delete_dead(&self, settings: &JobQueueSettings, jobs: &[JobId]) -> Result<Vec<bool>, JobBackendError> {
        self.jobs().delete_dead(settings, jobs).await
    }

    async fn replay(&self, settings: &JobQueueSettings, jobs: &[JobId]) -> Result<Vec<bool>, JobBackendError> {
        let replayed = self.jobs().replay(settings, jobs).await?;
        let put_back: Vec<_> = jobs.iter().zip(&replayed).filter(|(_, it)| **it).map(|(job, _)| *job).collect();
        self.send_replayed(settings, &put_back).await?;
        Ok(replayed)
    }

    async fn replay_all(
        &self,
        settings: &JobQueueSettings,
        until: Option<Micros>,
    ) -> Result<ReplayedAll, JobBackendError> {
        let (replayed, jobs) = self.registry.replay_all(settings, until).await?;
        self.send_replayed(settings, &jobs).await?;
        Ok(replayed)
    }

    async fn resolve(
        &self,
        settings: &JobQueueSettings,
        job: JobId,
        resolution: Resolution,
    ) -> Result<bool, JobBackendError> {
        self.jobs().resolve(settings, job, resolution).await
    }

    async fn remove(&self, settings: &JobQueueSettings) -> Result<bool, JobBackendError> {
        self.jobs().remove(settings).await
    }

    async fn stats(&self, settings: &JobQueueSettings) -> Result<JobStats, JobBackendError> {
        self.jobs().stats(settings).await
    }
}
