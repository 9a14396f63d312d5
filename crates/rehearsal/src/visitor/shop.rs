//! On the site: opens pages, is kept present by the site's script, and leaves or just closes it.

use vestibule_core::VisitorState;

use super::{Heard, Next, Phase, Question, Visitor};
use crate::crowd::Habits;
use crate::moment::Moment;

/// Seconds after which the site's script asks again where the answer says nothing, as `keepalive.js` has it.
const KEEPALIVE: f64 = 15.0;
/// Least seconds between two of its requests.
const KEEPALIVE_LEAST: f64 = 2.0;

impl Visitor {
    /// They heard that they are in.
    pub(super) fn let_in(&mut self, now: Moment, sent: Moment, expires_in: Option<u64>) {
        self.story.admitted.get_or_insert(now);
        self.still_in(now, sent, expires_in);
    }

    fn still_in(&mut self, now: Moment, sent: Moment, expires_in: Option<u64>) {
        if let Some(seconds) = expires_in {
            self.kept_ms = self.kept_ms.max(Moment::of_seconds(seconds as f64).0);
        }
        // Who asked at `sent` and was answered "in" was in at some time since then; they knew of it at `admitted`.
        let known = self.story.admitted.map_or(sent, |admitted| admitted.max(sent));
        self.story.inside_until = Some(known);
        if self.kept_ms > 0 {
            self.story.free_at = Some(now.after_ms(self.kept_ms));
        }
    }

    /// A page of the site came.
    pub(super) fn hear_site(&mut self, now: Moment, sent: Moment, habits: &Habits) -> Next {
        if self.story.came.is_none() {
            (self.story.came, self.story.joined) = (Some(sent), Some(now));
        }
        self.let_in(now, sent, None);
        self.pages += 1;
        if self.phase != Phase::Shopping {
            let never = Moment::NEVER;
            (self.timers.ask, self.timers.close, self.timers.sleep, self.timers.reload) = (never, never, never, never);
            self.phase = Phase::Shopping;
            self.timers.finish = now.after_ms(self.intent.shopping.0);
            self.timers.keepalive = if habits.keepalive { now } else { never };
        }
        self.plan_page(now, habits);
        self.rest()
    }

    /// The pages are spread over the time that is left.
    fn plan_page(&mut self, now: Moment, habits: &Habits) {
        let left = habits.pages.saturating_sub(self.pages);
        let time = self.timers.finish.0.saturating_sub(now.0);
        self.timers.page = if left == 0 { Moment::NEVER } else { now.after_ms(time / (left + 1)) };
    }

    pub(super) fn act_in_shop(&mut self, now: Moment) -> Next {
        let first = self.wakes();
        if first > now {
            return self.rest();
        }
        if self.timers.finish <= now {
            return self.finish(now);
        }
        if first == self.timers.page {
            self.timers.page = Moment::NEVER;
            return self.ask(Question::Page);
        }
        self.timers.keepalive = Moment::NEVER;
        self.ask(Question::Keepalive)
    }

    fn finish(&mut self, now: Moment) -> Next {
        let never = Moment::NEVER;
        (self.timers.finish, self.timers.page, self.timers.keepalive) = (never, never, never);
        if !self.intent.leaves {
            return self.vanish();
        }
        // Free from the moment at which the gate may have heard of it.
        self.story.inside_until = Some(now);
        self.story.free_at = Some(now);
        self.ask(Question::Leave)
    }

    pub(super) fn page_failed(&mut self, now: Moment, retry_after_ms: u32) -> Next {
        self.timers.page = self.back_off(now, retry_after_ms);
        self.rest()
    }

    pub(super) fn hear_keepalive(&mut self, now: Moment, sent: Moment, heard: &Heard) -> Next {
        let Heard::VisitorStatus(told) = heard else {
            self.timers.keepalive = now.after(KEEPALIVE);
            return self.rest();
        };
        match told.state {
            VisitorState::Admitted => {
                self.still_in(now, sent, told.expires_in);
                let third = told.expires_in.map_or(KEEPALIVE, |seconds| seconds as f64 / 3.0);
                let asked = f64::from(told.poll_after_ms) / 1000.0;
                self.timers.keepalive = now.after(asked.min(third).max(KEEPALIVE_LEAST));
                self.rest()
            }
            VisitorState::Unavailable => {
                self.timers.keepalive = now.after(KEEPALIVE);
                self.rest()
            }
            VisitorState::Waiting | VisitorState::Paused | VisitorState::Closed => self.evicted(),
        }
    }

    /// The gate ended the visit.
    pub(super) fn evicted(&mut self) -> Next {
        self.story.evicted = true;
        self.story.free_at = self.story.inside_until;
        self.vanish()
    }
}
