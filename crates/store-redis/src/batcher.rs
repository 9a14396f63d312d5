//! Sends concurrent visits to the same queue in batches.
//!
//! Visits in one batch share the cost of entering a function and reading rules and state. Each visited queue has a task
//! that takes all pending visits and sends them in one call. A lone visit is sent immediately; while calls are in flight,
//! visits collect for the next. Each visit has its own deadline, and canceling one does not affect the others.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use fred::types::Value;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use vestibule_core::line::{Identities, JoinClient, ProofCounts, Visit, VisitAnswer, Witness};
use vestibule_core::{COUNTER_ROWS, Clock, Micros, NetworkPrefix, PreTicket, QueueId, SessionId, StoreError, Ticket};
use vestibule_freeze::FreezeAwareInstant;

use crate::client::Client;
use crate::codes::{
    self, ACCOUNTS_SIZE, CLASS_UNIT, CLIENT_SIZE, EXTRA_HOPS, FROM_LOBBY, HAS_ADDRESS, HAS_NETWORK, HAS_TICKET, JOINS,
    OF_INVITATION, OF_TICKET, PRESERVED, READ_ONLY, REDEEMS, SAME_NETWORK, UNCONFIRMED, VERIFIED, VISIT_SIZE,
};
use crate::command::{Command, Retry, nothing, text};
use crate::keys::Keys;
use crate::library::functions;
use crate::reply::Reply;

/// Maximum number of calls in flight per queue and process: while the server runs one, the next is on its way.
const IN_FLIGHT_MAX: usize = 2;
/// Upper limit of the batch size, whatever the options say: other operations wait until a batch ends.
const BATCH_MAX: usize = 256;
/// How long the task of a queue stays without visits.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);

type Answer = Result<VisitAnswer, StoreError>;

/// Sends visits, batched if they are concurrent.
pub(crate) struct Batcher {
    sender: BatchSender,
    batch_max: usize,
    queues: Arc<Mutex<HashMap<QueueId, mpsc::UnboundedSender<Job>>>>,
}

/// A visit waiting for its batch, and the channel for its answer.
struct Job {
    visit: Visit,
    started: Instant,
    answer: oneshot::Sender<Answer>,
}

impl Batcher {
    /// Creates a batcher; a `batch_max` of zero counts as one.
    pub(crate) fn new(client: Arc<Client>, clock: Option<Arc<dyn Clock>>, batch_max: usize) -> Self {
        let batch_max = batch_max.clamp(1, BATCH_MAX);
        let sender = BatchSender { client, clock, server_clocks: ServerClocks::default() };
        Self { sender, batch_max, queues: Arc::default() }
    }

    /// Sends a visit, within the store's timeout from now.
    pub(crate) async fn submit(&self, queue: &QueueId, visit: Visit) -> Answer {
        let started = Instant::now();
        let client = &self.sender.client;
        let (answer, received) = oneshot::channel();
        let job = Job { visit, started, answer };
        // While operations fail, each visit tries or fails by itself.
        if self.batch_max == 1 || client.is_failing(Keys::of(queue).slot()) {
            self.sender.clone().flush(queue.clone(), vec![job]).await;
        } else {
            self.enqueue(queue, job);
        }
        let late = || StoreError::Unavailable("no reply in time".to_owned());
        let lost = || StoreError::Unavailable("the visit got no answer".to_owned());
        timeout_at(started + client.timeout(), received).await.map_err(|_| late())?.map_err(|_| lost())?
    }

    /// Hands a visit to the queue's task, which is started if there is none.
    fn enqueue(&self, queue: &QueueId, job: Job) {
        let mut queues = self.queues.lock();
        let refused = match queues.get(queue) {
            Some(jobs) => jobs.send(job).err(),
            None => Some(mpsc::error::SendError(job)),
        };
        if let Some(mpsc::error::SendError(job)) = refused {
            let (jobs, incoming) = mpsc::unbounded_channel();
            // The receiver is held, so it takes the job.
            let _ = jobs.send(job);
            queues.insert(queue.clone(), jobs);
            let (sender, queues) = (self.sender.clone(), self.queues.clone());
            tokio::spawn(serve_queue(queue.clone(), incoming, sender, self.batch_max, queues));
        }
    }
}

/// The task of a queue: sends its visits until none has arrived for a while.
async fn serve_queue(
    queue: QueueId,
    mut incoming: mpsc::UnboundedReceiver<Job>,
    sender: BatchSender,
    batch_max: usize,
    queues: Arc<Mutex<HashMap<QueueId, mpsc::UnboundedSender<Job>>>>,
) {
    let mut in_flight = JoinSet::new();
    loop {
        while in_flight.len() >= IN_FLIGHT_MAX {
            in_flight.join_next().await;
        }
        while in_flight.try_join_next().is_some() {}
        let mut jobs = Vec::new();
        if timeout(IDLE_TIMEOUT, incoming.recv_many(&mut jobs, batch_max)).await.is_ok() {
            jobs.retain(|job| !job.answer.is_closed());
            in_flight.spawn(sender.clone().flush(queue.clone(), jobs));
            continue;
        }
        // Visits are enqueued under the lock, so that none is left behind.
        let mut queues = queues.lock();
        if incoming.is_empty() {
            queues.remove(&queue);
            return;
        }
    }
}

/// Sends batches.
#[derive(Clone)]
struct BatchSender {
    client: Arc<Client>,
    clock: Option<Arc<dyn Clock>>,
    server_clocks: ServerClocks,
}

/// The servers' clocks by hash slot, each by the last reply. A visit that the server handles long after it was sent tells by
/// that how long the server did not serve, though its sender did not know yet. So these clocks may be fast, but never slow.
#[derive(Clone, Default)]
struct ServerClocks(Arc<Mutex<HashMap<u16, (Micros, FreezeAwareInstant)>>>);

impl ServerClocks {
    /// The server of this slot handled at `now` what was sent after `before`.
    fn set(&self, slot: u16, now: Micros, before: FreezeAwareInstant) {
        self.0.lock().insert(slot, (now, before));
    }

    /// The time now; `None` before the first reply.
    fn now(&self, slot: u16) -> Option<Micros> {
        let last = self.0.lock().get(&slot).copied();
        last.map(|(at, before)| Micros(at.0 + before.elapsed().as_micros() as u64))
    }
}

impl BatchSender {
    /// Sends these visits in one call and distributes the answers. The deadline is that of the latest visit.
    async fn flush(self, queue: QueueId, jobs: Vec<Job>) {
        let Some(started) = jobs.iter().map(|job| job.started).max() else { return };
        let (visits, callers): (Vec<_>, Vec<_>) = jobs.into_iter().map(|job| (job.visit, job.answer)).unzip();
        let (slot, before) = (Keys::of(&queue).slot(), FreezeAwareInstant::now());
        let reply = self.client.execute(self.command(&queue, &visits), started).await.map_err(StoreError::from);
        let answers = match reply.and_then(|reply| Reply::to(&queue, reply)?.visits(&visits)) {
            Ok(answers) => {
                if let Some(answer) = answers.first() {
                    self.server_clocks.set(slot, answer.now, before);
                }
                answers.into_iter().map(Ok).collect()
            }
            Err(error) => vec![Err(error); callers.len()],
        };
        for (caller, answer) in callers.into_iter().zip(answers) {
            // The caller may have been canceled.
            let _ = caller.send(answer);
        }
    }

    fn command(&self, queue: &QueueId, visits: &[Visit]) -> Command {
        let test_clock = self.clock.as_deref().map(Clock::now);
        let [now, sent_at] = [test_clock, test_clock.or_else(|| self.server_clocks.now(Keys::of(queue).slot()))]
            .map(|time| time.map_or_else(nothing, |it| text(it.0)));
        let mut packed = Vec::with_capacity(visits.len() * VISIT_SIZE);
        for visit in visits {
            pack(visit, &mut packed);
        }
        let witness = common_witness(visits);
        let unknown = || [(); 3].map(|()| text(-1));
        let [at, active, reached] =
            witness.census.map_or_else(unknown, |it| [it.at.0, it.active, it.reached.0].map(text));
        let issued: u64 = visits.iter().map(|visit| visit.pre_tickets_issued).sum();
        let mut clients = Vec::with_capacity(visits.len() * CLIENT_SIZE);
        for visit in visits {
            pack_client(&visit.client, &mut clients);
        }
        let accounts = pack_accounts(visits);
        let count = |of: fn(&Identities) -> u64| text(visits.iter().map(|visit| of(&visit.identities)).sum::<u64>());
        let (accepted, rejected) = (count(|it| it.accepted), count(|it| it.rejected));
        let count = |of: fn(&ProofCounts) -> u64| text(visits.iter().map(|visit| of(&visit.proofs)).sum::<u64>());
        let (valid, invalid) = (count(|it| it.valid), count(|it| it.invalid));
        let [visits, clients, accounts] = [packed, clients, accounts].map(|packed| Value::Bytes(packed.into()));
        let arguments = [
            now,
            visits,
            text(witness.unserved),
            at,
            active,
            reached,
            text(issued),
            clients,
            accounts,
            accepted,
            rejected,
            valid,
            invalid,
            sent_at,
        ];
        Command::call(&functions().visit, Keys::of(queue).all(), arguments, Retry::Safe)
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

/// Packs the client as `CLIENT_FORMAT`.
fn pack_client(client: &JoinClient, packed: &mut Vec<u8>) {
    let class = client.class.map_or(0, codes::class_code);
    let flags =
        if client.prefixes.is_some() { HAS_ADDRESS } else { 0 } | if client.extra_hops { EXTRA_HOPS } else { 0 };
    let listed = if client.network.is_some() { HAS_NETWORK } else { 0 };
    packed.push(flags | listed | (class * CLASS_UNIT));
    let rows = client.prefixes.map_or([[0; COUNTER_ROWS]; 2], |it| [it.address.rows(), it.network.rows()]);
    for number in rows.as_flattened() {
        packed.extend_from_slice(&number.to_be_bytes());
    }
    packed.extend_from_slice(&client.network.map_or([0; NetworkPrefix::SIZE], |network| *network.as_bytes()));
}

/// Packs what the visits say of accounts as `ACCOUNTS_FORMAT`; nothing if they say nothing.
fn pack_accounts(visits: &[Visit]) -> Vec<u8> {
    let is_of_account = |visit: &Visit| visit.ticket.as_ref().is_some_and(Ticket::is_of_account);
    let is_invited = |visit: &Visit| visit.ticket.as_ref().is_some_and(|ticket| ticket.batch().is_some());
    if !visits.iter().any(|visit| visit.account.is_some() || is_of_account(visit)) {
        return Vec::new();
    }
    let mut packed = Vec::with_capacity(visits.len() * ACCOUNTS_SIZE);
    for visit in visits {
        let verified = if visit.account.is_some() && !visit.read_only { VERIFIED } else { 0 };
        let of_ticket = if is_of_account(visit) { OF_TICKET } else { 0 };
        packed.push(verified | of_ticket | if is_invited(visit) { OF_INVITATION } else { 0 });
        packed.extend_from_slice(visit.account.as_ref().map_or(&[0; SessionId::SIZE], |account| account.as_bytes()));
    }
    packed
}

/// A number that is not there.
const NONE: f64 = -1.0;

/// The numbers of a pre-ticket as the same arguments as those of a ticket.
fn numbers_of_pre_ticket(pre_ticket: &PreTicket) -> [f64; 7] {
    let challenge_ends_at = pre_ticket.challenge_ends_at().map_or(NONE, |end| end.0 as f64);
    let (proven, required) = (pre_ticket.proven().unwrap_or(0).into(), pre_ticket.difficulty().map_or(NONE, f64::from));
    [pre_ticket.first_visit().0 as f64, NONE, NONE, challenge_ends_at, pre_ticket.epoch() as f64, proven, required]
}

/// Packs the visit as `VISIT_FORMAT`.
fn pack(visit: &Visit, packed: &mut Vec<u8>) {
    let number = |instant: Micros| instant.0 as f64;
    let nobody = Bytes::from_static(&[0; SessionId::SIZE]);
    let bytes =
        |session: Option<SessionId>| session.map_or_else(|| nobody.clone(), |it| Bytes::copy_from_slice(it.as_bytes()));
    let ticket = visit.ticket.as_ref();
    let mut flags = match visit.join {
        _ if visit.read_only => READ_ONLY,
        Some(_) => JOINS,
        None => 0,
    };
    if let Some(ticket) = ticket {
        flags |= HAS_TICKET | if ticket.is_unconfirmed() { UNCONFIRMED } else { 0 };
        flags |= if ticket.is_new_from_lobby() { FROM_LOBBY } else { 0 };
    }
    let redeemed = visit.redeem.as_ref().filter(|_| ticket.is_none() && !visit.read_only);
    if let Some(pre_ticket) = redeemed {
        flags |= REDEEMS | if pre_ticket.is_of_same_network() { SAME_NETWORK } else { 0 };
        flags |= if pre_ticket.is_preserved() { PRESERVED } else { 0 };
    }
    let none = || redeemed.map_or([NONE; 7], numbers_of_pre_ticket);
    let numbers = ticket.map_or_else(none, |ticket| {
        [
            number(ticket.arrival()),
            ticket.admitted_at().map_or(NONE, number),
            number(ticket.signed_at()),
            ticket.came_at().or(ticket.due()).map_or(NONE, number),
            ticket.epoch() as f64,
            ticket.census().map_or(NONE, |census| census.active as f64),
            ticket.census().map_or(NONE, |census| number(census.reached)),
        ]
    });
    packed.extend_from_slice(&bytes(ticket.map(Ticket::session).or(redeemed.map(PreTicket::session))));
    packed.push(flags);
    for number in numbers {
        packed.extend_from_slice(&number.to_be_bytes());
    }
    packed.extend_from_slice(&bytes(visit.join));
    packed.extend_from_slice(&visit.head_start.map_or(NONE, |head_start| head_start as f64).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREEZE: Duration = Duration::from_mins(1);
    const AT: Micros = Micros(1_000_000);

    #[tokio::test(start_paused = true)]
    async fn server_clock_continues_during_a_freeze() {
        let clocks = ServerClocks::default();
        clocks.set(7, AT, FreezeAwareInstant::now().before_freeze(FREEZE).unwrap());
        assert!(clocks.now(7) >= Some(AT.add_seconds(60)), "the visit after it is sent now");
        assert_eq!(clocks.now(8), None, "another server may have another clock");
    }

    #[tokio::test(start_paused = true)]
    async fn server_clock_includes_the_time_until_the_reply() {
        let (clocks, before) = (ServerClocks::default(), FreezeAwareInstant::now());
        tokio::time::advance(FREEZE).await;
        clocks.set(7, AT, before);
        assert!(clocks.now(7) >= Some(AT.add_seconds(60)), "the server may have handled the call at once");
    }
}
