//! The visitor status: what a visitor is shown about their session.

use serde::{Deserialize, Serialize};

use crate::{QueueId, SessionId};

/// The state of a visitor as the page shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VisitorState {
    /// In line, or about to join an open line.
    Waiting,
    /// Admitted.
    Admitted,
    /// In the line of a queue that is paused.
    Paused,
    /// The queue accepts no visitors.
    Closed,
    /// The store is unavailable. The ticket holds the position, so it is not lost.
    Unavailable,
}

impl VisitorState {
    /// The name used in JSON and templates.
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

/// Why a visitor's ticket no longer restores their earlier session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The session ended: the visitor left, an operator ended it, or `max_session` was reached.
    Ended,
    /// The visitor was away for longer than the ticket holds the position or the admission.
    Expired,
    /// The line was reset.
    Reset,
}

/// The expected wait in whole seconds, as two points of its predictive distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitSeconds {
    /// Median wait at this position.
    pub p50: u64,
    /// 0.9-quantile of the wait at this position.
    pub p90: u64,
}

/// A visitor status: the JSON response of all visitor endpoints and the data of a theme. `None` is
/// `null`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VisitorStatus {
    /// The queue.
    pub queue: QueueId,
    /// The visitor's session; `None` if they are not in the queue.
    pub session: Option<SessionId>,
    /// The state to display.
    pub state: VisitorState,
    /// Why the visitor's earlier session ended; `None` if it did not, or if there was none.
    pub reason: Option<EndReason>,
    /// Position in line, from 1; never increases while the visitor stays. `None` unless waiting.
    pub position: Option<u64>,
    /// Number of waiting sessions.
    pub waiting: Option<u64>,
    /// Number of active sessions.
    pub active: Option<u64>,
    /// The expected wait; `None` while no visitor is admitted.
    pub wait_seconds: Option<WaitSeconds>,
    /// When the visitor joined, in seconds since 1970 by the store's clock.
    pub joined_at: Option<u64>,
    /// Seconds until the session expires without another visit.
    pub expires_in: Option<u64>,
    /// Seconds until the next poll.
    pub poll_after: u64,
    /// The URL for an admitted visitor.
    pub enter_url: Option<String>,
    /// Revision of the settings that applied to this response.
    pub revision: Option<u64>,
}
