//! A visit: one call of the store with the visitor's ticket, and a new ticket from its answer.

use std::sync::Arc;

use tracing::debug;
use vestibule_core::line::{JoinClient, Mode, SessionState, VisitAnswer, VisitKind};
use vestibule_core::settings::{Identity, StoreFailure};
use vestibule_core::{
    JoinStep, LobbyTicket, Micros, ShownStatus, StoreError, Ticket, TicketOrigin, VisitorState, VisitorStatus,
};
use vestibule_estimate::WaitRange;
use vestibule_runtime::{Outcome, Queue};

use crate::end_reason::end_reason;
use crate::identity::{
    Identified, VerifiedAccount, identify, identify_again, identity_unavailable, return_address, sign_in,
};
use crate::lobby::{self, LobbyTicketValue};
use crate::pass::Slot;
use crate::request::{Credential, RequestInfo};
use crate::state::Gate;
use crate::store_visit::{StoreAnswer, StoreDeadline, visit_store};
use crate::two_step::{answer_without_store, not_joined_without_store, offer_without_answer, turned_away_when_full};
use crate::visit_intent::{InvitedSession, VisitIntent};
use crate::visit_result::{NewTicket, VisitResult};
use crate::visitor_status::{unavailable, visitor_status};

/// Admits a fresh ticket of an active session without asking the store (`recheck_after`). The store learns of the first return of a
/// ticket, which confirms its session.
pub(crate) fn admit_without_recheck(gate: &Gate, queue: &Arc<Queue>, ticket: Option<&Ticket>) -> Option<VisitResult> {
    let settings = &queue.settings;
    let ticket = ticket.filter(|ticket| ticket.epoch() == settings.line.epoch && !ticket.is_unconfirmed())?;
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
pub(crate) fn slot_of(ticket: &Ticket) -> Option<Slot> {
    let account = ticket.account().map(|account| account.code);
    let (session, former) = (ticket.session(), ticket.former());
    Some(Slot { session, expires_at: ticket.slot_expires_at()?, account, former })
}

fn admit_by_ticket(queue: &Arc<Queue>, ticket: &Ticket, slot: Slot, now: Micros, outcome: Outcome) -> VisitResult {
    let visitor_status =
        VisitorStatus { state: VisitorState::Admitted, ..unavailable(&queue.settings, Some(ticket), now) };
    let result = VisitResult::new(queue.clone(), visitor_status, now, outcome);
    VisitResult { admitted: Some(slot), passes: true, known: true, ..result }
}

/// Visits the queue. If the store is unavailable, the setting `store_failure` decides.
pub(crate) async fn visit(
    gate: &Gate,
    queue: Arc<Queue>,
    credential: Credential,
    intent: VisitIntent,
    client: JoinClient,
) -> VisitResult {
    if matches!(credential, Credential::None)
        && intent.joins_uninvited()
        && let Some(answer) = answer_without_store(gate, &queue)
    {
        return answer;
    }
    let deadline = StoreDeadline::of(gate);
    let (ticket, intent) = match credential {
        Credential::None => (None, intent),
        Credential::PreTicket(pre_ticket) => {
            (None, VisitIntent { pre_ticket: Some(pre_ticket).filter(|_| intent.joins()), ..intent })
        }
        Credential::Ticket(ticket) => (Some(ticket), intent),
        Credential::Lobby(ticket) => {
            return Box::pin(visit_from_lobby(gate, queue, &ticket, intent, client, &deadline)).await;
        }
    };
    // Boxed: answers without the store would copy the room for it several times.
    Box::pin(visit_line(gate, queue, ticket, intent, client, &deadline)).await
}

/// Renews the session of a visitor; joins nobody.
pub(crate) async fn renew(gate: &Gate, queue: Arc<Queue>, credential: Credential) -> VisitResult {
    visit(gate, queue, credential, VisitIntent::RENEW, JoinClient::default()).await
}

/// A request that may be a visit, for queues that know accounts.
pub(crate) struct VisitorRequest<'a> {
    pub(crate) info: &'a RequestInfo,
    pub(crate) client: JoinClient,
    /// Whether the request is for the gate itself.
    pub(crate) is_endpoint: bool,
}

/// Visits the queue as the account that the request shows (rule 24). What few requests need is boxed.
pub(crate) async fn visit_as(
    gate: &Gate,
    queue: Arc<Queue>,
    credential: Credential,
    identified: Identified,
    intent: VisitIntent,
    request: &VisitorRequest<'_>,
) -> VisitResult {
    let client = request.client;
    let intent = match identified {
        Identified::Verified(account) => VisitIntent { account: Some(account), ..intent },
        Identified::AsBefore => return Box::pin(visit_as_before(gate, queue, credential, intent, request)).await,
        Identified::Nobody | Identified::Unavailable => {
            let identity = queue.settings.line.protection.identity.as_ref();
            let required = identity.filter(|identity| identity.required && intent.joins()).cloned();
            if let Some(identity) = required {
                return Box::pin(visit_without_account(gate, queue, credential, identified, &identity, request)).await;
            }
            intent
        }
    };
    visit(gate, queue, credential, intent, client).await
}

/// The visit of a ticket whose account was verified before.
async fn visit_as_before(
    gate: &Gate,
    queue: Arc<Queue>,
    credential: Credential,
    intent: VisitIntent,
    request: &VisitorRequest<'_>,
) -> VisitResult {
    let ticket = credential.ticket().cloned();
    let found = visit(gate, queue, credential, VisitIntent::RENEW, request.client).await;
    if !intent.joins() || found.outcome != Outcome::NotJoined {
        return found;
    }
    // The ticket is void: the account joins again, if its token is still valid.
    let queue = found.queue.clone();
    let identified = identify_again(gate, request.info, &queue, request.is_endpoint).await;
    if identified == Identified::AsBefore {
        return found;
    }
    let credential = ticket.map_or(Credential::None, Credential::Ticket);
    visit_as(gate, queue, credential, identified, intent, request).await
}

/// The visit of a newcomer who shows no account, though the queue requires one.
async fn visit_without_account(
    gate: &Gate,
    queue: Arc<Queue>,
    credential: Credential,
    identified: Identified,
    identity: &Identity,
    request: &VisitorRequest<'_>,
) -> VisitResult {
    let client = request.client;
    let sent = if let Credential::PreTicket(pre_ticket) = &credential { Some(*pre_ticket) } else { None };
    let lobby = if let Credential::Lobby(ticket) = &credential { Some(ticket.clone()) } else { None };
    // Without a position there is nothing to renew.
    let has_position = !credential.is_none() && sent.is_none();
    let known = if has_position { None } else { not_joined_without_store(gate, &queue) };
    let found = match known {
        Some(known) => known,
        None => visit(gate, queue, credential, VisitIntent::RENEW, client).await,
    };
    // An operator opened the line before the draw.
    let is_open = found.outcome == Outcome::Lobby && found.queue.settings.line.mode == Mode::Open;
    if let Some(ticket) = lobby.filter(|_| is_open) {
        let Some(account) = account_of(&ticket) else {
            let asked = sign_in(gate, identity, found, None, &return_address(request.info));
            // The lobby ticket is kept for the draw.
            return VisitResult { pre_ticket: None, ..asked };
        };
        let (queue, intent) = (found.queue.clone(), VisitIntent { account: Some(account), ..VisitIntent::JOIN });
        return visit(gate, queue, Credential::Lobby(ticket), intent, client).await;
    }
    match found.outcome {
        Outcome::NotJoined => {}
        Outcome::Full => return turned_away_when_full(gate, found, sent.as_ref()),
        _ => return found,
    }
    if identified == Identified::Unavailable {
        return identity_unavailable(gate, found, sent.as_ref());
    }
    sign_in(gate, identity, found, sent.as_ref(), &return_address(request.info))
}

/// The credential of a request, and the account that it shows.
pub(crate) async fn identify_visitor(
    gate: &Gate,
    info: &RequestInfo,
    queue: &Queue,
    is_endpoint: bool,
) -> (Credential, Identified) {
    let mut credential = info.credential(queue, &gate.tickets, gate.clock.now());
    let identified = identify(gate, info, queue, &mut credential, is_endpoint).await;
    (credential, identified)
}

/// Visits the queue with a lobby ticket. The store is asked for the mode unless it has just confirmed the settings, so a
/// lobby costs it next to nothing.
async fn visit_from_lobby(
    gate: &Gate,
    mut queue: Arc<Queue>,
    ticket: &LobbyTicket,
    intent: VisitIntent,
    client: JoinClient,
    deadline: &StoreDeadline,
) -> VisitResult {
    let mut now = gate.clock.now();
    let mut mode = queue.settings.line.effective_mode(now, true);
    let is_known = gate.clock.has_synced() && gate.last_answers.confirms(&queue.settings, now);
    // A ticket that seems void may be newer than the settings that this process knows.
    if !is_known || matches!(lobby::value_of(gate, &queue.settings, ticket, now), LobbyTicketValue::Void) {
        match visit_store(gate, &queue, None, VisitIntent::RENEW, client, deadline).await {
            Ok(found) => (queue, now, mode) = (found.queue, found.answer.now, found.answer.mode),
            Err(error) => log_store_failure(gate, &queue, &error),
        }
    }
    match lobby::value_of(gate, &queue.settings, ticket, now) {
        LobbyTicketValue::Void => visit_line(gate, queue, None, intent, client, deadline).await,
        LobbyTicketValue::Drawn(drawn) => visit_line(gate, queue, Some(*drawn), intent, client, deadline).await,
        LobbyTicketValue::InLobby | LobbyTicketValue::KeyUnknown if mode == Mode::Bypass => {
            visit_line(gate, queue, None, VisitIntent::RENEW, client, deadline).await
        }
        // The operator opened the line before the draw.
        LobbyTicketValue::InLobby if queue.settings.line.mode == Mode::Open && intent.joins_uninvited() => {
            let (batch, account) = (ticket.batch(), intent.account.or_else(|| account_of(ticket)));
            let head_start = batch.map_or(0, |batch| queue.settings.head_start_of(batch));
            // The session of an invitation stays that of its code.
            let own = account.filter(|_| batch.is_none()).map(|account| account.session);
            let session = own.unwrap_or_else(|| ticket.session());
            let invited = InvitedSession { session, batch, head_start, is_from_lobby: true };
            let intent = VisitIntent { invited: Some(invited), account, ..VisitIntent::JOIN };
            visit_line(gate, queue, None, intent, client, deadline).await
        }
        LobbyTicketValue::InLobby | LobbyTicketValue::KeyUnknown => lobby::in_lobby(queue, ticket, mode, now),
    }
}

/// The account whose session a lobby ticket has: its bearer may have signed out since.
fn account_of(ticket: &LobbyTicket) -> Option<VerifiedAccount> {
    let account = ticket.account().filter(|_| ticket.batch().is_none())?;
    Some(VerifiedAccount { session: ticket.session(), ticket: account })
}

/// Visits the queue with a ticket or none.
pub(crate) async fn visit_line(
    gate: &Gate,
    queue: Arc<Queue>,
    ticket: Option<Ticket>,
    intent: VisitIntent,
    client: JoinClient,
    deadline: &StoreDeadline,
) -> VisitResult {
    let answer = visit_store(gate, &queue, ticket.as_ref(), intent, client, deadline).await;
    let store_time = Some(deadline.elapsed());
    let result = match answer {
        Ok(found) => from_store_answer(gate, found, ticket.as_ref()),
        Err(error) => {
            log_store_failure(gate, &queue, &error);
            let result = store_failed(gate, &queue, ticket.as_ref());
            let is_newcomer = ticket.is_none() && intent.invited.is_none() && !result.passes;
            let is_issued = queue.settings.line.protection.pre_ticket_from.is_some();
            let session = intent.new_session(None).filter(|_| is_newcomer && is_issued);
            let offer = offer_without_answer(gate, &queue.settings, intent.pre_ticket.as_ref(), session);
            VisitResult { pre_ticket: offer, ..result }
        }
    };
    let is_first = ticket.is_none() && intent == VisitIntent::JOIN;
    let ticket = result.ticket.map(|ticket| NewTicket { is_first, ..ticket });
    VisitResult { ticket, store_time, ..result }
}

fn log_store_failure(gate: &Gate, queue: &Queue, error: &StoreError) {
    gate.warn_store_failure(&queue.settings.id, error, "store call failed; applying store_failure");
}

fn from_store_answer(gate: &Gate, found: StoreAnswer, ticket: Option<&Ticket>) -> VisitResult {
    let StoreAnswer { queue, answer, lobby_entry, invited, account, offer } = found;
    let answer = &answer;
    let invited =
        |session| invited.filter(|invited| session == Some(invited.session)).and_then(|invited| invited.batch);
    let lobby_entry = lobby_entry.map(|entry| entry.in_batch(invited(Some(entry.session()))));
    // An account that joins again has nothing of what its void ticket says.
    let shown_before = ticket.filter(|_| answer.kind != VisitKind::Joined);
    let (mut status, wait) = visitor_status(&queue.settings, answer, shown_before);
    // The session of a visitor who signed in ended in favor of that of the account.
    let is_handed_over = account.is_some() && matches!(answer.kind, VisitKind::Renewed | VisitKind::Restored);
    status.reason = end_reason(&queue.settings, answer, ticket).filter(|_| !is_handed_over);
    if matches!(answer.kind, VisitKind::NeedsProof(_)) {
        status.join = offer.as_ref().and_then(|offer| offer.prove(&queue.settings, answer.now));
        if let Some(JoinStep::Prove { delayed_after, .. }) = status.join {
            status.poll_after = delayed_after;
        }
    }
    if lobby::is_lobby(answer) && !matches!(answer.kind, VisitKind::InvitationRequired | VisitKind::Rejected(_)) {
        let bearer = ticket.filter(|ticket| ticket.is_new_from_lobby()).map(Ticket::session);
        let session = bearer.or(lobby_entry.map(|entry| entry.session()));
        status = lobby::lobby_status(&queue.settings, session, answer.now);
    }
    lobby::add_number(gate, &queue.settings, answer.now, ticket, &mut status);
    let shown = shown_status(answer, shown_before, &status, wait);
    let id = &queue.settings.id;
    let active = answer.session.filter(|session| session.admitted_at.is_some());
    let of_session = shown_before.filter(|ticket| status.session == Some(ticket.session()));
    let batch = of_session.map_or_else(|| invited(status.session), Ticket::batch);
    // The session of an invitation stays that of its code; its ticket names the account.
    let is_own = |account: &VerifiedAccount| batch.is_some() || status.session == Some(account.session);
    let account = account.filter(is_own).map(|account| account.ticket);
    let account = account.or(of_session.and_then(Ticket::account));
    let code = account.map(|account| account.code);
    let handed_over = ticket.filter(|ticket| is_handed_over && status.session != Some(ticket.session()));
    let former = handed_over.map(Ticket::session).or_else(|| of_session.and_then(Ticket::former));
    let slot =
        |session: SessionState| Slot { session: session.id, expires_at: session.expires_at, account: code, former };
    let admitted = active.map(slot);
    if answer.kind != VisitKind::Renewed {
        debug!(queue = %id, session = status.session.map(tracing::field::display), kind = ?answer.kind, state = status.state.as_str());
    }
    let origin = TicketOrigin { event: of_session.and_then(Ticket::event), batch, account, former };
    let signed = gate.tickets.sign(id, answer, shown, origin).map(|token| {
        // The cookie outlives the browser session, so that a visitor who quits the browser keeps the position.
        let line = &queue.settings.line;
        NewTicket { token, max_age: line.hold_ttl.max(line.active_ttl), is_first: false }
    });
    let signed = signed.or_else(|| lobby::lobby_ticket(gate, &queue.settings, &lobby_entry?.of_account(account)));
    let known = of_session.is_some();
    let passes = admitted.is_some() || answer.mode == Mode::Bypass;
    let outcome = outcome_of(answer, admitted.is_some());
    let by_mode = answer.mode == Mode::Bypass;
    let result = VisitResult::new(queue, status, answer.now, outcome);
    VisitResult { ticket: signed, pre_ticket: offer, admitted, passes, known, by_mode, ..result }
}

/// What a ticket says of the status that is shown with this answer.
pub(crate) fn shown_status(
    answer: &VisitAnswer,
    ticket: Option<&Ticket>,
    status: &VisitorStatus,
    wait: Option<WaitRange>,
) -> ShownStatus {
    let wait_ms = wait.map(|wait| wait.p50_ms);
    let presumed = wait_ms.is_some() && !answer.pace.observed(answer.now).is_known();
    // No position is shown while the order is drawn; the one that was shown before stays an upper bound.
    let before = ticket.and_then(Ticket::position).filter(|_| answer.mode == Mode::Draw);
    ShownStatus { position: status.position.or(before), wait_ms, presumed }
}

fn outcome_of(answer: &VisitAnswer, admitted: bool) -> Outcome {
    match (answer.mode, &answer.session) {
        (Mode::Bypass, _) => Outcome::Bypassed,
        _ if admitted => Outcome::Admitted,
        (Mode::Closed | Mode::Scheduled, _) | (Mode::Draining, None) => Outcome::Closed,
        (_, Some(_)) => Outcome::Waiting,
        _ if answer.kind == VisitKind::InvitationRequired => Outcome::InvitationRequired,
        _ if answer.kind == VisitKind::Full => Outcome::Full,
        _ if answer.kind == VisitKind::Lobby => Outcome::Lobby,
        _ if answer.kind == VisitKind::NeedsPreTicket => Outcome::PreTicket,
        _ if matches!(answer.kind, VisitKind::NeedsProof(_)) => Outcome::Challenged,
        _ if matches!(answer.kind, VisitKind::Rejected(_)) => Outcome::Rejected,
        (_, None) => Outcome::NotJoined,
    }
}

/// A request that passes without a visit.
pub(crate) fn bypassed(gate: &Gate, queue: Arc<Queue>) -> VisitResult {
    let now = gate.clock.now();
    let visitor_status = unavailable(&queue.settings, None, now);
    VisitResult { passes: true, ..VisitResult::new(queue, visitor_status, now, Outcome::Bypassed) }
}

/// A request that waits without a visit.
pub(crate) fn not_visited(gate: &Gate, queue: Arc<Queue>, outcome: Outcome) -> VisitResult {
    VisitResult { passes: false, outcome, ..bypassed(gate, queue) }
}

/// A request to a scheduled queue that passes between events without an answer of the store (rule 13.8).
pub(crate) fn between_events(gate: &Gate, queue: Arc<Queue>, ticket: Option<&Ticket>) -> VisitResult {
    let status = unavailable(&queue.settings, ticket, gate.clock.now());
    let visitor_status = VisitorStatus { state: VisitorState::Admitted, ..status };
    VisitResult { visitor_status, known: ticket.is_some(), by_mode: true, ..bypassed(gate, queue) }
}

/// Applies `store_failure`. No ticket is signed, because the store did not confirm the session.
pub(crate) fn store_failed(gate: &Gate, queue: &Arc<Queue>, ticket: Option<&Ticket>) -> VisitResult {
    let settings = &queue.settings;
    let now = gate.clock.now();
    let ticket = ticket.filter(|ticket| ticket.epoch() == settings.line.epoch);
    let active = ticket.and_then(|ticket| Some((ticket, slot_of(ticket)?)));
    if let Some((ticket, slot)) = active.filter(|(_, slot)| now < slot.expires_at) {
        return admit_by_ticket(queue, ticket, slot, now, Outcome::Unavailable);
    }
    if gate.last_answers.bypassed_until(settings, now).is_some() {
        return between_events(gate, queue.clone(), ticket);
    }
    let visitor_status = unavailable(settings, ticket, now);
    let (state, passes) = match settings.store_failure {
        StoreFailure::Tickets => (VisitorState::Unavailable, false),
        StoreFailure::Closed => (VisitorState::Closed, false),
        StoreFailure::Open => (VisitorState::Admitted, true),
    };
    let visitor_status = VisitorStatus { state, ..visitor_status };
    let result = VisitResult::new(queue.clone(), visitor_status, now, Outcome::Unavailable);
    VisitResult { passes, known: ticket.is_some(), ..result }
}
