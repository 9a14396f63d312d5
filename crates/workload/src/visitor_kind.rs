//! Kinds of virtual visitors.

/// Maximum number of virtual visitors.
pub const VISITORS_MAX: u32 = 5_000_000;

/// A kind of visitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VisitorKind {
    /// A person with a browser.
    Person,
    /// A person whose script ignores the poll interval.
    Flooder,
    /// A bot without cookies.
    Bot,
    /// A client of a farm, which keeps cookies.
    Farm,
    /// A client that sends a token of another.
    Replayer,
    /// A client that forges tokens.
    Forger,
    /// A client that leaves and returns.
    Leaver,
}

impl VisitorKind {
    /// Whether it is a person, and not a bot.
    pub const fn is_person(self) -> bool {
        matches!(self, Self::Person | Self::Flooder)
    }

    /// Whether it has a session: it keeps the tickets it gets.
    pub const fn has_session(self) -> bool {
        !matches!(self, Self::Bot | Self::Forger)
    }
}
