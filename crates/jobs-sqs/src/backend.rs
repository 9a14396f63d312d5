//! The backend: what Redis and SQS do in each operation, and in which order.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use async_trait::async_trait;
use tracing::warn;
use vestibule_aws::AwsServer;
use vestibule_core::Micros;
use vestibule_core::jobs::{
    BackendResult, Detail, Enqueued, Extension, JOB_BATCH, JobBackend, JobBackendError, JobId, JobQueueSettings,
    JobState, JobStore, JobTargetKind, Lease, LeasedJob, NewJob, PAYLOAD_MAX, RECEIVE_BYTES, Received, ReplayedAll,
    Settled, Settlement,
};
use vestibule_store_redis::{AddressError, JobRegistry, MessageId, RedisJobs, RedisOptions, Registered, Start};

use crate::address::SqsPrefix;
use crate::in_flight::{Held, InFlight};
use crate::message::{Delivery, JobMessage};
use crate::queues::{BATCH, Queues, SendError};

/// How long a message of another job queue is hidden.
const OTHERS_WAIT: Duration = Duration::from_secs(5);
/// Why a job queue with the target `pull` takes no jobs.
const PULL_REFUSED: &str = "nobody can receive the jobs of one job queue from SQS; use a target other than \"pull\", or keep the \
    jobs in Redis";
/// Payloads of this many jobs are read at a time, so that the reply arrives in time over a slow connection.
const READ_BATCH: usize = RECEIVE_BYTES as usize / PAYLOAD_MAX;
/// How long messages are hidden while Redis is unavailable.
const UNAVAILABLE_WAIT: Duration = Duration::from_secs(30);

/// What became of a message.
pub enum MessageOutcome {
    /// Its job is leased.
    Started(LeasedJob),
    /// Its job can't start yet. The message is hidden until it may.
    Waits,
    /// It is not needed any more, and was deleted.
    Ended,
}

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

    /// Sends messages of registered jobs, at most [`JOB_BATCH`]. Returns those that were not sent, or may not have been: `NotSent` for
    /// jobs that were withdrawn, which are those whose errors `is_withdrawn` names and of which no other message is on its way.
    async fn send(
        &self,
        settings: &JobQueueSettings,
        messages: &[JobMessage],
        is_withdrawn: impl Fn(&SendError) -> bool,
    ) -> HashMap<JobId, JobBackendError> {
        let sent = self.queues.send(settings.id.is_fifo(), messages, self.in_flight.is_timed_by_sqs()).await;
        let failed = messages.iter().zip(sent).filter_map(|(message, sent)| Some((message.id().job, sent.err()?)));
        let failed: Vec<_> = failed.collect();
        let Some((_, first)) = failed.first() else { return HashMap::new() };
        warn!(job_queue = %settings.id, jobs = failed.len(), error = first.reason, "messages of jobs could not be sent");
        let unsent: Vec<_> = failed.iter().filter(|(_, error)| is_withdrawn(error)).map(|(job, _)| *job).collect();
        let withdrawn = self.withdraw(settings, &unsent).await;
        let error = |job, reason| not_sent(withdrawn.contains(&job), reason);
        failed.into_iter().map(|(job, SendError { reason, .. })| (job, error(job, reason))).collect()
    }

    /// Withdraws jobs whose messages were not sent. Returns those that were.
    async fn withdraw(&self, settings: &JobQueueSettings, jobs: &[JobId]) -> HashSet<JobId> {
        if jobs.is_empty() {
            return HashSet::new();
        }
        let withdrawn = self.registry.withdraw(settings, jobs).await.unwrap_or_else(|error| {
            warn!(job_queue = %settings.id, jobs = jobs.len(), %error, "jobs that were not sent could not be withdrawn");
            Vec::new()
        });
        jobs.iter().zip(withdrawn).filter_map(|(job, is_withdrawn)| is_withdrawn.then_some(*job)).collect()
    }

    /// Sends the messages of jobs that were replayed. Those that may not have been sent are dead letters again: a message that was sent
    /// all the same finds that its job has ended. If this process stops before, they are when `retention` has passed.
    async fn send_replayed(&self, settings: &JobQueueSettings, jobs: &[JobId]) -> BackendResult<()> {
        let (mut errors, mut sent) = (Vec::new(), 0);
        for jobs in jobs.chunks(JOB_BATCH) {
            match self.replayed_messages(settings, jobs).await {
                Ok(messages) => {
                    let failed = self.send(settings, &messages, |_| true).await;
                    sent += messages.len() - failed.len();
                    errors.extend(failed.into_values());
                }
                Err(error) => {
                    let withdrawn = self.withdraw(settings, jobs).await;
                    errors.extend(jobs.iter().map(|job| not_sent(withdrawn.contains(job), error.to_string())));
                }
            }
        }
        let uncertain = errors.iter().position(|error| !matches!(error, JobBackendError::NotSent(_)));
        match errors.into_iter().nth(uncertain.unwrap_or(0)) {
            Some(JobBackendError::NotSent(reason)) if sent > 0 => Err(JobBackendError::Unavailable(reason)),
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    async fn replayed_messages(&self, settings: &JobQueueSettings, jobs: &[JobId]) -> BackendResult<Vec<JobMessage>> {
        let ids = self.registry.messages_to_send(settings, jobs).await?;
        let mut views = Vec::with_capacity(jobs.len());
        for jobs in jobs.chunks(READ_BATCH) {
            views.extend(self.jobs().get(settings, jobs, Detail::Contents).await?);
        }
        let pairs = views.into_iter().zip(ids).filter_map(|(view, id)| view.zip(id));
        Ok(pairs.filter_map(|(view, id)| JobMessage::replayed(settings, view, id)).collect())
    }

    /// Deletes messages of jobs that have ended.
    async fn delete(&self, settings: &JobQueueSettings, ended: Vec<(String, MessageId)>) {
        let (handles, ids): (Vec<_>, Vec<_>) = ended.into_iter().unzip();
        let deleted = self.queues.delete(settings.id.is_fifo(), &handles).await;
        let deleted: Vec<_> =
            ids.into_iter().zip(deleted).filter_map(|(id, is_deleted)| is_deleted.then_some(id)).collect();
        for deleted in deleted.chunks(JOB_BATCH) {
            if let Err(error) = self.registry.messages_deleted(settings, deleted).await {
                warn!(job_queue = %settings.id, jobs = deleted.len(), %error, "Redis remembers longer than needed that jobs have ended");
            }
        }
    }

    /// Whether the jobs of these messages can start. Jobs that Redis has lost are registered again before.
    async fn ask(&self, settings: &JobQueueSettings, deliveries: &[Delivery]) -> BackendResult<Vec<Start>> {
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
    async fn restore(&self, settings: &JobQueueSettings, delivery: &Delivery) -> BackendResult<Start> {
        let (id, job) = (delivery.message.id(), delivery.new_job());
        self.registry.restore(settings, &job, id, delivery.sent_at, delivery.may_be_repeated).await?;
        let mut again = self.registry.start(settings, &[id]).await?;
        Ok(again.pop().unwrap_or(Start::Lost))
    }

    /// Forgets the messages of leases that have expired.
    pub(crate) fn forget_expired(&self) {
        self.in_flight.expire();
    }

    /// Hides messages for these times.
    pub(crate) async fn hide(&self, is_fifo: bool, hidden: Vec<(String, Duration)>) {
        self.in_flight.hide(&self.queues, is_fifo, hidden).await;
    }

    /// Starts the jobs of these messages that can start, and hides or deletes the others. The answers are in their order.
    pub(crate) async fn start(
        &self,
        settings: &JobQueueSettings,
        deliveries: Vec<Delivery>,
    ) -> BackendResult<Vec<MessageOutcome>> {
        let is_fifo = settings.id.is_fifo();
        let starts = match self.ask(settings, &deliveries).await {
            Ok(starts) => starts,
            Err(error) => {
                let hidden = deliveries.into_iter().map(|delivery| (delivery.handle, UNAVAILABLE_WAIT)).collect();
                self.hide(is_fifo, hidden).await;
                return Err(error);
            }
        };
        let (mut brought, mut hidden, mut deleted) = (Vec::new(), Vec::new(), Vec::new());
        for (delivery, start) in deliveries.into_iter().zip(starts) {
            brought.push(match start {
                Start::Started(mut job) => {
                    job.payload.bytes.clone_from(&delivery.payload.bytes);
                    self.in_flight.hold(job.lease, is_fifo, delivery, settings.lease_seconds());
                    MessageOutcome::Started(job)
                }
                Start::Waits(time) => {
                    hidden.push((delivery.handle, time));
                    MessageOutcome::Waits
                }
                // An equal job was accepted after this one was lost.
                Start::Finished | Start::Lost => {
                    deleted.push((delivery.handle, delivery.message.id()));
                    MessageOutcome::Ended
                }
                Start::NeedsPayload => {
                    let id = delivery.message.id();
                    let job = id.job;
                    match self.registry.keep_payload(settings, job, &delivery.payload).await {
                        Ok(()) => {
                            deleted.push((delivery.handle, id));
                            MessageOutcome::Ended
                        }
                        Err(error) => {
                            warn!(job_queue = %settings.id, %job, %error, "the payload of a dead letter could not be stored yet");
                            hidden.push((delivery.handle, UNAVAILABLE_WAIT));
                            MessageOutcome::Waits
                        }
                    }
                }
            });
        }
        self.hide(is_fifo, hidden).await;
        self.delete(settings, deleted).await;
        Ok(brought)
    }

    /// Receives messages once, and starts their jobs; `None` if there are no messages.
    async fn receive_once(&self, settings: &JobQueueSettings, max: usize) -> BackendResult<Option<Vec<LeasedJob>>> {
        let is_fifo = settings.id.is_fifo();
        let deliveries = self.queues.receive(is_fifo, max).await?;
        if deliveries.is_empty() {
            return Ok(None);
        }
        let (own, others): (Vec<_>, Vec<_>) =
            deliveries.into_iter().partition(|delivery| delivery.message.is_of(settings));
        let others = others.into_iter().map(|delivery| (delivery.handle, OTHERS_WAIT)).collect();
        self.hide(is_fifo, others).await;
        // Boxed, because every receive carries this future.
        let brought = Box::pin(self.start(settings, own)).await?.into_iter();
        let started = brought.filter_map(|it| if let MessageOutcome::Started(job) = it { Some(job) } else { None });
        Ok(Some(started.collect()))
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
                        Ok(()) => deleted.push((held.handle, held.id)),
                        // Its message comes again.
                        Err(error) => {
                            warn!(job_queue = %settings.id, job = %lease.job, %error, "the payload of a dead letter could not be stored yet");
                        }
                    }
                }
                JobState::Completed | JobState::Failed | JobState::Unknown => deleted.push((held.handle, held.id)),
            }
        }
        self.delete(settings, deleted).await;
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

/// Why the message of a job was not sent, or may not have been if the job could not be withdrawn.
fn not_sent(is_withdrawn: bool, reason: String) -> JobBackendError {
    if is_withdrawn { JobBackendError::NotSent(reason) } else { JobBackendError::Unavailable(reason) }
}

#[async_trait]
impl JobBackend for SqsJobs {
    async fn enqueue(&self, settings: &JobQueueSettings, mut jobs: Vec<NewJob>) -> BackendResult<Vec<Enqueued>> {
        if settings.target.kind == JobTargetKind::Pull {
            return Err(JobBackendError::NotSent(PULL_REFUSED.to_owned()));
        }
        let count = jobs.len();
        jobs.truncate(JOB_BATCH);
        let registered = self.registry.register(settings, &jobs).await?;
        // Of each answer, the job that is stored.
        let stored: Vec<_> = jobs
            .iter()
            .zip(&registered)
            .map(|(job, it)| if let Enqueued::Duplicate(first) = it.answer { first } else { job.id })
            .collect();
        let (mut messages, mut with_message) = (Vec::new(), HashSet::new());
        for (job, Registered { answer, message }) in jobs.into_iter().zip(&registered) {
            // Duplicates within this call have the message of the first one.
            if let Some(id) = message.filter(|id| with_message.insert(id.job)) {
                messages.push(JobMessage::of(settings, job, id, matches!(answer, Enqueued::Duplicate(_))));
            }
        }
        let failed = self.send(settings, &messages, |error| error.is_certain).await;
        let answers =
            registered.into_iter().zip(stored).map(|(Registered { answer, .. }, job)| match failed.get(&job) {
                Some(JobBackendError::NotSent(_)) => Enqueued::NotSent,
                Some(_) => Enqueued::Unconfirmed,
                None => answer,
            });
        let mut answers: Vec<_> = answers.collect();
        answers.resize(count, Enqueued::Full);
        Ok(answers)
    }

    /// Receives messages of all job queues of this kind and keeps those of this job queue, so it is for few job queues. When the
    /// next job can start is not known: SQS brings it.
    async fn receive(&self, settings: &JobQueueSettings, max: usize) -> BackendResult<Received> {
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
        Ok(Received { jobs, next_due: None, has_more: false })
    }

    async fn extend(&self, settings: &JobQueueSettings, leases: &[Extension]) -> BackendResult<Vec<bool>> {
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

    async fn settle(&self, settings: &JobQueueSettings, settlements: Vec<Settlement>) -> BackendResult<Vec<Settled>> {
        let leases: Vec<_> = settlements.iter().map(|settlement| settlement.lease).collect();
        let settled = self.jobs().settle(settings, settlements).await?;
        self.finish(settings, leases.into_iter().zip(settled.iter().copied()).collect()).await;
        Ok(settled)
    }

    async fn replay(&self, settings: &JobQueueSettings, jobs: &[JobId]) -> BackendResult<Vec<bool>> {
        let replayed = self.jobs().replay(settings, jobs).await?;
        let put_back: Vec<_> = jobs.iter().zip(&replayed).filter(|(_, it)| **it).map(|(job, _)| *job).collect();
        self.send_replayed(settings, &put_back).await?;
        Ok(replayed)
    }

    async fn replay_all(&self, settings: &JobQueueSettings, until: Option<Micros>) -> BackendResult<ReplayedAll> {
        let (replayed, jobs) = self.registry.replay_all(settings, until).await?;
        self.send_replayed(settings, &jobs).await?;
        Ok(replayed)
    }

    /// Nobody can receive the jobs of one job queue from an SQS queue that many share.
    fn supports_pull(&self) -> bool {
        false
    }

    fn store(&self) -> &dyn JobStore {
        self.jobs()
    }
}
