//! One visit: reads the ticket, asks the store once, and signs the answer.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use tracing::{debug, warn};
use vestibule_core::line::{Mode, Visit, VisitAnswer, VisitKind};
use vestibule_core::settings::StoreFailure;
use vestibule_core::{Micros, SessionId, ShownEstimate, StoreError, Ticket, VisitorState, VisitorStatus};
use vestibule_http::{Decision, Outcome, Queue};

use crate::pass::Slot;
use crate::reason::end_reason;
use crate::request::Seen;
use crate::state::Gate;
use crate::visitor_status::{standing_of, unavailable};

/// Whether this request may join the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Joining {
    /// A person asks for the page.
    Joins,
    /// Whatever else: keeps or takes back a place, and joins nobody.
    Never,
}

/// A visit that was served.
pub(crate) struct Served {
    /// The queue, with the settings that ruled.
    pub(crate) queue: Arc<Queue>,
    pub(crate) visitor_status: VisitorStatus,
    /// The ticket signed anew; `None` where the store saw nobody, or was not asked.
    pub(crate) ticket: Option<String>,
    /// The slot of the session, if it may pass.
    pub(crate) admitted: Option<Slot>,
    /// Whether this request passes.
    pub(crate) passes: bool,
    /// The store's time.
    pub(crate) now: Micros,
    /// Whether the visitor came with a ticket that still is of this session.
    pub(crate) known: bool,
    /// How it ends for the visitor.
    pub(crate) outcome: Outcome,
    /// What the store took; `None` if it was not asked.
    pub(crate) store_time: Option<Duration>,
}

/// What a fresh, admitted ticket passes without asking the store (`recheck_after`).
pub(crate) fn passes_unasked(gate: &Gate, queue: &Arc<Queue>, ticket: Option<&Ticket>) -> Option<Served> {
    let settings = &queue.settings;
    let ticket = ticket.filter(|ticket| ticket.epoch() == settings.line.epoch)?;
    let admitted_at = ticket.admitted_at()?;
    let now = gate.clock.now();
    // A ticket signed after now was signed before the clock stepped back.
    let age = now.0.checked_sub(ticket.signed_at().0)?;
    let fresh = age < settings.recheck_after * vestibule_core::MICROS_PER_SECOND;
    let outlived = settings.line.max_session.is_some_and(|most| admitted_at.add_seconds(most) <= now);
    let slot = slot_of(ticket).filter(|slot| now < slot.expires_at)?;
    (fresh && !outlived && gate.clock.is_known())
        .then(|| admitted_by_ticket(queue, ticket, slot, now, Outcome::Rechecked))
}

/// The slot that the ticket tells of.
fn slot_of(ticket: &Ticket) -> Option<Slot> {
    Some(Slot { session: ticket.session(), expires_at: ticket.slot_expires_at()? })
}

fn admitted_by_ticket(queue: &Arc<Queue>, ticket: &Ticket, slot: Slot, now: Micros, outcome: Outcome) -> Served {
    let visitor_status =
        VisitorStatus { state: VisitorState::Admitted, ..unavailable(&queue.settings, Some(ticket), now) };
    Served {
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

/// Serves a visit. Never fails: what holds while the store is away is a setting.
pub(crate) async fn serve(
    gate: &Gate,
    queue: Arc<Queue>,
    ticket: Option<Ticket>,
    joining: Joining,
    enter_url: Option<String>,
) -> Served {
    let asked = Instant::now();
    let answer = ask(gate, &queue, ticket.as_ref(), joining).await;
    let store_time = Some(asked.elapsed());
    let served = match answer {
        Ok((queue, answer)) => answered(gate, queue, &answer, ticket.as_ref(), enter_url),
        Err(error) => {
            if let Some(held_back) = gate.store_failures.pass() {
                warn!(queue = %queue.settings.id, %error, held_back, "the store failed; store_failure decides");
            }
            store_failed(gate, &queue, ticket.as_ref())
        }
    };
    Served { store_time, ..served }
}

/// Asks the store, within the time of the request, and reads the settings again if they have changed.
async fn ask(
    gate: &Gate,
    queue: &Arc<Queue>,
    ticket: Option<&Ticket>,
    joining: Joining,
) -> Result<(Arc<Queue>, VisitAnswer), StoreError> {
    let id = &queue.settings.id;
    let deadline = Instant::now() + gate.store_timeout;
    let next = |ticket: &Ticket| ticket.session().successor(ticket.signed_at().0);
    let join = (joining == Joining::Joins).then(|| ticket.map_or_else(SessionId::random, next));
    let witness = gate.witnesses.of(id, queue.settings.line.waiting_ttl);
    let visit = Visit { ticket: ticket.cloned(), join, witness };
    let answer = in_time(deadline, visited(gate, queue, visit)).await;
    match &answer {
        Ok(answer) => gate.witnesses.served(id, answer),
        Err(_) => gate.witnesses.failed(id),
    }
    let answer = answer?;
    gate.clock.observe(answer.now);
    if answer.revision == queue.settings.line.revision {
        return Ok((queue.clone(), answer));
    }
    let current = match in_time(deadline, gate.directory.reload(id)).await {
        Ok(current) => current,
        Err(error) => {
            if let Some(held_back) = gate.store_failures.pass() {
                warn!(queue = %id, %error, held_back, "changed settings could not be read; going on with those before");
            }
            None
        }
    };
    Ok((current.unwrap_or_else(|| queue.clone()), answer))
}

/// What the store says within the time of the request.
async fn in_time<T>(deadline: Instant, asked: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    let late = |_| StoreError::Unavailable("no answer within the time of the request".to_owned());
    timeout_at(deadline, asked).await.map_err(late)?
}

/// Asks the store, and once more where it has lost the queue, or where the bearer's next session was ended as well.
async fn visited(gate: &Gate, queue: &Arc<Queue>, mut visit: Visit) -> Result<VisitAnswer, StoreError> {
    let id = &queue.settings.id;
    let mut answer = gate.store.visit(id, visit.clone()).await;
    if matches!(answer, Err(StoreError::UnknownQueue(_))) && gate.directory.restore(queue).await? {
        answer = gate.store.visit(id, visit.clone()).await;
    }
    let answer = answer?;
    let refused = answer.kind == VisitKind::Absent && answer.mode.accepts_joins();
    if !refused || visit.join.is_none() {
        return Ok(answer);
    }
    visit.join = Some(SessionId::random());
    gate.store.visit(id, visit).await
}

fn answered(
    gate: &Gate,
    queue: Arc<Queue>,
    answer: &VisitAnswer,
    ticket: Option<&Ticket>,
    enter_url: Option<String>,
) -> Served {
    let (mut visitor_status, wait) = standing_of(&queue.settings, answer, ticket, enter_url);
    visitor_status.reason = end_reason(&queue.settings, answer, ticket);
    let wait_ms = wait.map(|wait| wait.p50_ms);
    let shown = ShownEstimate { position: visitor_status.position, wait_ms, census: Some(answer.census()) };
    let id = &queue.settings.id;
    let active = answer.place.filter(|place| place.admitted_at.is_some());
    let admitted = active.map(|place| Slot { session: place.session, expires_at: place.expires_at });
    if answer.kind != VisitKind::Renewed {
        debug!(queue = %id, session = ?visitor_status.session, presentation = ?answer.kind, state = visitor_status.state.as_str());
    }
    let signed = answer
        .place
        .as_ref()
        .and_then(|place| gate.tickets.sign_with_estimate(id, answer.epoch, answer.now, place, shown));
    let known = ticket.is_some_and(|ticket| visitor_status.session == Some(ticket.session()));
    let passes = admitted.is_some() || answer.mode == Mode::Bypass;
    let outcome = outcome_of(answer, admitted.is_some());
    Served {
        queue,
        visitor_status,
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

/// What holds while the store is away. Nothing is signed: the store has not seen it.
fn store_failed(gate: &Gate, queue: &Arc<Queue>, ticket: Option<&Ticket>) -> Served {
    let settings = &queue.settings;
    let now = gate.clock.now();
    let ticket = ticket.filter(|ticket| ticket.epoch() == settings.line.epoch);
    let active = ticket.and_then(|ticket| Some((ticket, slot_of(ticket)?)));
    if let Some((ticket, slot)) = active.filter(|(_, slot)| now < slot.expires_at) {
        return admitted_by_ticket(queue, ticket, slot, now, Outcome::Unavailable);
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
    Served {
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

impl Served {
    /// What was decided, for those around the gate.
    pub(crate) fn decision(&self) -> Decision {
        decision(self.outcome, &self.queue, self.visitor_status.session, self.store_time)
    }

    /// Seconds to ask again after, as a `Retry-After` header has it.
    pub(crate) fn retry_after(&self) -> http::HeaderValue {
        http::HeaderValue::from(self.visitor_status.poll_after)
    }

    /// The seen request's ticket, if it carries one of this queue.
    pub(crate) fn ticket_of(gate: &Gate, seen: &Seen, queue: &Queue) -> Option<Ticket> {
        seen.ticket(queue, &gate.tickets)
    }
}

/// A decision that concerns this queue.
pub(crate) fn decision(
    outcome: Outcome,
    queue: &Queue,
    session: Option<SessionId>,
    store_time: Option<Duration>,
) -> Decision {
    let settings = &queue.settings;
    Decision { outcome, tenant: Some(settings.tenant.clone()), queue: Some(settings.id.clone()), session, store_time }
}
