//! What a visitor experienced: the input of all checks.

use crate::sim_time::SimTime;
use crate::visitor_kind::VisitorKind;

/// The trace of a visitor. Instants are those at which requests were sent and responses received, so that only
/// `slot_free_at` and the estimates depend on what the gate reports.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "the flags are independent")]
pub struct VisitorTrace {
    /// The kind of visitor.
    pub kind: VisitorKind,
    /// When the request was sent with which the visitor joined.
    pub arrived: Option<SimTime>,
    /// When the response to that request was received, which may have joined nobody yet.
    pub first_received: Option<SimTime>,
    /// When the request was sent whose response showed a session: the same one, or the one that redeemed a pre-ticket.
    pub join_sent: Option<SimTime>,
    /// When its response was received; the gate recorded the arrival between `arrived` and this.
    pub joined: Option<SimTime>,
    /// The first eight bytes of the session ID that was reported last; 0 if none was.
    pub session: u64,
    /// Whether a limit or a full line rejected the visitor.
    pub was_limited: bool,
    /// Whether the visitor was asked for a proof of work.
    pub was_challenged: bool,
    /// Whether the visitor was turned away, by that or while the store was unavailable, so that the first visit counts as the
    /// arrival for longer.
    pub was_turned_away: bool,
    /// When the last request was sent whose response was to wait.
    pub last_waiting: Option<SimTime>,
    /// When the first response was received that showed the admission.
    pub admitted: Option<SimTime>,
    /// When the visitor was last certainly active: when the leave request or the last successful request was sent.
    pub active_until: Option<SimTime>,
    /// When the slot is free: at the leave request, or when the session expires by what the gate reported.
    pub slot_free_at: Option<SimTime>,
    /// Whether the visitor was absent while waiting, so that others may be admitted first.
    pub was_absent: bool,
    /// How often the session changed, the arrival became later or the position rose.
    pub position_losses: u8,
    /// Whether the gate ended the session of the active visitor.
    pub evicted: bool,
    /// Whether the visitor closed the queue page for good.
    pub gave_up: bool,
    /// Whether the queue was closed.
    pub rejected: bool,
    /// The visitor's number in a draw, in millionths. It decides the order of those who have one, ahead of all others.
    pub number: Option<u32>,
    /// The first estimate that was shown.
    pub first_estimate: Option<EstimatedWait>,
    /// The first estimate that was shown at least two minutes later, when the gate has measured the pace.
    pub later_estimate: Option<EstimatedWait>,
    /// Number of requests.
    pub requests: u32,
    /// Number of failed requests.
    pub failures: u32,
    /// The slots of a bot without a session: when each was admitted, and when the slot expires.
    pub bot_slots: Vec<(SimTime, SimTime)>,
    /// Number of streams that were opened.
    pub streams: u32,
    /// When an open stream showed the turn.
    pub turn_shown: Option<SimTime>,
    /// Whether the page gave streams up and polls instead.
    pub gave_up_streams: bool,
}

/// An estimated wait that was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EstimatedWait {
    /// When it was shown.
    pub at: SimTime,
    /// The median, in seconds.
    pub p50: u32,
    /// The 90th percentile, in seconds.
    pub p90: u32,
}

impl VisitorTrace {
    pub(crate) const fn new(kind: VisitorKind) -> Self {
        Self {
            kind,
            arrived: None,
            first_received: None,
            join_sent: None,
            joined: None,
            session: 0,
            was_limited: false,
            was_challenged: false,
            was_turned_away: false,
            last_waiting: None,
            admitted: None,
            active_until: None,
            slot_free_at: None,
            was_absent: false,
            position_losses: 0,
            evicted: false,
            gave_up: false,
            rejected: false,
            number: None,
            first_estimate: None,
            later_estimate: None,
            requests: 0,
            failures: 0,
            bot_slots: Vec::new(),
            streams: 0,
            turn_shown: None,
            gave_up_streams: false,
        }
    }

    /// When the visitor joined the line: on arrival, unless a limit or a full line rejected the visitor at first.
    pub fn in_line_since(&self) -> Option<SimTime> {
        self.joined.and(if self.was_limited { self.join_sent } else { self.arrived })
    }

    /// Whether this is a person, who sends cookies, and not a bot.
    pub const fn is_person(&self) -> bool {
        self.kind.is_person()
    }

    /// Whether this is a person or bot with a session of its own. Clients of a replay have the session of another.
    pub const fn has_own_session(&self) -> bool {
        self.kind.has_session() && !matches!(self.kind, VisitorKind::Replayer)
    }

    /// Whether the visitor was present from the arrival on, so that nobody who arrived later may be admitted first.
    pub fn stayed_present(&self) -> bool {
        self.is_person() && self.joined.is_some() && !self.was_absent && !self.gave_up
    }

    /// Seconds from the arrival to the admission.
    pub fn wait(&self) -> Option<f64> {
        Some(self.admitted?.since(self.arrived?))
    }
}
