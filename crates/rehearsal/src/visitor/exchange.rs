//! What visitors ask, and what they hear.

use vestibule_core::{SessionId, VisitorState, WaitSeconds};

use crate::moment::Moment;

/// What a visitor asks the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// Opens the site's page.
    Enter,
    /// Asks for the visitor status, as the queue page does.
    Poll,
    /// Opens another page of the site.
    Page,
    /// Keeps the place, as the site's page does.
    Keepalive,
    /// Tells that the queue page was closed.
    Away,
    /// Leaves.
    Leave,
}

impl Question {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Enter, Self::Poll, Self::Page, Self::Keepalive, Self::Away, Self::Leave];

    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Enter => "enter",
            Self::Poll => "poll",
            Self::Page => "page",
            Self::Keepalive => "keepalive",
            Self::Away => "away",
            Self::Leave => "leave",
        }
    }

    /// Its place in [`Self::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// A question, and with which cookie it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    /// What is asked.
    pub question: Question,
    /// Whether it goes with the cookie before the last one, as a second tab's request does that was on its way already.
    pub older: bool,
}

impl Ask {
    pub(crate) const fn of(question: Question) -> Self {
        Self { question, older: false }
    }
}

/// What a visitor hears.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Heard {
    /// The site.
    Through,
    /// The queue page, which asks again after so many milliseconds.
    QueuePage {
        /// Milliseconds until it asks.
        ask_after_ms: u32,
        /// Whether a ticket came with it. None does while the store gives no answer: then nobody knows of the visitor yet.
        ticket: bool,
    },
    /// Where they stand.
    VisitorStatus(ReportedStatus),
    /// That it was taken note of.
    Done,
    /// Nothing, or what is no answer of a gate.
    Failed {
        /// Milliseconds that the answer asked them to wait; 0 if it said nothing.
        retry_after_ms: u32,
    },
}

/// A visitor status, as far as a visitor goes by it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReportedStatus {
    /// The state.
    pub state: VisitorState,
    /// The session's first eight bytes; 0 is none.
    pub session: u64,
    /// The position; 0 is none.
    pub position: u32,
    /// When they joined, in seconds or microseconds, as long as it is the same unit each time; 0 is unknown.
    pub joined_at: u64,
    /// The expected wait.
    pub wait: Option<WaitSeconds>,
    /// Seconds until the session lapses.
    pub expires_in: Option<u64>,
    /// Milliseconds after which to ask again.
    pub poll_after_ms: u32,
    /// Set in virtual time only.
    pub stretch: Option<Stretch>,
}

impl ReportedStatus {
    /// A session as [`ReportedStatus::session`] has it.
    pub(crate) fn first_bytes(session: SessionId) -> u64 {
        session.as_bytes().first_chunk().map_or(1, |first| u64::from_be_bytes(*first).max(1))
    }
}

/// Questions that would change nothing, and are counted rather than asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stretch {
    /// Nothing changes before this.
    pub until: Moment,
    /// How many questions somebody who keeps to `poll_after` asks until then.
    pub questions: f32,
}
