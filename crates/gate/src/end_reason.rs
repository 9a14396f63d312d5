//! Why the session of a ticket has ended.

use vestibule_core::line::{LineRules, VisitAnswer, VisitKind};
use vestibule_core::settings::Settings;
use vestibule_core::{EndReason, MICROS_PER_SECOND, Micros, Ticket};

/// `None` without a ticket, while its session exists, if the ticket may restore it later, and if the visitor could not
/// join again because the line is full or they have no invitation.
pub(crate) fn end_reason(settings: &Settings, answer: &VisitAnswer, ticket: Option<&Ticket>) -> Option<EndReason> {
    let ticket = ticket?;
    let has_ended = if let Some(session) = &answer.session {
        session.id != ticket.session()
    } else {
        let cannot_join = matches!(answer.kind, VisitKind::Full | VisitKind::InvitationRequired);
        !cannot_join && answer.mode.accepts_joins()
    };
    if !has_ended {
        return None;
    }
    if ticket.epoch() != answer.epoch {
        return Some(EndReason::Reset);
    }
    let is_recent = is_recent(&settings.line, ticket, answer.now);
    Some(if is_recent { EndReason::Ended } else { EndReason::Expired })
}

/// Whether the session of a ticket of this age can exist, or be restored, unless it was ended.
pub(crate) fn is_recent(line: &LineRules, ticket: &Ticket, now: Micros) -> bool {
    let valid_for = match ticket.admitted_at() {
        _ if ticket.is_unconfirmed() => line.claim_ttl,
        Some(_) => line.active_ttl,
        None => line.hold_ttl,
    };
    now.since(ticket.signed_at()) <= valid_for * MICROS_PER_SECOND
}
