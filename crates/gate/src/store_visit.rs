//! The store call of a visit, within the time limit of its request.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::time::{Instant, timeout_at};
use tracing::debug;
use vestibule_core::line::{Identities, JoinClient, LobbyEntry, ProofCounts, Visit, VisitAnswer, VisitKind};
use vestibule_core::{QueueId, SessionId, StoreError, Ticket};
use vestibule_runtime::Queue;

use crate::identity::VerifiedAccount;
use crate::pre_tickets::PreTicketOffer;
use crate::state::Gate;
use crate::two_step::offer_after;
use crate::visit_intent::{InvitedSession, VisitAction, VisitIntent};

/// An answer of the store.
pub(crate) struct StoreAnswer {
    /// The queue, with the settings that were applied.
    pub(crate) queue: Arc<Queue>,
    pub(crate) answer: VisitAnswer,
    /// The entry of a newcomer to the lobby.
    pub(crate) lobby_entry: Option<LobbyEntry>,
    /// The session of the visit that was invited.
    pub(crate) invited: Option<InvitedSession>,
    /// The account that was verified for the visit.
    pub(crate) account: Option<VerifiedAccount>,
    /// The pre-ticket of a newcomer who did not join.
    pub(crate) offer: Option<PreTicketOffer>,
}

/// Calls the store, and reloads the settings if they have changed.
pub(crate) async fn visit_store(
    gate: &Gate,
    queue: &Arc<Queue>,
    ticket: Option<&Ticket>,
    intent: VisitIntent,
    client: JoinClient,
    deadline: &StoreDeadline,
) -> Result<StoreAnswer, StoreError> {
    let id = &queue.settings.id;
    let join = intent.new_session(ticket);
    let witness = gate.witnesses.of(id, queue.settings.line.waiting_ttl);
    let VisitIntent { invited, account, .. } = intent;
    let counts = gate.counts.take(id);
    let visit = Visit {
        ticket: ticket.cloned(),
        join,
        head_start: invited.map(|invited| invited.head_start),
        read_only: intent.action == VisitAction::Read,
        account: account.map(|account| account.session),
        identities: counts.identities,
        client,
        redeem: intent.pre_ticket,
        pre_tickets_issued: counts.pre_tickets_issued,
        proofs: counts.proofs,
        witness,
    };
    let answer = deadline.limit(call_store(gate, queue, visit.clone(), intent.may_join_as_another())).await;
    if let Ok((answer, _)) = &answer {
        gate.witnesses.served(id, answer);
    } else {
        gate.witnesses.failed(id);
        // If the store has counted them after all, they are counted twice.
        gate.counts.add(id, counts);
    }
    let (answer, lobby_entry) = answer?;
    gate.clock.observe(answer.now);
    let offer = offer_after(&queue.settings, &visit, &answer);
    if answer.revision == queue.settings.line.revision {
        gate.last_answers.observe(&queue.settings, &answer);
        gate.pre_tickets.observe(&queue.settings, &answer);
        return Ok(StoreAnswer { queue: queue.clone(), answer, lobby_entry, invited, account, offer });
    }
    let current = match deadline.limit(gate.directory.reload(id)).await {
        Ok(current) => current,
        Err(error) => {
            gate.warn_store_failure(id, &error, "changed settings could not be loaded; using the previous ones");
            None
        }
    };
    Ok(StoreAnswer { queue: current.unwrap_or_else(|| queue.clone()), answer, lobby_entry, invited, account, offer })
}

/// Calls the store, and again if the queue is missing in the store or, with `retries`, the session that would join has ended. Then
/// an account joins under its own session, and another visitor under a random one.
async fn call_store(
    gate: &Gate,
    queue: &Arc<Queue>,
    mut visit: Visit,
    retries: bool,
) -> Result<(VisitAnswer, Option<LobbyEntry>), StoreError> {
    let id = &queue.settings.id;
    let mut answer = gate.store.visit(id, visit.clone()).await;
    if matches!(answer, Err(StoreError::UnknownQueue(_))) && gate.directory.restore_lost_queue(queue).await? {
        // The visit may have waited for its batch since before the last answer of the lost state.
        visit.witness = gate.witnesses.of(id, queue.settings.line.waiting_ttl);
        answer = gate.store.visit(id, visit.clone()).await;
    }
    let answer = answer?;
    let has_other = visit.join.is_some() && visit.join != visit.account;
    if answer.kind != VisitKind::Absent || !answer.mode.accepts_newcomers() || !has_other || !retries {
        return Ok((answer, answer.lobby_entry(&visit)));
    }
    (visit.join, visit.head_start) = (Some(visit.account.unwrap_or_else(SessionId::random)), None);
    (visit.pre_tickets_issued, visit.identities, visit.proofs) = (0, Identities::default(), ProofCounts::default());
    let answer = gate.store.visit(id, visit.clone()).await?;
    Ok((answer, answer.lobby_entry(&visit)))
}

/// Ends the session of a visitor who needs it no longer. That of an invitation code expires by itself: others who have the code may
/// still need it, and must not lose it to whoever else the code was given.
pub(crate) async fn leave(
    gate: &Gate,
    queue: &QueueId,
    ticket: Ticket,
    deadline: &StoreDeadline,
) -> Result<(), StoreError> {
    if ticket.is_shared() {
        return Ok(());
    }
    match deadline.limit(gate.store.leave(queue, ticket)).await {
        Ok(_) | Err(StoreError::UnknownQueue(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Like [`leave`], on nobody's request. If it fails, the session expires by itself.
pub(crate) async fn release(gate: &Gate, queue: &QueueId, ticket: Ticket, deadline: &StoreDeadline) {
    if let Err(error) = leave(gate, queue, ticket, deadline).await {
        debug!(%queue, %error, "a session that nobody needs could not be ended");
    }
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

    /// Cancels a store call at the deadline. Not an `async fn`, which would hold the call twice.
    pub(crate) fn limit<T>(
        &self,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> impl Future<Output = Result<T, StoreError>> {
        let late = |_| Err(StoreError::Unavailable("no answer within the time of the request".to_owned()));
        timeout_at(self.at, call).map(move |in_time| in_time.unwrap_or_else(late))
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn store_calls_of_a_request_share_one_deadline() {
        let (started, timeout) = (Instant::now(), Duration::from_millis(250));
        let deadline = StoreDeadline { started, at: started + timeout };
        let mut answers = 0;
        let call = async || {
            sleep(Duration::from_millis(100)).await;
            Ok(())
        };
        while deadline.limit(call()).await.is_ok() {
            answers += 1;
        }
        assert_eq!((answers, started.elapsed()), (2, timeout), "the third call ends with the time of the request");
        assert!(deadline.limit(call()).await.is_err());
        assert_eq!(started.elapsed(), timeout, "a later call does not wait");
    }
}
