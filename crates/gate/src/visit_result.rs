//! The result of a visit.

use std::sync::Arc;
use std::time::Duration;

use vestibule_core::line::RejectionReason;
use vestibule_core::{JoinStep, Micros, RetryReason, SessionId, VisitorState, VisitorStatus};
use vestibule_runtime::{Decision, Outcome, Queue};
use vestibule_themes::ErrorPage;

use crate::pass::Slot;
use crate::pre_tickets::PreTicketOffer;
use crate::request::RequestInfo;

/// The result of a visit.
pub(crate) struct VisitResult {
    /// The queue, with the settings that were applied.
    pub(crate) queue: Arc<Queue>,
    pub(crate) visitor_status: VisitorStatus,
    /// The new ticket; `None` without a session or a store call.
    pub(crate) ticket: Option<NewTicket>,
    /// The pre-ticket that the answer carries in place of a ticket.
    pub(crate) pre_ticket: Option<PreTicketOffer>,
    /// The slot of the session, if it is active.
    pub(crate) admitted: Option<Slot>,
    /// Whether this request passes.
    pub(crate) passes: bool,
    /// The store's time.
    pub(crate) now: Micros,
    /// Whether the visitor sent a ticket of this session.
    pub(crate) known: bool,
    /// The outcome for the visitor.
    pub(crate) outcome: Outcome,
    /// Whether the request passes because of the effective mode.
    pub(crate) by_mode: bool,
    /// Time spent on the store; `None` without a store call.
    pub(crate) store_time: Option<Duration>,
}

/// A ticket for the visitor.
pub(crate) struct NewTicket {
    pub(crate) token: String,
    /// Seconds for which its cookie is kept.
    pub(crate) max_age: u64,
    /// Whether the session began with this request under a random ID, so that nothing else leads to it.
    pub(crate) is_first: bool,
}

impl VisitResult {
    /// A visit without a ticket or a slot, which does not pass.
    pub(crate) const fn new(queue: Arc<Queue>, visitor_status: VisitorStatus, now: Micros, outcome: Outcome) -> Self {
        Self {
            queue,
            visitor_status,
            ticket: None,
            pre_ticket: None,
            admitted: None,
            passes: false,
            now,
            known: false,
            outcome,
            by_mode: false,
            store_time: None,
        }
    }

    /// Adds where the visitor of this request goes, if admitted.
    pub(crate) fn with_enter_url(mut self, info: &RequestInfo) -> Self {
        let is_admitted = self.visitor_status.state == VisitorState::Admitted;
        self.visitor_status.enter_url = is_admitted.then(|| info.enter_url());
        self
    }

    /// The decision for log and metrics.
    pub(crate) fn decision(&self) -> Decision {
        decision(self.outcome, &self.queue, self.visitor_status.session, self.store_time)
    }

    /// Why a limit rejected the newcomer.
    pub(crate) const fn rejection(&self) -> Option<RejectionReason> {
        match &self.visitor_status.join {
            Some(JoinStep::RetryLater { reason: RetryReason::Rejected(reason), .. }) => Some(*reason),
            _ => None,
        }
    }

    /// The page for a newcomer whose join a limit rejected. A full line has a queue page.
    pub(crate) fn rejection_page(&self) -> Option<ErrorPage> {
        match self.rejection()? {
            RejectionReason::Blocked => Some(ErrorPage::JoinBlocked),
            RejectionReason::Rate => Some(ErrorPage::JoinRate),
            RejectionReason::Limit => Some(ErrorPage::JoinLimit),
            RejectionReason::Full => None,
        }
    }

    /// The page that sends a newcomer to sign in.
    pub(crate) fn sign_in_page(&self) -> Option<ErrorPage> {
        matches!(self.visitor_status.join, Some(JoinStep::SignIn { .. })).then_some(ErrorPage::SignIn)
    }

    /// The value of `Retry-After`.
    pub(crate) fn retry_after(&self) -> http::HeaderValue {
        http::HeaderValue::from(self.visitor_status.poll_after)
    }
}

/// A decision about this queue.
pub(crate) fn decision(
    outcome: Outcome,
    queue: &Queue,
    session: Option<SessionId>,
    store_time: Option<Duration>,
) -> Decision {
    let settings = &queue.settings;
    Decision { outcome, tenant: Some(settings.tenant.clone()), queue: Some(settings.id.clone()), session, store_time }
}
