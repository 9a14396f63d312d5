//! The slot of a newcomer who goes away before the origin responds.
//!
//! The ticket comes with the origin's response, so a visitor who reloads a slow page is a newcomer again. Without this, each reload
//! would take a slot until `claim_ttl` has passed, just while the site is slow.

use tokio::runtime::Handle;
use vestibule_core::{QueueId, Ticket};

use crate::state::Gate;
use crate::store_visit::{StoreDeadline, release};
use crate::visit_result::VisitResult;

/// A ticket that the visitor does not have yet. Its session ends if this is dropped before [`sent`](Self::sent).
pub(crate) struct UnsentTicket {
    gate: Gate,
    queue: QueueId,
    ticket: Option<Ticket>,
}

impl UnsentTicket {
    /// The ticket of a visitor who got a slot and a random session with this request; `None` for others, who come back to their
    /// session with what they have: a ticket, a pre-ticket, a code or an account.
    pub(crate) fn of(gate: &Gate, visit: &VisitResult) -> Option<Self> {
        let ticket = visit.ticket.as_ref().filter(|ticket| ticket.is_first && visit.admitted.is_some())?;
        let queue = visit.queue.settings.id.clone();
        let ticket = gate.tickets.verify(&queue, ticket.token.as_bytes()).ok()?;
        Some(Self { gate: gate.clone(), queue, ticket: Some(ticket) })
    }

    /// There is a response to carry the ticket.
    pub(crate) fn sent(mut self) {
        self.ticket = None;
    }
}

impl Drop for UnsentTicket {
    fn drop(&mut self) {
        let (Some(ticket), Ok(runtime)) = (self.ticket.take(), Handle::try_current()) else { return };
        let (gate, queue) = (self.gate.clone(), self.queue.clone());
        runtime.spawn(async move { release(&gate, &queue, ticket, &StoreDeadline::of(&gate)).await });
    }
}
