//! The visitor status: what a visitor is shown about their session.

use serde::{Deserialize, Serialize};

use crate::line::{CurrentPhase, Phase, RejectionReason};
use crate::settings::{EventOrder, Settings};
use crate::{EventId, Micros, QueueId, SessionId};

crate::names! {
    /// The state of a visitor as the page shows it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum VisitorState {
        /// In line, or about to join an open line.
        Waiting = "waiting",
        /// Admitted.
        Admitted = "admitted",
        /// In the line of a queue that is paused.
        Paused = "paused",
        /// In the lobby of an event with a draw, or in line while the order is drawn.
        Lobby = "lobby",
        /// The queue accepts no visitors.
        Closed = "closed",
        /// The line is full, and the visitor has no position in it.
        Full = "full",
        /// Nobody joins without an invitation, and the visitor has none.
        InvitationRequired = "invitation_required",
        /// The store is unavailable. The ticket holds the position, so it is not lost.
        Unavailable = "unavailable",
    }
    /// The name used in JSON and templates.
    fn as_str
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

/// The event of a scheduled queue, as visitors see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventStatus {
    /// ID of the event.
    pub id: EventId,
    /// Name of the event.
    pub name: String,
    /// The phase of the queue. In `idle` the event is the next one.
    pub phase: Phase,
    /// The order of admissions.
    pub order: EventOrder,
    /// When admissions begin, in seconds since 1970.
    pub starts_at: u64,
    /// When the sale ends, in seconds since 1970.
    pub ends_at: u64,
    /// Seconds until the start by the store's clock, negative afterwards.
    pub starts_in: f64,
    /// Seconds until the draw is complete and admissions begin, negative afterwards; `None` for an event in order of arrival,
    /// and while the value of its beacon is missing.
    #[serde(default)]
    pub draw_ends_in: Option<f64>,
    /// The number of the visitor's session in the draw, such as `0.855761`; `None` before the draw, and for everyone who was
    /// not in the lobby.
    #[serde(default)]
    pub number: Option<String>,
}

impl EventStatus {
    /// The event of a queue at `now`, with the settings' name of the queue for an event without one. `None` if the
    /// queue does not follow its events, or no event takes place or follows. `waiting` says whether the line has sessions.
    pub fn of(settings: &Settings, now: Micros, waiting: bool) -> Option<Self> {
        let CurrentPhase { phase, event } = settings.line.phase(now, waiting)?;
        let event = event?;
        Some(Self {
            id: event.id.clone(),
            name: event.name.as_ref().unwrap_or(&settings.name).clone(),
            phase,
            order: event.order,
            starts_at: event.starts_at.seconds(),
            ends_at: event.ends_at.seconds(),
            starts_in: event.starts_in(now),
            draw_ends_in: event.draw_ends_in(now),
            number: None,
        })
    }
}

/// What a newcomer who has no session does to join the line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum JoinStep {
    /// Comes back with the pre-ticket of this answer (rule 23).
    Redeem {
        /// After how many seconds.
        retry_after: u64,
    },
    /// Solves the challenge at this address and sends the proof of work with the pre-ticket of this answer, or comes back later.
    Prove {
        /// The work in multiples of `effort`.
        difficulty: u64,
        /// Mean number of key derivations at difficulty 1.
        effort: u64,
        /// Path and query of the challenge.
        challenge_url: String,
        /// After how many seconds the newcomer may join without a proof.
        delayed_after: u64,
    },
    /// Tries again later: a limit rejected the join, or the line is full.
    RetryLater {
        /// After how many seconds.
        retry_after: u64,
        /// Why.
        reason: RetryReason,
    },
    /// Signs in: nobody joins without an account (rule 24).
    SignIn {
        /// Where; the page returns the visitor afterwards.
        url: String,
    },
}

/// Why a newcomer tries again later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryReason {
    /// The process that was asked makes no more challenges at the moment.
    Challenges,
    /// The line rejected the join, or is full.
    #[serde(untagged)]
    Rejected(RejectionReason),
}

impl JoinStep {
    /// Seconds until a client comes back with its pre-ticket.
    pub const REDEEM_AFTER: u64 = 1;

    /// The next step of a newcomer who got a pre-ticket.
    pub const fn redeem() -> Self {
        Self::Redeem { retry_after: Self::REDEEM_AFTER }
    }
}

/// A visitor status: the JSON response of all visitor endpoints and the data of a theme. `None` is
/// `null`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VisitorStatus {
    /// The queue.
    pub queue: QueueId,
    /// The visitor's session; `None` if they are not in the queue.
    pub session: Option<SessionId>,
    /// The code that the visitor can tell to support.
    pub support_code: Option<String>,
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
    /// The operator's message in the language of the request; `None` for active sessions and without a message.
    pub message: Option<String>,
    /// The language tag of the message; `None` for the default text, whose language is not known.
    #[serde(default)]
    pub message_language: Option<String>,
    /// The current event of a scheduled queue, or the next one.
    #[serde(default)]
    pub event: Option<EventStatus>,
    /// What a newcomer does to join the line; `None` for visitors with a session.
    #[serde(default)]
    pub join: Option<JoinStep>,
}

impl VisitorStatus {
    /// The status of a visitor of whom nothing more is known than this state.
    pub const fn new(queue: QueueId, state: VisitorState, poll_after: u64) -> Self {
        Self {
            queue,
            session: None,
            support_code: None,
            state,
            reason: None,
            position: None,
            waiting: None,
            active: None,
            wait_seconds: None,
            joined_at: None,
            expires_in: None,
            poll_after,
            enter_url: None,
            revision: None,
            message: None,
            message_language: None,
            event: None,
            join: None,
        }
    }

    /// Whether a newcomer comes back with a pre-ticket to join.
    pub const fn redeems(&self) -> bool {
        matches!(self.join, Some(JoinStep::Redeem { .. }))
    }

    /// Whether a newcomer proves work to join.
    pub const fn proves(&self) -> bool {
        matches!(self.join, Some(JoinStep::Prove { .. }))
    }
}
