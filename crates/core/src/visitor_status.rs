//! What a visitor is told: where they stand.

use serde::{Deserialize, Serialize};

use crate::{QueueId, SessionId};

/// The state of a visitor as the page shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VisitorState {
    /// In the line, or nowhere yet while the line is open.
    Waiting,
    /// Let in.
    Admitted,
    /// In the line of a queue that admits nobody for now.
    Paused,
    /// The queue takes nobody.
    Closed,
    /// The store can't be asked; the place is in the ticket, so nothing is lost.
    Unavailable,
}

impl VisitorState {
    /// The name as JSON and templates have it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Admitted => "admitted",
            Self::Paused => "paused",
            Self::Closed => "closed",
            Self::Unavailable => "unavailable",
        }
    }
}

/// Why a visitor's earlier session is not theirs any more, although they came with its ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The session ended: the visitor left, an operator removed them, or `max_session` was over.
    Ended,
    /// The visitor was away for longer than their ticket holds the position, or the admission.
    Expired,
    /// The line was reset.
    Reset,
}

/// The expected wait in whole seconds, as two points of its predictive distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitSeconds {
    /// Half of those at this position wait less.
    pub p50: u64,
    /// Nine of ten at this position wait less.
    pub p90: u64,
}

/// A visitor's visitor status: the JSON of every own endpoint, and what a theme shows. `None` is `null`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VisitorStatus {
    /// The queue this is about.
    pub queue: QueueId,
    /// The visitor's session; `None` if they are not in the queue.
    pub session: Option<SessionId>,
    /// What the visitor may expect.
    pub state: VisitorState,
    /// Why the session that the visitor came with is not theirs any more; `None` if it is, or if they came with none.
    pub reason: Option<EndReason>,
    /// Rank in the line from 1; never rises while the visitor stays. `None` unless in line.
    pub position: Option<u64>,
    /// How many wait.
    pub waiting: Option<u64>,
    /// How many are let in.
    pub active: Option<u64>,
    /// The expected wait; `None` while nobody is admitted.
    pub wait_seconds: Option<WaitSeconds>,
    /// When the visitor joined, in seconds since 1970 by the store's clock.
    pub joined_at: Option<u64>,
    /// Seconds until the session lapses if nothing more is heard of the visitor.
    pub expires_in: Option<u64>,
    /// Seconds after which to ask again.
    pub poll_after: u64,
    /// Where an admitted visitor goes.
    pub enter_url: Option<String>,
    /// Revision of the queue's settings that ruled this answer.
    pub revision: Option<u64>,
}
