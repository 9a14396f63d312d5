//! Why a visitor who came with a ticket is not where it says.

use vestibule_core::line::{Mode, VisitAnswer};
use vestibule_core::settings::Settings;
use vestibule_core::{EndReason, MICROS_PER_SECOND, Ticket};

/// `None` for whoever came without a ticket, still has its session, or may come back to it later.
pub(crate) fn end_reason(settings: &Settings, answer: &VisitAnswer, ticket: Option<&Ticket>) -> Option<EndReason> {
    let ticket = ticket?;
    let gone = match &answer.place {
        Some(place) => place.session != ticket.session(),
        None => matches!(answer.mode, Mode::Open | Mode::Paused),
    };
    if !gone {
        return None;
    }
    if ticket.epoch() != answer.epoch {
        return Some(EndReason::Reset);
    }
    let line = &settings.line;
    let good_for = if ticket.admitted_at().is_some() { line.active_ttl } else { line.hold_ttl };
    let is_good = answer.now.since(ticket.signed_at()) <= good_for * MICROS_PER_SECOND;
    Some(if is_good { EndReason::Ended } else { EndReason::Expired })
}
