//! The gate's decision on a request, for the log and the metrics.

use std::time::Duration;

use vestibule_core::{QueueId, SessionId, TenantId};

/// The outcome of a request for its visitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Admitted by the store.
    Admitted,
    /// Admitted by a fresh ticket, without asking the store.
    Rechecked,
    /// Waits in line.
    Waiting,
    /// The queue is closed, or draining and the visitor has no session.
    Closed,
    /// The line is full, and the visitor has no session.
    Full,
    /// Needs an invitation to join, or presented a code that is not valid.
    InvitationRequired,
    /// Is in the lobby of an event with a draw.
    Lobby,
    /// Needs a pre-ticket to join, and got one.
    PreTicket,
    /// Has to prove work to join.
    Challenged,
    /// Did not join: a limit rejected it.
    Rejected,
    /// Passed without a session: by a rule, by mode `bypass`, or as a forwarded preflight.
    Bypassed,
    /// Has no session and did not join: not a page view.
    NotJoined,
    /// The store is unavailable; `store_failure` decided.
    Unavailable,
    /// No queue or no endpoint matches the request.
    NotFound,
    /// Another endpoint of the gate: scripts, theme assets, keys, health, line documents.
    Endpoint,
    /// The origin did not respond with anything that could be forwarded, or the gate itself failed.
    Failed,
}

impl Outcome {
    /// All outcomes.
    pub const ALL: [Self; 16] = [
        Self::Admitted,
        Self::Rechecked,
        Self::Waiting,
        Self::Closed,
        Self::Full,
        Self::InvitationRequired,
        Self::Lobby,
        Self::PreTicket,
        Self::Challenged,
        Self::Rejected,
        Self::Bypassed,
        Self::NotJoined,
        Self::Unavailable,
        Self::NotFound,
        Self::Endpoint,
        Self::Failed,
    ];

    /// The name in logs and labels.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Admitted => "admitted",
            Self::Rechecked => "rechecked",
            Self::Waiting => "waiting",
            Self::Closed => "closed",
            Self::Full => "full",
            Self::InvitationRequired => "invitation_required",
            Self::Lobby => "lobby",
            Self::PreTicket => "pre_ticket",
            Self::Challenged => "challenged",
            Self::Rejected => "rejected",
            Self::Bypassed => "bypassed",
            Self::NotJoined => "not_joined",
            Self::Unavailable => "unavailable",
            Self::NotFound => "not_found",
            Self::Endpoint => "endpoint",
            Self::Failed => "failed",
        }
    }
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
    #[must_use]
    pub const fn without_queue(outcome: Outcome) -> Self {
        Self { outcome, tenant: None, queue: None, session: None, store_time: None }
    }
}
