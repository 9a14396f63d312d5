//! What a gate decided on a request, for those around it: the log and the metrics.

use std::time::Duration;

use vestibule_core::{QueueId, SessionId, TenantId};

/// How a request ended for its visitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Let in by the store.
    Admitted,
    /// Let in by a fresh ticket, without asking the store.
    Rechecked,
    /// Waits in line; nobody is admitted while the queue is paused.
    Waiting,
    /// Met a closed queue, or a draining one without a place in its line.
    Closed,
    /// Passed without being anybody's visit: by a rule, by mode `bypass`, as a forwarded preflight.
    Bypassed,
    /// Was in no queue and joined none: no page that a person waits for.
    Outside,
    /// The store gave no answer; `store_failure` decided.
    Unavailable,
    /// Met no queue, or asked for what there is not.
    Refused,
    /// Another of the gate's own endpoints: scripts, a theme's files, keys, health.
    Own,
    /// Failed here: the origin gave no answer that could be handed on, or a part of the gate itself broke.
    Failed,
}

impl Outcome {
    /// All there are.
    pub const ALL: [Self; 10] = [
        Self::Admitted,
        Self::Rechecked,
        Self::Waiting,
        Self::Closed,
        Self::Bypassed,
        Self::Outside,
        Self::Unavailable,
        Self::Refused,
        Self::Own,
        Self::Failed,
    ];

    /// The word in logs and labels.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Admitted => "admitted",
            Self::Rechecked => "rechecked",
            Self::Waiting => "waiting",
            Self::Closed => "closed",
            Self::Bypassed => "bypassed",
            Self::Outside => "outside",
            Self::Unavailable => "unavailable",
            Self::Refused => "refused",
            Self::Own => "own",
            Self::Failed => "failed",
        }
    }
}

/// A gate's decision on one request; stands among the extensions of its response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// How it ended for the visitor.
    pub outcome: Outcome,
    /// The tenant of the queue that the request met.
    pub tenant: Option<TenantId>,
    /// The queue that the request met.
    pub queue: Option<QueueId>,
    /// The visitor's session, where the store or a ticket told.
    pub session: Option<SessionId>,
    /// Time that the store took, all round trips of the request together; `None` if it was not asked.
    pub store_time: Option<Duration>,
}

impl Decision {
    /// A decision that concerns no queue.
    #[must_use]
    pub const fn without_queue(outcome: Outcome) -> Self {
        Self { outcome, tenant: None, queue: None, session: None, store_time: None }
    }
}
