//! The mode of a queue.

use serde::{Deserialize as _, Deserializer};

/// The mode of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// First come, first served.
    Open,
    /// All visitors continue to the site; nothing is stored.
    Bypass,
    /// Visitors join; none is admitted.
    #[default]
    Paused,
    /// No visitor joins; active sessions continue.
    Closed,
    /// No visitor joins; waiting sessions are admitted in order. Once the line has been empty for
    /// `hold_ttl`, so that no ticket can restore a session to it, the queue closes automatically.
    Draining,
    /// The queue follows its events: the effective mode is that of the current phase.
    Scheduled,
    /// Only the effective mode of a scheduled queue: the lobby of an event with a draw. Nobody joins the line or is
    /// admitted; newcomers get a lobby ticket.
    Lobby,
    /// Only the effective mode of a scheduled queue: visitors join the line in their drawn order, and nobody is admitted.
    Draw,
}

impl Mode {
    /// Whether waiting sessions are admitted.
    pub const fn admits(self) -> bool {
        matches!(self, Self::Open | Self::Draining)
    }

    /// Whether newcomers can join the line.
    pub const fn accepts_joins(self) -> bool {
        matches!(self, Self::Open | Self::Paused | Self::Draw)
    }

    /// Whether newcomers can join the line, or come to the lobby.
    pub const fn accepts_newcomers(self) -> bool {
        self.accepts_joins() || matches!(self, Self::Lobby)
    }
}

// An unknown mode of a newer version is read as paused: this version must not admit visitors.
crate::word_field! {
    Mode {
        Open = "open", Bypass = "bypass", Paused = "paused", Closed = "closed", Draining = "draining", Scheduled = "scheduled",
    } else Paused only shown { Lobby = "lobby", Draw = "draw" }
}

/// Reads a stored mode: an unknown one is paused.
pub(super) fn known_mode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Mode, D::Error> {
    let mode = serde_json::Value::deserialize(deserializer)?;
    Ok(Mode::deserialize(&mode).unwrap_or_default())
}
