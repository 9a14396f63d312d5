//! A visit: one call of the store with the visitor's ticket, and a new ticket from its answer.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use tracing::{debug, warn};
use vestibule_core::line::{Mode, Visit, VisitAnswer, VisitKind};
use vestibule_core::settings::StoreFailure;
use vestibule_core::{Micros, SessionId, ShownEstimate, StoreError, Ticket, VisitorState, VisitorStatus};
use vestibule_runtime::{Decision, Outcome, Queue};

use crate::end_reason::end_reason;
use crate::pass::Slot;
use crate::state::Gate;
use crate::visitor_status::{unavailable, visitor_status};

/// Whether this request may join the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JoinPolicy {
    /// The request is a page view.
    Allowed,
    /// Any other request renews or restores a session, but joins nobody.
    Never,
}

/// The result of a visit.
pub(crate) struct VisitResult {
    /// The queue, with the settings that were applied.
    pub(crate) queue: Arc<Queue>,
    pub(crate) visitor_status: VisitorStatus,
    /// The new ticket; `None` without a session or a store call.
    pub(crate) ticket: Option<String>,
    /// The slot of the session, if it is active.
    pub(crate) admitted: Option<Slot>,
    /// Whether this request passes.
    pub(crate) passes: bool,
    /// The store's time.
    pub(crate) now: Micros,
    /// Whether the visitor sent a ticket of this session.
    pub(crate) known: bool,
    /// The outcome for the visitor.
    pub(crate) outcome: Outcome,
    /// Time spent on the store; `None` without a store call.
    pub(crate) store_time: Option<Duration>,
}

/// Admits a fresh ticket of an active session without asking the store (`recheck_after`).
pub(crate) fn admit_without_recheck(gate: &Gate, queue: &Arc<Queue>, ticket: Option<&Ticket>) -> Option<VisitResult> {
    let settings = &queue.settings;
    let ticket = ticket.filter(|ticket| ticket.epoch() == settings.line.epoch)?;
    let admitted_at = ticket.admitted_at()?;
    let now = gate.clock.now();
    // A ticket signed after now is older than a step back of the clock, and never fresh.
    let age = now.0.checked_sub(ticket.signed_at().0)?;
    let fresh = age < settings.recheck_after * vestibule_core::MICROS_PER_SECOND;
    let is_over = settings.line.max_session.is_some_and(|most| admitted_at.add_seconds(most) <= now);
    let slot = slot_of(ticket).filter(|slot| now < slot.expires_at)?;
    (fresh && !is_over && gate.clock.has_synced())
        .then(|| admit_by_ticket(queue, ticket, slot, now, Outcome::Rechecked))
}

/// The slot that the ticket states.
fn slot_of(ticket: &Ticket) -> Option<Slot> {
    Some(Slot { session: ticket.session(), expires_at: ticket.slot_expires_at()? })
}

fn admit_by_ticket(queue: &Arc<Queue>, ticket: &Ticket, slot: Slot, now: Micros, outcome: Outcome) -> VisitResult {
    let visitor_status =
        VisitorStatus { state: VisitorState::Admitted, ..unavailable(&queue.settings, Some(ticket), now) };
    VisitResult {
        queue: queue.clone(),
        visitor_status,
        ticket: None,
        admitted: Some(slot),
        passes: true,
        now,
        known: true,
        outcome,
        store_time: None,
    }
}

/// Visits the queue. If the store is unavailable, the setting `store_failure` decides.
pub(crate) async fn visit(
    gate: &Gate,
    queue: Arc<Queue>,
    ticket: Option<Ticket>,
    join_policy: JoinPolicy,
    enter_url: Option<String>,
) -> VisitResult {
    let deadline = StoreDeadline::of(gate);
    let answer = visit_store(gate, &queue, ticket.as_ref(), join_policy, &deadline).await;
    let store_time = Some(deadline.elapsed());
    let result = match answer {
        Ok((queue, answer)) => from_store_answer(gate, queue, &answer, ticket.as_ref(), enter_url),
        Err(error) => {
            if let Some(suppressed) = gate.store_failures.allow() {
                warn!(queue = %queue.settings.id, %error, suppressed, "store call failed; applying store_failure");
            }
            store_failed(gate, &queue, ticket.as_ref())
        }
    };
    VisitResult { store_time, ..result }
}

/// Calls the store, and reloads the settings if they have changed.
async fn visit_store(
    gate: &Gate,
    queue: &Arc<Queue>,
    ticket: Option<&Ticket>,
    join_policy: JoinPolicy,
    deadline: &StoreDeadline,
) -> Result<(Arc<Queue>, VisitAnswer), StoreError> {
    let id = &queue.settings.id;
    let next = |ticket: &Ticket| ticket.session().successor(ticket.signed_at().0);
    let join = (join_policy == JoinPolicy::Allowed).then(|| ticket.map_or_else(SessionId::random, next));
    let witness = gate.witnesses.of(id, queue.settings.line.waiting_ttl);
    let visit = Visit { ticket: ticket.cloned(), join, witness };
    let answer = deadline.limit(call_store(gate, queue, visit)).await;
    match &answer {
        Ok(answer) => gate.witnesses.served(id, answer),
        Err(_) => gate.witnesses.failed(id),
    }
    let answer = answer?;
    gate.clock.observe(answer.now);
    if answer.revision == queue.settings.line.revision {
        return Ok((queue.clone(), answer));
    }
    let current = match deadline.limit(gate.directory.reload(id)).await {
        Ok(current) => current,
        Err(error) => {
            if let Some(suppressed) = gate.store_failures.allow() {
                warn!(queue = %id, %error, suppressed, "changed settings could not be loaded; using the previous ones");
            }
            None
        }
    };
    Ok((current.unwrap_or_else(|| queue.clone()), answer))
}

/// The time limit of all store calls of a request together.
pub(crate) struct StoreDeadline {
    started: Instant,
    at: Instant,
}

impl StoreDeadline {
    /// Starts now.
    pub(crate) fn of(gate: &Gate) -> Self {
        let started = Instant::now();
        Self { started, at: started + gate.store_timeout }
    }

    /// Time since the first store call.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Cancels a store call at the deadline.
    pub(crate) async fn limit<T>(&self, call: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        let late = |_| StoreError::Unavailable("no answer within the time of the request".to_owned());
        timeout_at(self.at, call).await.map_err(late)?
    }
}

/// Calls the store, and again if the queue is missing in the store or the next session of the ticket has ended too.
async fn call_store(gate: &Gate, queue: &Arc<Queue>, mut visit: Visit) -> Result<VisitAnswer, StoreError> {
    let id = &queue.settings.id;
    let mut answer = gate.visits.visit(id, visit.clone()).await;
    if matches!(answer, Err(StoreError::UnknownQueue(_))) && gate.directory.restore_lost_queue(queue).await? {
        answer = gate.visits.visit(id, visit.clone()).await;
    }
    let answer = answer?;
    let was_turned_away = answer.kind == VisitKind::Absent && answer.mode.accepts_joins();
    if !was_turned_away || visit.join.is_none() {
        return Ok(answer);
    }
    visit.join = Some(SessionId::random());
    gate.visits.visit(id, visit).await
}

fn from_store_answer(
    gate: &Gate,
    queue: Arc<Queue>,
    answer: &VisitAnswer,
    ticket: Option<&Ticket>,
    enter_url: Option<String>,
) -> VisitResult {
    let (mut status, wait) = visitor_status(&queue.settings, answer, ticket, enter_url);
    status.reason = end_reason(&queue.settings, answer, ticket);
    let wait_ms = wait.map(|wait| wait.p50_ms);
    let shown = ShownEstimate { position: status.position, wait_ms, census: Some(answer.census()) };
    let id = &queue.settings.id;
    let active = answer.place.filter(|place| place.admitted_at.is_some());
    let admitted = active.map(|place| Slot { session: place.session, expires_at: place.expires_at });
    if answer.kind != VisitKind::Renewed {
        debug!(queue = %id, session = ?status.session, kind = ?answer.kind, state = status.state.as_str());
    }
    let signed = answer
        .place
        .as_ref()
        .and_then(|place| gate.tickets.sign_with_estimate(id, answer.epoch, answer.now, place, shown));
    let known = ticket.is_some_and(|ticket| status.session == Some(ticket.session()));
    let passes = admitted.is_some() || answer.mode == Mode::Bypass;
    let outcome = outcome_of(answer, admitted.is_some());
    VisitResult {
        queue,
        visitor_status: status,
        ticket: signed,
        admitted,
        passes,
        now: answer.now,
        known,
        outcome,
        store_time: None,
    }
}

fn outcome_of(answer: &VisitAnswer, admitted: bool) -> Outcome {
    match (answer.mode, &answer.place) {
        (Mode::Bypass, _) => Outcome::Bypassed,
        _ if admitted => Outcome::Admitted,
        (Mode::Closed, _) | (Mode::Draining, None) => Outcome::Closed,
        (_, Some(_)) => Outcome::Waiting,
        (_, None) => Outcome::NotJoined,
    }
}

/// Applies `store_failure`. No ticket is signed, because the store did not confirm the session.
fn store_failed(gate: &Gate, queue: &Arc<Queue>, ticket: Option<&Ticket>) -> VisitResult {
    let settings = &queue.settings;
    let now = gate.clock.now();
    let ticket = ticket.filter(|ticket| ticket.epoch() == settings.line.epoch);
    let active = ticket.and_then(|ticket| Some((ticket, slot_of(ticket)?)));
    if let Some((ticket, slot)) = active.filter(|(_, slot)| now < slot.expires_at) {
        return admit_by_ticket(queue, ticket, slot, now, Outcome::Unavailable);
    }
    let visitor_status = unavailable(settings, ticket, now);
    let (state, passes) = match settings.store_failure {
        StoreFailure::Tickets => (VisitorState::Unavailable, false),
        StoreFailure::Closed => (VisitorState::Closed, false),
        StoreFailure::Open => (VisitorState::Admitted, true),
    };
    let visitor_status = VisitorStatus { state, ..visitor_status };
    let known = ticket.is_some();
    let outcome = Outcome::Unavailable;
    VisitResult {
        queue: queue.clone(),
        visitor_status,
        ticket: None,
        admitted: None,
        passes,
        now,
        known,
        outcome,
        store_time: None,
    }
}

impl VisitResult {
    /// The decision for log and metrics.
    pub(crate) fn decision(&self) -> Decision {
        decision(self.outcome, &self.queue, self.visitor_status.session, self.store_time)
    }

    /// The value of `Retry-After`.
    pub(crate) fn retry_after(&self) -> http::HeaderValue {
        http::HeaderValue::from(self.visitor_status.poll_after)
    }
}

/// A decision about this queue.
pub(crate) fn decision(
    outcome: Outcome,
    queue: &Queue,
    session: Option<SessionId>,
    store_time: Option<Duration>,
) -> Decision {
    let settings = &queue.settings;
    Decision { outcome, tenant: Some(settings.tenant.clone()), queue: Some(settings.id.clone()), session, store_time }
}
