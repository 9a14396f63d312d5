//! The gate's decision on a request, for the log and the metrics.

use std::time::Duration;

use vestibule_core::{QueueId, SessionId, TenantId};

vestibule_core::names! {
    /// The outcome of a request for its visitor.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Outcome {
        /// Admitted by the store.
        Admitted = "admitted",
        /// Admitted by a fresh ticket, without asking the store.
        Rechecked = "rechecked",
        /// Waits in line.
        Waiting = "waiting",
        /// The queue is closed, or draining and the visitor has no session.
        Closed = "closed",
        /// The line is full, and the visitor has no session.
        Full = "full",
        /// Needs an invitation to join, or presented a code that is not valid.
        InvitationRequired = "invitation_required",
        /// Is in the lobby of an event with a draw.
        Lobby = "lobby",
        /// Needs a pre-ticket to join, and got one.
        PreTicket = "pre_ticket",
        /// Has to prove work to join.
        Challenged = "challenged",
        /// Did not join: a limit rejected it.
        Rejected = "rejected",
        /// Passed without a session: by a rule, by mode `bypass`, or as a forwarded preflight.
        Bypassed = "bypassed",
        /// Has no session and did not join: not a page view.
        NotJoined = "not_joined",
        /// The store is unavailable; `store_failure` decided.
        Unavailable = "unavailable",
        /// There is no such queue, endpoint, file or job.
        NotFound = "not_found",
        /// The gate refused the request with another 4xx.
        Refused = "refused",
        /// Another endpoint of the gate: scripts, theme assets, keys, health, line documents.
        Endpoint = "endpoint",
        /// The origin did not respond with anything that could be forwarded, or the gate itself failed.
        Failed = "failed",
    }
    /// The name in logs and labels.
    fn as_str
}

/// The gate's decision on a request; an extension of its response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The outcome for the visitor.
    pub outcome: Outcome,
    /// The tenant of the matching queue.
    pub tenant: Option<TenantId>,
    /// The matching queue.
    pub queue: Option<QueueId>,
    /// The visitor's session, if known from the store or a ticket.
    pub session: Option<SessionId>,
    /// Total time of all store calls of the request; `None` without a store call.
    pub store_time: Option<Duration>,
}

impl Decision {
    /// A decision without a queue.
    pub const fn without_queue(outcome: Outcome) -> Self {
        Self { outcome, tenant: None, queue: None, session: None, store_time: None }
    }
}
