//! What a visit may do, and the session under which it joins.

use vestibule_core::{PreTicket, SessionId, Ticket};

use crate::identity::VerifiedAccount;

/// What a visit may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VisitIntent {
    /// An update of a stream reads a session; it does not renew or restore it (rule 18).
    Read,
    /// Renews or restores a session, and joins nobody.
    Renew,
    /// A page view: a visitor whose ticket does not hold a position joins, under the session that follows from the ticket, or a
    /// random one.
    Join,
    /// The same under this session of the lobby; if it has ended, under that of the account, or a random one.
    JoinAs(InvitedSession, Option<VerifiedAccount>),
    /// Joins under this session of an invitation, or not at all.
    JoinInvited(InvitedSession),
    /// The same with a pre-ticket, under its session.
    Redeem(PreTicket),
    /// Renews or restores a session, which becomes that of this account.
    RenewAccount(VerifiedAccount),
    /// The same, and a visitor whose ticket does not hold a position joins under the session of the account.
    JoinAccount(VerifiedAccount),
    /// The same with a pre-ticket.
    RedeemAccount(PreTicket, VerifiedAccount),
}

/// A session that is known before it joins, and may join where access is restricted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InvitedSession {
    pub(crate) session: SessionId,
    /// The batch of its code.
    pub(crate) batch: Option<u16>,
    /// Head start in microseconds.
    pub(crate) head_start: u64,
}

impl VisitIntent {
    /// The id under which the visitor joins if the ticket does not hold a position.
    pub(crate) fn new_session(self, ticket: Option<&Ticket>) -> Option<SessionId> {
        let next = |ticket: &Ticket| ticket.session().successor(ticket.signed_at().0);
        match self {
            Self::Read | Self::Renew | Self::RenewAccount(_) => None,
            Self::JoinAccount(account) | Self::RedeemAccount(_, account) => Some(account.session),
            Self::Join => Some(ticket.map_or_else(SessionId::random, next)),
            Self::JoinAs(invited, _) | Self::JoinInvited(invited) => Some(invited.session),
            Self::Redeem(pre_ticket) => Some(pre_ticket.session()),
        }
    }

    /// The session that joins with an invitation, or from the lobby.
    pub(crate) const fn invited(self) -> Option<InvitedSession> {
        match self {
            Self::JoinAs(invited, _) | Self::JoinInvited(invited) => Some(invited),
            _ => None,
        }
    }

    /// The pre-ticket that is redeemed.
    pub(crate) const fn pre_ticket(self) -> Option<PreTicket> {
        match self {
            Self::Redeem(pre_ticket) | Self::RedeemAccount(pre_ticket, _) => Some(pre_ticket),
            _ => None,
        }
    }

    /// The account that a verified token named.
    pub(crate) const fn account(self) -> Option<VerifiedAccount> {
        match self {
            Self::RenewAccount(account) | Self::JoinAccount(account) | Self::RedeemAccount(_, account) => Some(account),
            Self::JoinAs(_, account) => account,
            _ => None,
        }
    }

    /// Whether a visitor without a position joins, who has neither an invitation nor a pre-ticket.
    pub(crate) const fn is_join(self) -> bool {
        matches!(self, Self::Join | Self::JoinAccount(_))
    }

    /// The same for a visitor with a pre-ticket.
    pub(crate) const fn redeeming(self, pre_ticket: PreTicket) -> Self {
        match self {
            Self::Join => Self::Redeem(pre_ticket),
            Self::JoinAccount(account) => Self::RedeemAccount(pre_ticket, account),
            other => other,
        }
    }
}
