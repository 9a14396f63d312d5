//! A visitor on the site: opens pages, renews the session with the keepalive script, and leaves or closes the page.

use vestibule_core::VisitorState;

use super::{GateResponse, Next, Phase, RequestKind, Visitor};
use crate::sim_time::SimTime;
use crate::workload::Behavior;

/// Interval of the keepalive script without a `poll_after`, in seconds, as in `keepalive.js`.
pub(crate) const KEEPALIVE_INTERVAL: f64 = 15.0;
/// Minimum interval of the keepalive script, in seconds.
const KEEPALIVE_INTERVAL_MIN: f64 = 2.0;

impl Visitor {
    /// A response showed the admission.
    pub(super) fn record_admission(&mut self, now: SimTime, sent: SimTime, expires_in: Option<u64>) {
        self.trace.admitted.get_or_insert(now);
        self.record_active(now, sent, expires_in);
    }

    fn record_active(&mut self, now: SimTime, sent: SimTime, expires_in: Option<u64>) {
        if let Some(seconds) = expires_in {
            self.renewal_ms = self.renewal_ms.max(SimTime::from_seconds(seconds as f64).0);
        }
        // The session was active at some time since `sent`; the visitor has known of it since `admitted`.
        let known = self.trace.admitted.map_or(sent, |admitted| admitted.max(sent));
        self.trace.active_until = Some(known);
        if self.renewal_ms > 0 {
            self.trace.slot_free_at = Some(now.add_ms(self.renewal_ms));
        }
    }

    /// A page of the site was received.
    pub(super) fn on_site(&mut self, now: SimTime, sent: SimTime, behavior: &Behavior) -> Next {
        if self.trace.arrived.is_none() {
            self.record_join(now, sent);
        }
        self.record_admission(now, sent, None);
        self.pages += 1;
        if self.phase != Phase::Shopping {
            let never = SimTime::NEVER;
            (self.timers.request, self.timers.close, self.timers.sleep, self.timers.reload) =
                (never, never, never, never);
            self.stop_listening();
            self.phase = Phase::Shopping;
            self.timers.finish = now.add_ms(self.intent.shopping.0);
            self.timers.keepalive = if behavior.keepalive { now } else { never };
        }
        self.schedule_page(now, behavior);
        self.wait_for_timer()
    }

    /// Spreads the remaining pages over the remaining time.
    fn schedule_page(&mut self, now: SimTime, behavior: &Behavior) {
        let left = behavior.pages.saturating_sub(self.pages);
        let time = self.timers.finish.0.saturating_sub(now.0);
        self.timers.page = if left == 0 { SimTime::NEVER } else { now.add_ms(time / (left + 1)) };
    }

    pub(super) fn act_on_site(&mut self, now: SimTime) -> Next {
        let first = self.next_timer();
        if first > now {
            return self.wait_for_timer();
        }
        if self.timers.finish <= now {
            return self.finish(now);
        }
        if first == self.timers.page {
            self.timers.page = SimTime::NEVER;
            return self.send(RequestKind::Page);
        }
        self.timers.keepalive = SimTime::NEVER;
        self.send(RequestKind::Keepalive)
    }

    fn finish(&mut self, now: SimTime) -> Next {
        let never = SimTime::NEVER;
        (self.timers.finish, self.timers.page, self.timers.keepalive) = (never, never, never);
        if !self.intent.leaves {
            return self.depart();
        }
        // The slot is free as soon as the gate may have received the request.
        self.trace.active_until = Some(now);
        self.trace.slot_free_at = Some(now);
        self.send(RequestKind::Leave)
    }

    pub(super) fn page_failed(&mut self, now: SimTime, retry_after_ms: u32) -> Next {
        self.timers.page = self.back_off(now, retry_after_ms);
        self.wait_for_timer()
    }

    pub(super) fn on_keepalive(&mut self, now: SimTime, sent: SimTime, response: &GateResponse) -> Next {
        let GateResponse::Status(status) = response else {
            self.timers.keepalive = now.add_seconds(KEEPALIVE_INTERVAL);
            return self.wait_for_timer();
        };
        self.trace.session = if status.session == 0 { self.trace.session } else { status.session };
        match status.state {
            VisitorState::Admitted => {
                self.record_active(now, sent, status.expires_in);
                let third = status.expires_in.map_or(KEEPALIVE_INTERVAL, |seconds| seconds as f64 / 3.0);
                let request = f64::from(status.poll_after_ms) / 1000.0;
                self.timers.keepalive = now.add_seconds(request.min(third).max(KEEPALIVE_INTERVAL_MIN));
                self.wait_for_timer()
            }
            VisitorState::Unavailable => {
                self.timers.keepalive = now.add_seconds(KEEPALIVE_INTERVAL);
                self.wait_for_timer()
            }
            VisitorState::Waiting
            | VisitorState::Paused
            | VisitorState::Lobby
            | VisitorState::Closed
            | VisitorState::Full
            | VisitorState::InvitationRequired => self.evicted(),
        }
    }

    /// The gate ended the session.
    pub(super) fn evicted(&mut self) -> Next {
        self.trace.evicted = true;
        self.trace.slot_free_at = self.trace.active_until;
        self.depart()
    }
}
