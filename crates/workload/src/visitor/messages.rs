//! The requests of visitors and the responses of the gate, as far as visitors react to them.

use vestibule_core::{SessionId, VisitorState, WaitSeconds};

use crate::sim_time::SimTime;

vestibule_core::names! {
    /// A kind of request.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum RequestKind {
        /// Opens the first page of the site.
        Enter = "enter",
        /// Polls the visitor status, as the queue page does.
        Poll = "poll",
        /// Opens a stream of the visitor status, as the queue page does.
        Stream = "stream",
        /// Opens another page of the site.
        Page = "page",
        /// Renews the session, as the keepalive script does.
        Keepalive = "keepalive",
        /// Reports that the queue page was closed.
        Away = "away",
        /// Ends the session.
        Leave = "leave",
        /// Gets a challenge, and joins with its solution.
        Join = "join",
    }
    /// The name in reports.
    fn name
}

impl RequestKind {
    /// The index in [`Self::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// A request to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedRequest {
    /// The kind.
    pub kind: RequestKind,
    /// Whether it has the cookies before the last update, like a request of a second tab that was already in flight.
    pub previous_cookies: bool,
}

impl PlannedRequest {
    pub(crate) const fn new(kind: RequestKind) -> Self {
        Self { kind, previous_cookies: false }
    }
}

/// A response.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GateResponse {
    /// A page of the site.
    Site {
        /// Milliseconds until the slot expires without another visit, by the ticket of the response.
        slot_ms: Option<u32>,
    },
    /// The queue page.
    QueuePage {
        /// Milliseconds until it polls.
        poll_after_ms: u32,
        /// Whether it set a ticket. It does not while the store is unavailable: the visitor has not joined yet.
        ticket: bool,
        /// Whether the ticket is one of a lobby, whose visitors are not in line.
        lobby: bool,
    },
    /// A visitor status.
    Status(ReportedStatus),
    /// An open stream. Updates follow.
    Stream,
    /// A response after which a page opens no stream any more.
    NoStream,
    /// Success without a body.
    Done,
    /// No response, or one that is not from a gate.
    Failed {
        /// The `Retry-After` in milliseconds; 0 without one.
        retry_after_ms: u32,
    },
}

/// The parts of a visitor status that visitors react to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReportedStatus {
    /// The state.
    pub state: VisitorState,
    /// The first eight bytes of the session ID; 0 without a session.
    pub session: u64,
    /// The position; 0 without one.
    pub position: u32,
    /// When the visitor joined, in any unit that stays the same; 0 is unknown.
    pub joined_at: u64,
    /// The number of a drawn session, in millionths.
    pub number: Option<u32>,
    /// Whether the order is drawn now, so that nobody is admitted yet.
    pub drawing: bool,
    /// The estimated wait.
    pub wait: Option<WaitSeconds>,
    /// Seconds until the session expires.
    pub expires_in: Option<u64>,
    /// Milliseconds until the next poll.
    pub poll_after_ms: u32,
    /// Whether a limit rejected the join.
    pub is_limited: bool,
    /// The proof of work that is needed to join.
    pub proof: Option<ProofNeeded>,
    /// Polls to skip, in virtual time only.
    pub skip: Option<PollSpan>,
}

impl ReportedStatus {
    /// A session ID as in [`ReportedStatus::session`].
    pub(crate) fn session_prefix(session: SessionId) -> u64 {
        session.as_bytes().first_chunk().map_or(1, |first| u64::from_be_bytes(*first).max(1))
    }
}

/// A proof of work that a newcomer needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProofNeeded {
    /// Milliseconds until the challenge is solved, in virtual time only. A load test solves it when it joins.
    pub solved_after_ms: u32,
    /// Milliseconds after which the newcomer may join without a proof.
    pub delayed_after_ms: u32,
}

/// A span of time in which polls would change nothing, so they are counted and not simulated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PollSpan {
    /// The end of the span.
    pub until: SimTime,
    /// Number of polls in the span of a visitor who follows `poll_after`.
    pub polls: f32,
}
