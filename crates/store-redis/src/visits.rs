//! Batches concurrent visits to the same queue.
//!
//! Visits in one batch share the cost of entering a function and reading rules and state. Each
//! visited queue has a task that takes all pending visits and sends them in one call. A lone visit
//! is sent immediately; while calls are in flight, visits collect for the next. Each visit has its
//! own deadline, and canceling one does not affect the others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use fred::types::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use vestibule_core::line::{Visit, VisitAnswer, Witness};
use vestibule_core::{Clock, Micros, QueueId, SessionId, StoreError, Ticket};

use crate::codes::{HAS_TICKET, JOINS, UNCONFIRMED, VISIT_SIZE};
use crate::connection::{Connection, Repeat};
use crate::keys::Keys;
use crate::library::functions;
use crate::reply::Reply;
use crate::store::{nothing, text};

/// Maximum number of calls in flight per queue and process: while the server runs one, the next is
/// on its way.
const UNDER_WAY_MAX: usize = 2;
/// Upper limit of the batch size, whatever the options say: other operations wait until a batch
/// ends.
const VISITS_MAX: usize = 256;
/// How long the task of a queue stays without visits.
const IDLE: Duration = Duration::from_mins(1);

type Answer = Result<VisitAnswer, StoreError>;

/// Sends visits, batched if they are concurrent.
pub(crate) struct Visits {
    runner: Runner,
    /// Maximum batch size.
    most: usize,
    queues: Arc<Mutex<HashMap<QueueId, mpsc::UnboundedSender<Job>>>>,
}

/// A visit waiting for its batch, and the channel for its answer.
struct Job {
    visit: Visit,
    started: Instant,
    answer: oneshot::Sender<Answer>,
}

impl Visits {
    /// Creates the batcher; `most` is at least one.
    pub(crate) fn new(connection: Arc<Connection>, clock: Option<Arc<dyn Clock>>, visits_max: usize) -> Self {
        let visits_max = visits_max.clamp(1, VISITS_MAX);
        Self { runner: Runner { connection, clock }, most: visits_max, queues: Arc::default() }
    }

    /// Sends a visit, within the store's timeout from now.
    pub(crate) async fn visit(&self, queue: &QueueId, visit: Visit) -> Answer {
        let started = Instant::now();
        let connection = &self.runner.connection;
        // While the part is failing, each visit tries or fails by itself.
        if self.most == 1 || connection.is_failing(|| Keys::of(queue).line()) {
            let answers = self.runner.run(queue, &[visit], started).await?;
            return answers.into_iter().next().ok_or_else(no_answer);
        }
        let (answer, answered) = oneshot::channel();
        self.hand_over(queue, Job { visit, started, answer });
        match timeout_at(started + connection.timeout(), answered).await {
            Ok(answer) => answer.unwrap_or_else(|_| Err(no_answer())),
            Err(_) => Err(StoreError::Unavailable("no answer in time".to_owned())),
        }
    }

    /// Hands the visit to the queue's task, which is started if there is none.
    fn hand_over(&self, queue: &QueueId, job: Job) {
        let mut queues = locked(&self.queues);
        let refused = match queues.get(queue) {
            Some(jobs) => jobs.send(job).err(),
            None => Some(mpsc::error::SendError(job)),
        };
        if let Some(mpsc::error::SendError(job)) = refused {
            let (jobs, incoming) = mpsc::unbounded_channel();
            // The receiver is held, so it takes the job.
            let _ = jobs.send(job);
            queues.insert(queue.clone(), jobs);
            tokio::spawn(run_all(queue.clone(), incoming, self.runner.clone(), self.most, self.queues.clone()));
        }
    }
}

fn no_answer() -> StoreError {
    StoreError::Unavailable("the visit got no answer".to_owned())
}

/// Locks a mutex and ignores poisoning: a panic leaves no partial state.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The task of a queue: sends its visits until none has arrived for a while.
async fn run_all(
    queue: QueueId,
    mut incoming: mpsc::UnboundedReceiver<Job>,
    runner: Runner,
    visits_max: usize,
    queues: Arc<Mutex<HashMap<QueueId, mpsc::UnboundedSender<Job>>>>,
) {
    let mut under_way = JoinSet::new();
    loop {
        while under_way.len() >= UNDER_WAY_MAX {
            under_way.join_next().await;
        }
        while under_way.try_join_next().is_some() {}
        let mut jobs = Vec::new();
        if timeout(IDLE, incoming.recv_many(&mut jobs, visits_max)).await.is_ok() {
            jobs.retain(|job| !job.answer.is_closed());
            under_way.spawn(runner.clone().serve(queue.clone(), jobs));
            continue;
        }
        // Visits are handed over under the lock, so that none is left behind.
        let mut queues = locked(&queues);
        if incoming.is_empty() {
            queues.remove(&queue);
            return;
        }
    }
}

/// Sends batches.
#[derive(Clone)]
struct Runner {
    connection: Arc<Connection>,
    clock: Option<Arc<dyn Clock>>,
}

impl Runner {
    /// Serves these visits with one call. Its deadline is that of the latest visit.
    async fn serve(self, queue: QueueId, jobs: Vec<Job>) {
        let Some(started) = jobs.iter().map(|job| job.started).max() else { return };
        let (visits, askers): (Vec<_>, Vec<_>) = jobs.into_iter().map(|job| (job.visit, job.answer)).unzip();
        let answers = match self.run(&queue, &visits, started).await {
            Ok(answers) => answers.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error); askers.len()],
        };
        for (asker, answer) in askers.into_iter().zip(answers) {
            // The caller may have been canceled.
            let _ = asker.send(answer);
        }
    }

    /// Sends these visits in one call that started then.
    async fn run(&self, queue: &QueueId, visits: &[Visit], started: Instant) -> Result<Vec<VisitAnswer>, StoreError> {
        let now = self.clock.as_ref().map_or_else(nothing, |clock| text(clock.now().0));
        let mut packed = Vec::with_capacity(visits.len() * VISIT_SIZE);
        for visit in visits {
            pack(visit, &mut packed);
        }
        let witness = common_witness(visits);
        let unknown = || [(); 3].map(|()| text(-1));
        let [at, active, reached] =
            witness.census.map_or_else(unknown, |it| [it.at.0, it.active, it.reached.0].map(text));
        let arguments = [now, Value::Bytes(packed.into()), text(witness.unserved), at, active, reached];
        let keys = Keys::of(queue).all();
        let reply = self.connection.run_since(started, &functions().visit, keys, arguments, Repeat::Harmless).await?;
        Reply::to(queue, reply)?.visits(visits)
    }
}

/// The combined witness of these visits: the longest unserved time, and the latest census.
fn common_witness(visits: &[Visit]) -> Witness {
    let witnesses = || visits.iter().map(|visit| visit.witness);
    Witness {
        unserved: witnesses().map(|witness| witness.unserved).max().unwrap_or_default(),
        census: witnesses().filter_map(|witness| witness.census).max_by_key(|census| census.at),
    }
}

/// Packs the visit as `VISIT_FORMAT`.
fn pack(visit: &Visit, packed: &mut Vec<u8>) {
    const NONE: f64 = -1.0;
    let number = |instant: Micros| instant.0 as f64;
    let nobody = Bytes::from_static(&[0; SessionId::SIZE]);
    let bytes =
        |session: Option<SessionId>| session.map_or_else(|| nobody.clone(), |it| Bytes::copy_from_slice(it.as_bytes()));
    let ticket = visit.ticket.as_ref();
    let mut flags = if visit.join.is_some() { JOINS } else { 0 };
    if let Some(ticket) = ticket {
        flags |= HAS_TICKET | if ticket.is_unconfirmed() { UNCONFIRMED } else { 0 };
    }
    let numbers = ticket.map_or([NONE; 6], |ticket| {
        [
            number(ticket.arrival()),
            ticket.admitted_at().map_or(NONE, number),
            number(ticket.signed_at()),
            ticket.epoch() as f64,
            ticket.census().map_or(NONE, |census| census.active as f64),
            ticket.census().map_or(NONE, |census| number(census.reached)),
        ]
    });
    packed.extend_from_slice(&bytes(ticket.map(Ticket::session)));
    packed.push(flags);
    for number in numbers {
        packed.extend_from_slice(&number.to_be_bytes());
    }
    packed.extend_from_slice(&bytes(visit.join));
}
