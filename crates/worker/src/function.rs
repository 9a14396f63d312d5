//! The worker as a Lambda function: runs the jobs of the messages that Lambda receives from SQS, and each minute what schedules and
//! webhooks need.

use std::collections::{HashMap, VecDeque};
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use lambda_runtime::Diagnostic;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tracing::warn;
use vestibule_core::jobs::{
    JobBackend, JobGroupId, JobQueueId, JobQueueSettings, JobState, JobTargetKind, LeasedJob, Settled,
};
use vestibule_core::{Clock as _, PassSigner, Store, StoreError, SystemClock};
use vestibule_jobs_sqs::{MessageOutcome, SqsJobs, SqsMessage, SqsMessages};
use vestibule_runtime::{CachedJobQueue, Directory, JobQueues};

use crate::dispatcher::{confirm, log_call};
use crate::leases::Leases;
use crate::public_url::PublicUrl;
use crate::reaper;
use crate::schedules::Scheduler;
use crate::settler::settle;
use crate::target::{CallParts, Target};
use crate::webhooks::{JobEvents, Queues, Watcher};
use crate::worker::EVENTS_LIMIT;

/// Longest time that a call in a function may take, in seconds. A longer `timeout` of a job queue counts as this one.
pub const FUNCTION_TIMEOUT_MAX: u64 = 870;
/// Time of an invocation that calls don't get: for what is before and after them. With [`FUNCTION_TIMEOUT_MAX`] at most the 900
/// seconds that an invocation can have.
const RESERVE: Duration = Duration::from_secs(15);
/// For how long messages of an invocation are hidden while they wait in it.
const WAITING_HIDDEN: Duration = Duration::from_mins(1);
/// Interval at which they are hidden again.
const HIDE_INTERVAL: Duration = Duration::from_secs(20);
/// For how long a message is hidden whose job queue can't be read, or whose target can't be called.
const RETRY_LATER: Duration = Duration::from_secs(30);
/// For how long a message is hidden that nobody can run until an operator does something.
const NEEDS_OPERATOR: Duration = Duration::from_mins(15);

/// An invocation that did not do what it was for, so that it counts as an error.
#[derive(Debug, thiserror::Error)]
pub enum FunctionError {
    /// Schedules or webhooks could not be followed.
    #[error("schedules and webhooks wait for the next minute: {0}")]
    Minute(String),
    /// The event has records that are not those of SQS.
    #[error("this function takes messages of SQS and the event of a schedule: {0}")]
    Event(#[from] serde_json::Error),
}

impl From<FunctionError> for Diagnostic {
    fn from(error: FunctionError) -> Self {
        let error_type = match error {
            FunctionError::Minute(_) => "MinuteFailed",
            FunctionError::Event(_) => "UnsupportedEvent",
        };
        Self { error_type: error_type.to_owned(), error_message: error.to_string() }
    }
}

/// What became of a message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ran {
    /// Its job has ended. The message can be deleted.
    Done,
    /// Its job is a dead letter. The message is deleted as soon as its payload is stored.
    Dead,
    /// Its job has not ended. The message comes again.
    Again,
}

/// Why a message has no target.
enum NoTarget {
    /// Its job queue was removed, so it can be deleted.
    Removed,
    /// It is hidden for this time.
    Hidden(Duration),
}

/// The state of the function between invocations.
pub struct Function {
    job_queues: Arc<JobQueues>,
    jobs: Arc<SqsJobs>,
    parts: CallParts,
    scheduler: tokio::sync::Mutex<Scheduler>,
    watcher: Watcher,
}

/// What an invocation needs.
struct Invocation<'a> {
    function: &'a Function,
    events: JobEvents,
    /// When the last call must have ended.
    calls_until: Instant,
    /// The longest time that a call could have had.
    call_time_max: Duration,
    /// Connections are not kept for the next invocation: while the function is frozen, nobody sees them end.
    targets: Mutex<HashMap<JobQueueId, Target>>,
}

impl Function {
    /// A worker for these job queues, whose backend is `jobs`. `passes` signs the passes of held orders, `public_url` is where
    /// handlers reach the gate to report progress. The queues of `store` are watched for webhooks.
    pub fn new(
        job_queues: Arc<JobQueues>,
        jobs: Arc<SqsJobs>,
        passes: PassSigner,
        public_url: Option<&PublicUrl>,
        store: Arc<dyn Store>,
        directory: Arc<Directory>,
    ) -> Self {
        let public_url = public_url.map(|url| url.as_str().into());
        Self {
            parts: CallParts { passes: Arc::new(passes), public_url, is_function: true },
            jobs,
            scheduler: Scheduler::new(job_queues.clone()).into(),
            watcher: Watcher::new(job_queues.clone(), Queues { store, directory }),
            job_queues,
        }
    }

    /// Runs the jobs of an event of SQS, before `deadline_ms` (milliseconds since 1970). Every other event stands for a minute.
    /// Returns which messages come again, as `ReportBatchItemFailures` needs it.
    ///
    /// # Errors
    /// The event has other records, or what the minute needs could not be done.
    pub async fn call(&self, event: Value, deadline_ms: u64) -> Result<Value, FunctionError> {
        let left = Duration::from_millis(deadline_ms.saturating_sub(SystemClock::new().now().0 / 1000));
        let deadline = Instant::now() + left;
        if event.get("Records").is_some() {
            let messages = SqsMessages::of_event(event)?;
            // Boxed, because the types of nested futures have a limit.
            return Ok(self.run_messages(messages, deadline).boxed().await);
        }
        self.minute().await?;
        Ok(Value::Null)
    }

    /// Enqueues the jobs of schedules that are due, and the webhook events about queues, and removes what has expired.
    async fn minute(&self) -> Result<(), FunctionError> {
        let scheduled = self.scheduler.lock().await.enqueue_due().await;
        let watched = self.watcher.compare().await;
        reaper::reap(&self.job_queues).await;
        scheduled.map_err(|error| FunctionError::Minute(error.to_string()))?;
        watched.map_err(|error| FunctionError::Minute(error.to_string()))
    }

    async fn run_messages(&self, messages: SqsMessages, deadline: Instant) -> Value {
        let SqsMessages { jobs, others: mut again } = messages;
        if !again.is_empty() {
            warn!(messages = again.len(), "messages of SQS carry no job; is the SQS queue used for anything else?");
        }
        self.jobs.hide_messages(&jobs, WAITING_HIDDEN).await;
        let (events, publish) = JobEvents::new(self.job_queues.clone());
        let publishing = tokio::spawn(publish);
        let invocation = Invocation {
            function: self,
            events,
            calls_until: deadline.checked_sub(RESERVE).unwrap_or(deadline),
            call_time_max: deadline.saturating_duration_since(Instant::now()).saturating_sub(RESERVE),
            targets: Mutex::default(),
        };
        let groups = by_group(jobs).into_iter().map(|group| invocation.run_group(group));
        again.extend(join_all(groups).await.into_iter().flatten());
        drop(invocation);
        if timeout(EVENTS_LIMIT, publishing).await.is_err() {
            warn!("webhook events about jobs could not be enqueued before the end of the invocation");
        }
        let failures: Vec<_> = again.into_iter().map(|id| json!({ "itemIdentifier": id })).collect();
        json!({ "batchItemFailures": failures })
    }
}

/// The messages of each group in their order; each message without a group by itself.
fn by_group(messages: Vec<SqsMessage>) -> Vec<VecDeque<SqsMessage>> {
    let mut groups: Vec<VecDeque<SqsMessage>> = Vec::new();
    let key = |message: &SqsMessage| -> Option<(JobQueueId, JobGroupId)> {
        Some((message.job_queue().clone(), message.group()?.clone()))
    };
    for message in messages {
        let wanted = key(&message);
        let known = groups.iter_mut().find(|group| wanted.is_some() && group.front().and_then(key) == wanted);
        match known {
            Some(group) => group.push_back(message),
            None => groups.push(VecDeque::from([message])),
        }
    }
    groups
}

impl Invocation<'_> {
    /// Runs the jobs of a group one after the other, up to the first that has not ended. Returns the messages that come again.
    async fn run_group(&self, mut waiting: VecDeque<SqsMessage>) -> Vec<String> {
        let mut again = Vec::new();
        let mut hide_at = Instant::now() + HIDE_INTERVAL;
        while let Some(message) = waiting.pop_front() {
            let id = message.id().to_owned();
            let ran = tokio::select! {
                ran = self.run(message).boxed() => ran,
                () = self.keep_hidden(&waiting, &mut hide_at) => Ran::Again,
            };
            if ran != Ran::Done {
                again.push(id);
            }
            if ran == Ran::Again {
                break;
            }
        }
        // SQS delivers nothing of the group before the first of them.
        self.function.jobs.hide_messages(&waiting, Duration::ZERO).await;
        again.extend(waiting.iter().map(|message| message.id().to_owned()));
        again
    }

    /// Keeps the messages hidden that wait for their turn, from `hide_at` on. Never returns.
    async fn keep_hidden(&self, waiting: &VecDeque<SqsMessage>, hide_at: &mut Instant) {
        if waiting.is_empty() {
            return pending().await;
        }
        loop {
            sleep_until(*hide_at).await;
            *hide_at = Instant::now() + HIDE_INTERVAL;
            self.function.jobs.hide_messages(waiting, WAITING_HIDDEN).await;
        }
    }

    /// Runs the job of a message, if it can start and its call can end in time (J12).
    async fn run(&self, message: SqsMessage) -> Ran {
        let (job_queue, target) = match self.target(message.job_queue()).await {
            Ok(found) => found,
            Err(NoTarget::Removed) => return Ran::Done,
            Err(NoTarget::Hidden(time)) => return self.postpone(message, time).await,
        };
        if !message.is_of(&job_queue.settings) {
            warn!(job_queue = %job_queue.settings.id, "a message is for a removed job queue of another tenant");
            return self.postpone(message, NEEDS_OPERATOR).await;
        }
        let call_time = Duration::from_secs(job_queue.settings.timeout);
        if call_time > self.call_time_max {
            let job_queue = &job_queue.settings.id;
            warn!(%job_queue, ?call_time, "the function ends before a call of this job queue would; raise the function's timeout");
            return self.postpone(message, NEEDS_OPERATOR).await;
        }
        if Instant::now() + call_time > self.calls_until {
            return self.postpone(message, Duration::ZERO).await;
        }
        let asked_at = Instant::now();
        match self.function.jobs.start_message(&job_queue.settings, message).await {
            Ok(MessageOutcome::Started(job)) => self.run_job(&job_queue.settings, target, job, asked_at).await,
            Ok(MessageOutcome::Waits) => Ran::Again,
            Ok(MessageOutcome::Ended) => Ran::Done,
            Err(error) => {
                warn!(job_queue = %job_queue.settings.id, %error, "a job could not be started; its message comes again");
                Ran::Again
            }
        }
    }

    async fn postpone(&self, message: SqsMessage, time: Duration) -> Ran {
        self.function.jobs.hide_messages([&message], time).await;
        Ran::Again
    }

    /// A job queue with a `timeout` that a function has, and its target.
    async fn target(&self, id: &JobQueueId) -> Result<(CachedJobQueue, Target), NoTarget> {
        let job_queues = &self.function.job_queues;
        let unreadable = |error: StoreError| {
            warn!(job_queue = %id, %error, "a job queue cannot be read; its message comes again");
            NoTarget::Hidden(RETRY_LATER)
        };
        let Some(found) = job_queues.get(id).await.map_err(unreadable)? else {
            // An operator canceled its jobs before.
            if job_queues.was_removed(id).await.map_err(unreadable)? {
                return Err(NoTarget::Removed);
            }
            warn!(job_queue = %id, "a message is for a job queue that does not exist, or whose settings cannot be read");
            return Err(NoTarget::Hidden(NEEDS_OPERATOR));
        };
        let mut job_queue = CachedJobQueue::clone(&found);
        if job_queue.settings.target.kind == JobTargetKind::Pull {
            warn!(job_queue = %id, "consumers cannot receive jobs that SQS carries; change the target of the job queue");
            return Err(NoTarget::Hidden(NEEDS_OPERATOR));
        }
        job_queue.stored.settings.timeout = job_queue.settings.timeout.min(FUNCTION_TIMEOUT_MAX);
        let mut targets = self.targets.lock();
        if let Some(target) = targets.get(id).filter(|target| target.is_of(&job_queue)) {
            return Ok((job_queue, target.clone()));
        }
        match Target::new(&job_queue, &self.function.parts) {
            Ok(target) => {
                targets.insert(id.clone(), target.clone());
                Ok((job_queue, target))
            }
            Err(error) => {
                warn!(job_queue = %id, %error, "the handler cannot be called");
                Err(NoTarget::Hidden(RETRY_LATER))
            }
        }
    }

    /// Calls the target with a job whose lease was asked for at this instant, and settles the outcome.
    async fn run_job(&self, settings: &JobQueueSettings, target: Target, job: LeasedJob, asked_at: Instant) -> Ran {
        let backend: Arc<dyn JobBackend> = self.function.jobs.clone();
        let (lease, leases) = (job.lease, Leases::new(Arc::default()));
        let held = leases.hold(lease, asked_at, None);
        let confirm = confirm(backend.clone(), settings.clone(), lease);
        let started = Instant::now();
        let call = tokio::spawn(async move { target.call(job, confirm).await });
        leases.runs(lease, call.abort_handle());
        let of_job_queue = settings.clone();
        let mut keeping = pin!(leases.clone().keep(backend.clone(), move || of_job_queue.clone()));
        let outcome = tokio::select! {
            outcome = call => outcome,
            () = &mut keeping => return Ran::Again,
        };
        // Without an outcome the lease has ended, and the call with it.
        let Ok(outcome) = outcome else { return Ran::Again };
        log_call(&settings.id, lease, &outcome, started.elapsed());
        let settling = settle(&*backend, settings, &self.events, vec![(held, outcome)]);
        let settled = tokio::select! {
            settled = timeout_at(self.calls_until + RESERVE / 2, settling) => settled.unwrap_or_default(),
            () = &mut keeping => Vec::new(),
        };
        match settled.first() {
            Some(Settled::Now(JobState::Failed)) if !settings.holds_orders() => Ran::Dead,
            Some(Settled::Now(JobState::Completed | JobState::Failed | JobState::Unknown)) => Ran::Done,
            Some(Settled::Now(JobState::Queued | JobState::Running | JobState::Retrying) | Settled::NotLeased)
            | None => Ran::Again,
        }
    }
}
