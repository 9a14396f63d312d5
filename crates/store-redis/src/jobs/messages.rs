//! The state of jobs that a message queue carries: registered here, and started by the messages that bring them.

use std::time::Duration;

use fred::types::Value;
use vestibule_core::Micros;
use vestibule_core::jobs::{BackendResult, Enqueued, JobId, JobQueueSettings, LeasedJob, NewJob, Payload, ReplayedAll};

use super::packing::{self, id};
use super::{RedisJobs, token};
use crate::address::AddressError;
use crate::command::{Retry, text};
use crate::library::functions;
use crate::store::RedisOptions;

/// A message that brings a job of a job queue. A job that is accepted, or replayed, has a message with a number of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MessageId {
    /// The job.
    pub job: JobId,
    /// Higher than that of job queues with the same ID that were removed before.
    pub generation: u64,
    /// Which of its messages.
    pub number: u64,
}

impl MessageId {
    fn arguments(self) -> [Value; 3] {
        [id(self.job), text(self.generation), text(self.number)]
    }
}

/// What became of a job to register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registered {
    /// What became of it.
    pub answer: Enqueued,
    /// The message to send: of a new job, or of the one that it duplicates if that has the same content and no message of it has
    /// arrived.
    pub message: Option<MessageId>,
}

/// Whether the job of a message can start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// It is leased. Its payload has no bytes: the message has them.
    Started(LeasedJob),
    /// It can't start before this time has passed. It may have to wait longer.
    Waits(Duration),
    /// It has ended, or another message brings it. The message is not needed any more.
    Finished,
    /// It is a dead letter without the bytes of its payload, which the message has.
    NeedsPayload,
    /// It is not known.
    Lost,
}

/// The state of jobs whose payloads are in messages. What does not concern messages is done by [`Self::jobs`].
pub struct JobRegistry {
    jobs: RedisJobs,
}

impl JobRegistry {
    /// A registry at this address, which is connected as [`RedisJobs::connect`] does it.
    ///
    /// # Errors
    /// Returns the errors of [`RedisJobs::connect`].
    pub fn connect(url: &str, options: RedisOptions) -> Result<Self, AddressError> {
        Ok(Self { jobs: RedisJobs { by_message: true, ..RedisJobs::connect(url, options)? } })
    }

    /// The jobs.
    pub const fn jobs(&self) -> &RedisJobs {
        &self.jobs
    }

    /// The jobs, for a process that only reads them.
    pub fn into_jobs(self) -> RedisJobs {
        self.jobs
    }

    /// Registers jobs as accepted. Their messages must be sent then.
    ///
    /// # Errors
    /// Returns the backend's error. The jobs may or may not have been registered.
    pub async fn register(&self, settings: &JobQueueSettings, jobs: &[NewJob]) -> BackendResult<Vec<Registered>> {
        let mut arguments = vec![text(token())];
        for job in jobs {
            arguments.extend([id(job.id), packing::fields_by_message(job)?]);
        }
        // A repeated call answers as the first one did.
        let mut reply = self.jobs.run(settings, &functions().register_jobs, arguments, Retry::Safe).await?;
        jobs.iter().map(|job| Ok(reply.registered(job.id)?)).collect()
    }

    /// Withdraws jobs, at most [`JOB_BATCH`](vestibule_core::jobs::JOB_BATCH), whose messages were not sent. Replayed ones are dead
    /// letters again, for which the message may also have been sent: it finds that its job has ended. `false` for a job that stays,
    /// because a message of it has arrived, or another request sends it, too.
    ///
    /// # Errors
    /// Returns the backend's error. The jobs may or may not have been withdrawn.
    pub async fn withdraw(&self, settings: &JobQueueSettings, jobs: &[JobId]) -> BackendResult<Vec<bool>> {
        let ids = jobs.iter().copied().map(id);
        let mut reply = self.jobs.run(settings, &functions().withdraw_jobs, ids, Retry::Safe).await?;
        jobs.iter().map(|_| Ok(reply.flag()?)).collect()
    }

    /// The messages that bring these jobs, at most [`JOB_BATCH`](vestibule_core::jobs::JOB_BATCH), which were replayed. `None` for a
    /// job that needs none.
    ///
    /// # Errors
    /// Returns the backend's error.
    pub async fn messages_to_send(
        &self,
        settings: &JobQueueSettings,
        jobs: &[JobId],
    ) -> BackendResult<Vec<Option<MessageId>>> {
        let ids = jobs.iter().copied().map(id);
        let mut reply = self.jobs.run(settings, &functions().messages_to_send, ids, Retry::Safe).await?;
        jobs.iter().map(|job| Ok(reply.message_to_send(*job)?)).collect()
    }

    /// Records that messages, at most [`JOB_BATCH`](vestibule_core::jobs::JOB_BATCH), of jobs that have ended were deleted. It is
    /// remembered of the other jobs that they have ended, for as long as a message can arrive.
    ///
    /// # Errors
    /// Returns the backend's error. It may or may not have been recorded.
    pub async fn messages_deleted(&self, settings: &JobQueueSettings, messages: &[MessageId]) -> BackendResult<()> {
        let arguments = messages.iter().flat_map(|message| message.arguments());
        self.jobs.run(settings, &functions().message_deleted, arguments, Retry::Safe).await.map(drop)
    }

    /// Leases the jobs of messages that can start now, at most [`JOB_BATCH`](vestibule_core::jobs::JOB_BATCH).
    ///
    /// # Errors
    /// Returns the backend's error. The jobs may have been leased; such leases expire.
    pub async fn start(&self, settings: &JobQueueSettings, messages: &[MessageId]) -> BackendResult<Vec<Start>> {
        let arguments = messages.iter().flat_map(|message| message.arguments());
        let mut reply = self.jobs.run_leasing(settings, &functions().start_jobs, arguments).await?;
        messages.iter().map(|message| Ok(reply.started(message.job)?)).collect()
    }

    /// Registers the job of a message again that is not known, because Redis has lost its data. If an equal one was accepted
    /// meanwhile, or the job queue removed, nothing happens. A held order that may have been started before becomes a dead letter whose outcome is unknown.
    ///
    /// # Errors
    /// Returns the backend's error. The job may or may not have been registered.
    pub async fn restore(
        &self,
        settings: &JobQueueSettings,
        job: &NewJob,
        message: MessageId,
        enqueued_at: Micros,
        may_be_started: bool,
    ) -> BackendResult<()> {
        let flag = text(u8::from(may_be_started));
        let (generation, number) = (text(message.generation), text(message.number));
        let fields = packing::fields_by_message(job)?;
        let arguments = [id(job.id), fields, generation, number, text(enqueued_at.0), flag];
        self.jobs.run(settings, &functions().restore_job, arguments, Retry::Safe).await.map(drop)
    }

    /// Keeps the payload of a dead letter. Nothing happens if the job is none.
    ///
    /// # Errors
    /// Returns the backend's error. The payload may or may not have been stored.
    pub async fn keep_payload(&self, settings: &JobQueueSettings, job: JobId, payload: &Payload) -> BackendResult<()> {
        let arguments = [id(job), Value::Bytes(payload.bytes.clone().into())];
        // The message is deleted then.
        self.jobs.run_confirmed(settings, &functions().keep_payload, arguments).await.map(drop)
    }

    /// Puts dead letters back as [`replay_all`](vestibule_core::jobs::JobBackend::replay_all) does. Returns which ones, too:
    /// their messages must be sent then.
    ///
    /// # Errors
    /// Returns the backend's error. The jobs may or may not have been put back.
    pub async fn replay_all(
        &self,
        settings: &JobQueueSettings,
        until: Option<Micros>,
    ) -> BackendResult<(ReplayedAll, Vec<JobId>)> {
        self.jobs.replay_all_with_ids(settings, until).await
    }
}
