//! What a visit may do, and the session under which it joins.

use vestibule_core::{PreTicket, SessionId, Ticket};

use crate::identity::VerifiedAccount;

/// What a visit may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VisitIntent {
    pub(crate) action: VisitAction,
    /// The account that a verified token named: a session that is found, or joins without an invitation, becomes that of the account.
    pub(crate) account: Option<VerifiedAccount>,
    /// The session that joins with an invitation, or from the lobby.
    pub(crate) invited: Option<InvitedSession>,
    /// The pre-ticket by which the visitor joins.
    pub(crate) pre_ticket: Option<PreTicket>,
}

/// What a visit does to the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VisitAction {
    /// An update of a stream reads a session; it does not renew or restore it (rule 18).
    Read,
    /// Renews or restores a session, and joins nobody.
    Renew,
    /// The same, and a visitor whose ticket does not hold a position joins.
    Join,
}

/// A session that is known before it joins, and may join where access is restricted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InvitedSession {
    pub(crate) session: SessionId,
    /// The batch of its code.
    pub(crate) batch: Option<u16>,
    /// Head start in microseconds.
    pub(crate) head_start: u64,
    /// Whether it comes from the lobby: if it has ended, the visitor joins under that of the account, or a random one.
    pub(crate) is_from_lobby: bool,
}

impl VisitIntent {
    pub(crate) const READ: Self = Self::of(VisitAction::Read);
    pub(crate) const RENEW: Self = Self::of(VisitAction::Renew);
    pub(crate) const JOIN: Self = Self::of(VisitAction::Join);

    const fn of(action: VisitAction) -> Self {
        Self { action, account: None, invited: None, pre_ticket: None }
    }

    /// The id under which the visitor joins if the ticket does not hold a position: a known one, that which follows from the
    /// ticket, or a random one.
    pub(crate) fn new_session(&self, ticket: Option<&Ticket>) -> Option<SessionId> {
        let account = || self.account.map(|account| account.session);
        let pre_ticket = || self.pre_ticket.map(|pre_ticket| pre_ticket.session());
        let next = || ticket.map(|ticket| ticket.session().successor(ticket.signed_at().0));
        let known = self.invited.map(|invited| invited.session).or_else(account).or_else(pre_ticket).or_else(next);
        self.joins().then(|| known.unwrap_or_else(SessionId::random))
    }

    /// Whether a visitor without a position joins.
    pub(crate) fn joins(&self) -> bool {
        self.action == VisitAction::Join
    }

    /// Whether a visitor without a position joins, who has neither an invitation nor a pre-ticket.
    pub(crate) fn joins_uninvited(&self) -> bool {
        self.joins() && self.invited.is_none() && self.pre_ticket.is_none()
    }

    /// Whether the visitor joins under another session if this one has ended.
    pub(crate) fn may_join_as_another(&self) -> bool {
        self.pre_ticket.is_none() && self.invited.is_none_or(|invited| invited.is_from_lobby)
    }
}
