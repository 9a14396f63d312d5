//! The jobs of job queues in Redis: each operation is one function call over the keys of one job queue.

mod keys;
mod messages;
mod packing;
mod reply;

use std::sync::Arc;

use async_trait::async_trait;
use fred::types::Value;
use tokio::time::Instant;
use vestibule_core::jobs::{
    BackendResult, Canceled, DeadLetterPosition, Detail, Drained, Enqueued, Extension, JOB_BATCH, JobBackend,
    JobBackendError, JobId, JobQueueSettings, JobStats, JobStore, JobView, Lease, NewJob, ProgressAdded,
    ProgressMessage, Received, ReplayedAll, Resolution, Settled, Settlement,
};
use vestibule_core::{Clock, Micros, StoreError};

use crate::address::{self, AddressError};
use crate::client::Client;
use crate::command::{Command, CommandError, Retry, nothing, text};
use crate::library::{Function, functions};
use crate::reply::Reply;
use crate::store::RedisOptions;

pub use keys::JobKeys;
pub use messages::{JobRegistry, MessageId, Registered, Start};
use packing::{id, pack_outcome, pack_settings};

/// A backend that keeps the jobs in Redis.
pub struct RedisJobs {
    client: Client,
    /// For operations that replicas confirm: their connections wait for it, which others must not.
    confirmed: Option<(Client, u8)>,
    clock: Option<Arc<dyn Clock>>,
    /// Whether a message queue brings the jobs.
    by_message: bool,
}

impl RedisJobs {
    /// A backend at this address; `batch_max` of the options concerns visits only. It connects in the background; operations
    /// fail until the server is reachable. Must be called within a Tokio runtime.
    ///
    /// # Errors
    /// Returns an error for an invalid address, unreadable TLS certificates, or a client that can't be created.
    pub fn connect(url: &str, options: RedisOptions) -> Result<Self, AddressError> {
        let config = address::parse(url)?;
        let open = || {
            let client = Client::open(config.clone(), options.timeout);
            client.map_err(|error| AddressError::Client(error.details().to_owned()))
        };
        let replicas = options.min_replicas;
        let confirmed = (replicas > 0).then(open).transpose()?.map(|client| (client, replicas));
        Ok(Self { client: open()?, confirmed, clock: options.clock, by_message: false })
    }

    /// Calls a function whose effect must not be lost if a replica takes over.
    async fn run_confirmed(
        &self,
        settings: &JobQueueSettings,
        function: &Function,
        arguments: impl IntoIterator<Item = Value>,
    ) -> BackendResult<Reply> {
        let (client, command) = self.confirmed(self.command(settings, function, arguments, Retry::Safe)?);
        execute(client, command).await
    }

    /// Calls a function that leases jobs. Jobs of a lost reply stay leased until their leases expire, so it is never repeated. A
    /// replica that did not have the lease of a held order would give the same one to another worker, and both could send the order
    /// (H7).
    async fn run_leasing(
        &self,
        settings: &JobQueueSettings,
        function: &Function,
        arguments: impl IntoIterator<Item = Value>,
    ) -> BackendResult<Reply> {
        let command = self.command(settings, function, arguments, Retry::Never)?;
        let (client, command) = if settings.holds_orders() { self.confirmed(command) } else { (&self.client, command) };
        execute(client, command).await
    }

    /// The command with the confirmation of replicas, and the client for it.
    fn confirmed(&self, command: Command) -> (&Client, Command) {
        match &self.confirmed {
            None => (&self.client, command),
            Some((client, replicas)) => (client, command.confirmed_by(*replicas)),
        }
    }

    async fn run(
        &self,
        settings: &JobQueueSettings,
        function: &Function,
        arguments: impl IntoIterator<Item = Value>,
        retry: Retry,
    ) -> BackendResult<Reply> {
        execute(&self.client, self.command(settings, function, arguments, retry)?).await
    }

    fn command(
        &self,
        settings: &JobQueueSettings,
        function: &Function,
        arguments: impl IntoIterator<Item = Value>,
        retry: Retry,
    ) -> BackendResult<Command> {
        let now = self.clock.as_ref().map_or_else(nothing, |clock| text(clock.now().0));
        let arguments = [now, pack_settings(settings, self.by_message)?].into_iter().chain(arguments);
        Ok(Command::call(function, JobKeys::of(settings).all(), arguments, retry))
    }

    /// As [`JobBackend::replay_all`], with the jobs that were put back.
    async fn replay_all_with_ids(
        &self,
        settings: &JobQueueSettings,
        until: Option<Micros>,
    ) -> BackendResult<(ReplayedAll, Vec<JobId>)> {
        let arguments = [until.map_or_else(nothing, |until| text(until.0))];
        let reply = self.run(settings, &functions().replay_all_jobs, arguments, Retry::Never).await?;
        Ok(reply.replayed_all()?)
    }
}

async fn execute(client: &Client, command: Command) -> BackendResult<Reply> {
    let reply = client.execute(command, Instant::now()).await.map_err(|failed| match failed {
        CommandError::NotSent(reason) | CommandError::Refused(reason) => JobBackendError::NotSent(reason),
        failed => StoreError::from(failed).into(),
    })?;
    Ok(Reply::of(reply)?)
}

/// A random number that tells calls of `enqueue` apart.
fn token() -> u32 {
    let [a, b, c, d, ..] = *JobId::random().as_bytes();
    u32::from_be_bytes([a, b, c, d])
}

#[async_trait]
impl JobBackend for RedisJobs {
    async fn enqueue(&self, settings: &JobQueueSettings, mut jobs: Vec<NewJob>) -> BackendResult<Vec<Enqueued>> {
        let count = jobs.len();
        jobs.truncate(JOB_BATCH);
        let mut arguments = vec![text(token())];
        for job in jobs {
            arguments.extend(packing::new_job(job)?);
        }
        // A repeated call answers as the first one did.
        let mut reply = self.run_confirmed(settings, &functions().enqueue_jobs, arguments).await?;
        let mut answers = (0..count.min(JOB_BATCH)).map(|_| reply.enqueued()).collect::<Result<Vec<_>, _>>()?;
        answers.resize(count, Enqueued::Full);
        Ok(answers)
    }

    async fn receive(&self, settings: &JobQueueSettings, max: usize) -> BackendResult<Received> {
        let reply = self.run_leasing(settings, &functions().receive_jobs, [text(max.min(JOB_BATCH))]).await?;
        Ok(reply.received()?)
    }

    async fn extend(&self, settings: &JobQueueSettings, leases: &[Extension]) -> BackendResult<Vec<bool>> {
        let arguments = leases.iter().flat_map(|Extension { lease, seconds, is_sent }| {
            [id(lease.job), text(lease.receive_count), text(*seconds), text(u8::from(*is_sent))]
        });
        let extend = &functions().extend_leases;
        let mut reply = if leases.iter().any(|lease| lease.is_sent) {
            self.run_confirmed(settings, extend, arguments).await?
        } else {
            self.run(settings, extend, arguments, Retry::Safe).await?
        };
        leases.iter().map(|_| Ok(reply.flag()?)).collect()
    }

    async fn settle(&self, settings: &JobQueueSettings, settlements: Vec<Settlement>) -> BackendResult<Vec<Settled>> {
        let count = settlements.len();
        let mut arguments = Vec::with_capacity(3 * count);
        for Settlement { lease, outcome } in settlements {
            let (details, response) = pack_outcome(settings, lease.receive_count, outcome)?;
            arguments.extend([id(lease.job), details, response]);
        }
        let mut reply = self.run(settings, &functions().settle_jobs, arguments, Retry::Safe).await?;
        (0..count).map(|_| Ok(reply.settled()?)).collect()
    }

    async fn replay(&self, settings: &JobQueueSettings, jobs: &[JobId]) -> BackendResult<Vec<bool>> {
        let mut reply =
            self.run(settings, &functions().replay_jobs, jobs.iter().copied().map(id), Retry::Never).await?;
        jobs.iter().map(|_| Ok(reply.flag()?)).collect()
    }

    async fn replay_all(&self, settings: &JobQueueSettings, until: Option<Micros>) -> BackendResult<ReplayedAll> {
        self.replay_all_with_ids(settings, until).await.map(|(replayed, _)| replayed)
    }

    fn store(&self) -> &dyn JobStore {
        self
    }
}

#[async_trait]
impl JobStore for RedisJobs {
    async fn get(
        &self,
        settings: &JobQueueSettings,
        jobs: &[JobId],
        detail: Detail,
    ) -> BackendResult<Vec<Option<JobView>>> {
        let arguments = [text(detail.as_str())].into_iter().chain(jobs.iter().map(|job| id(*job)));
        let mut reply = self.run(settings, &functions().get_jobs, arguments, Retry::Safe).await?;
        jobs.iter().map(|job| Ok(reply.job_view(*job, detail)?)).collect()
    }

    async fn add_progress(
        &self,
        settings: &JobQueueSettings,
        lease: Lease,
        message: ProgressMessage,
    ) -> BackendResult<ProgressAdded> {
        let arguments = [id(lease.job), text(lease.receive_count), text(message.as_str())];
        // A message of a lost reply may have been added, and would be there twice.
        let mut reply = self.run(settings, &functions().add_progress, arguments, Retry::Never).await?;
        Ok(reply.progress_added()?)
    }

    async fn mark_delivered(&self, settings: &JobQueueSettings, job: JobId) -> BackendResult<()> {
        self.run(settings, &functions().mark_delivered, [id(job)], Retry::Safe).await.map(drop)
    }

    async fn cancel(&self, settings: &JobQueueSettings, jobs: &[JobId]) -> BackendResult<Vec<Canceled>> {
        // A repeated call would say that the jobs are not known.
        let mut reply =
            self.run(settings, &functions().cancel_jobs, jobs.iter().copied().map(id), Retry::Never).await?;
        jobs.iter().map(|_| Ok(reply.canceled()?)).collect()
    }

    async fn remove(&self, settings: &JobQueueSettings) -> BackendResult<bool> {
        let mut reply = self.run(settings, &functions().remove_jobs, [], Retry::Never).await?;
        Ok(reply.flag()?)
    }

    async fn create(&self, settings: &JobQueueSettings) -> BackendResult<()> {
        self.run(settings, &functions().create_job_queue, [], Retry::Safe).await.map(drop)
    }

    async fn reap(&self, settings: &JobQueueSettings) -> BackendResult<bool> {
        let mut reply = self.run(settings, &functions().reap_jobs, [], Retry::Safe).await?;
        Ok(reply.flag()?)
    }

    async fn drain(&self, settings: &JobQueueSettings) -> BackendResult<Drained> {
        let reply = self.run(settings, &functions().drain_jobs, [], Retry::Never).await?;
        Ok(reply.drained()?)
    }

    async fn dead_letters(
        &self,
        settings: &JobQueueSettings,
        before: Option<DeadLetterPosition>,
        limit: usize,
    ) -> BackendResult<Vec<JobView>> {
        let (ended_at, sequence) =
            before.map_or_else(|| (nothing(), nothing()), |before| (text(before.ended_at.0), text(before.sequence)));
        let arguments = [text(limit.min(JOB_BATCH)), ended_at, sequence];
        let reply = self.run(settings, &functions().dead_letters, arguments, Retry::Safe).await?;
        Ok(reply.dead_letters()?)
    }

    async fn delete_dead(&self, settings: &JobQueueSettings, jobs: &[JobId]) -> BackendResult<Vec<bool>> {
        let mut reply =
            self.run(settings, &functions().delete_dead, jobs.iter().copied().map(id), Retry::Never).await?;
        jobs.iter().map(|_| Ok(reply.flag()?)).collect()
    }

    async fn resolve(&self, settings: &JobQueueSettings, job: JobId, resolution: Resolution) -> BackendResult<bool> {
        let arguments = [id(job), text(resolution.as_str())];
        let mut reply = self.run(settings, &functions().resolve_job, arguments, Retry::Safe).await?;
        Ok(reply.flag()?)
    }

    async fn stats(&self, settings: &JobQueueSettings) -> BackendResult<JobStats> {
        let reply = self.run(settings, &functions().job_stats, [], Retry::Safe).await?;
        Ok(reply.job_stats()?)
    }
}
