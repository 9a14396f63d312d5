//! What became of a visitor: all that verdicts are made from.

use crate::crowd::Kind;
use crate::moment::Moment;

/// What a visitor went through. Instants are when requests were sent and answers heard on this side, so that nothing in
/// it rests on the gate's word but `free_at` and the promises.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each of them may be true by itself")]
pub struct Story {
    /// What kind of visitor it was.
    pub kind: Kind,
    /// When the request was sent that got them a place.
    pub came: Option<Moment>,
    /// When its answer was heard: the arrival lies between the two.
    pub joined: Option<Moment>,
    /// When the last request was sent that was answered with "wait".
    pub waited: Option<Moment>,
    /// When they first heard that they are in.
    pub admitted: Option<Moment>,
    /// When they were last known to be in: when the leave was sent, or the last request that was answered "in".
    pub inside_until: Option<Moment>,
    /// When their place is free again: then, or where they just closed the site, when the gate said that it lapses.
    pub free_at: Option<Moment>,
    /// Whether they were away at any time while they waited, so that others might go first.
    pub absent: bool,
    /// How often the session changed, the arrival moved back or the position rose.
    pub losses: u8,
    /// Whether the gate ended their visit while they were shopping.
    pub evicted: bool,
    /// Whether they closed the queue page for good.
    pub gave_up: bool,
    /// Whether the gate was closed to them.
    pub turned_away: bool,
    /// The first wait that they were told.
    pub first_promise: Option<Promise>,
    /// The first one that they were told two minutes later or more: by then the gate has measured.
    pub later_promise: Option<Promise>,
    /// Requests sent.
    pub requests: u32,
    /// Requests that got no answer of a gate.
    pub failures: u32,
    /// How often a robot was let in.
    pub passages: u32,
}

/// A wait that was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Promise {
    /// When it was heard.
    pub at: Moment,
    /// Half wait less, in seconds.
    pub p50: u32,
    /// Nine of ten wait less, in seconds.
    pub p90: u32,
}

impl Story {
    pub(crate) const fn of(kind: Kind) -> Self {
        Self {
            kind,
            came: None,
            joined: None,
            waited: None,
            admitted: None,
            inside_until: None,
            free_at: None,
            absent: false,
            losses: 0,
            evicted: false,
            gave_up: false,
            turned_away: false,
            first_promise: None,
            later_promise: None,
            requests: 0,
            failures: 0,
            passages: 0,
        }
    }

    /// Whether this is somebody who waits with a cookie, rather than a robot.
    #[must_use]
    pub fn is_person(&self) -> bool {
        self.kind != Kind::Bot
    }

    /// Whether they were there all the time from the arrival on, so that nobody younger may go first.
    #[must_use]
    pub fn stayed(&self) -> bool {
        self.is_person() && self.joined.is_some() && !self.absent && !self.gave_up
    }

    /// Seconds from the arrival to being let in.
    #[must_use]
    pub fn wait(&self) -> Option<f64> {
        Some(self.admitted?.since(self.came?))
    }
}
