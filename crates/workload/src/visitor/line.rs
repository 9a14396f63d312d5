//! A visitor in line: polls, reloads, sleeps and closes the page.

use vestibule_core::VisitorState;

use super::{
    EstimatedWait, GateResponse, Next, Phase, PollSpan, ProofNeeded, ReportedStatus, RequestKind, SkippedPolls, Visitor,
};
use crate::hostile::ProofPolicy;
use crate::sim_time::SimTime;
use crate::visitor_kind::VisitorKind;
use crate::workload::Behavior;

/// Seconds between the admission and opening the site, as in `queue.js`.
const ENTER_DELAY: f64 = 1.5;
/// Minimum time that a phone sleeps, in seconds.
const SLEEP_MIN: f64 = 20.0;
/// Share of a second tab's polls that have the previous cookies.
const PREVIOUS_COOKIES_SHARE: f64 = 0.3;
/// Seconds after the first estimate at which a later one is recorded.
const LATER_ESTIMATE_SECONDS: f64 = 120.0;
/// The queue page polls within two thirds of the time until the session expires, so the session lasts at least 1.5 times
/// the interval.
const PRESENCE_FACTOR: f64 = 1.5;

impl Visitor {
    /// Handles the first due timer while the queue page is open.
    pub(super) fn act_in_line(&mut self, now: SimTime, behavior: &Behavior) -> Next {
        let first = self.next_timer();
        if first > now {
            return self.wait_for_timer();
        }
        self.cancel_skipped(now);
        if first == self.timers.close {
            return self.close(now);
        }
        if first == self.timers.sleep {
            return self.sleep(now, behavior);
        }
        if first == self.timers.reload {
            // The browser sends the beacon when it unloads the page.
            self.timers.reload = SimTime::NEVER;
            self.trace.was_absent = true;
            self.stop_listening();
            return self.send(RequestKind::Away);
        }
        if first == self.timers.silent {
            return self.on_silence(now);
        }
        if std::mem::take(&mut self.is_solving) {
            self.timers.request = SimTime::NEVER;
            // The challenge is a request of its own.
            self.add_requests(1);
            return self.send(RequestKind::Join);
        }
        self.ask(now)
    }

    pub(super) fn poll(&mut self, now: SimTime) -> Next {
        self.timers.request = SimTime::NEVER;
        self.record_absence(now);
        let next = self.send(RequestKind::Poll);
        self.request.previous_cookies = self.intent.second_tab && self.rng.happens(PREVIOUS_COOKIES_SHARE);
        if let Next::Send(_) = next { Next::Send(self.request) } else { next }
    }

    fn close(&mut self, now: SimTime) -> Next {
        self.trace.was_absent = true;
        self.clear_timers();
        self.trace.gave_up = self.intent.returns_after.is_none();
        if self.intent.sends_beacon {
            self.phase = Phase::Outside;
            return self.send(RequestKind::Away);
        }
        match self.intent.returns_after {
            Some(away) => {
                self.phase = Phase::Outside;
                self.timers.request = now.add_ms(away.0);
                self.wait_for_timer()
            }
            None => self.depart(),
        }
    }

    fn sleep(&mut self, now: SimTime, behavior: &Behavior) -> Next {
        self.trace.was_absent = true;
        self.clear_timers();
        self.phase = Phase::Asleep;
        self.timers.request = now.add_seconds(self.rng.between(behavior.asleep.min(SLEEP_MIN), behavior.asleep));
        self.wait_for_timer()
    }

    pub(super) fn wake(&mut self, now: SimTime, behavior: &Behavior) -> Next {
        self.phase = Phase::InLine;
        self.timers.sleep = now.add_seconds(self.rng.exponential(behavior.awake));
        self.timers.request = SimTime::NEVER;
        self.send(RequestKind::Poll)
    }

    fn clear_timers(&mut self) {
        let never = SimTime::NEVER;
        (self.timers.request, self.timers.close, self.timers.sleep, self.timers.reload) = (never, never, never, never);
        self.stop_listening();
    }

    /// The beacon of a page that was closed or is being reloaded was sent.
    pub(super) fn on_away(&mut self, now: SimTime, behavior: &Behavior) -> Next {
        if self.phase == Phase::InLine {
            self.timers.reload = now.add_seconds(self.rng.exponential(behavior.reload_every).max(1.0));
            return self.enter(now);
        }
        match self.intent.returns_after {
            Some(away) => {
                self.timers.request = now.add_ms(away.0);
                self.wait_for_timer()
            }
            None => self.depart(),
        }
    }

    pub(super) fn on_page(
        &mut self,
        now: SimTime,
        sent: SimTime,
        response: &GateResponse,
        behavior: &Behavior,
    ) -> Next {
        match *response {
            GateResponse::Site { .. } => self.on_site(now, sent, behavior),
            GateResponse::QueuePage { ticket: true, .. } if matches!(self.phase, Phase::Shopping | Phase::Admitted) => {
                self.evicted()
            }
            GateResponse::QueuePage { poll_after_ms, ticket: false, .. } if self.phase == Phase::Shopping => {
                self.page_failed(now, poll_after_ms)
            }
            GateResponse::QueuePage { poll_after_ms, ticket: false, .. } if self.phase == Phase::Admitted => {
                self.timers.request = now.add_ms(poll_after_ms);
                self.wait_for_timer()
            }
            GateResponse::QueuePage { poll_after_ms, ticket, lobby } => {
                self.phase = Phase::InLine;
                if ticket {
                    self.join_line(now, sent, behavior);
                    self.trace.last_waiting = Some(sent);
                    self.present_until = now.add_seconds(f64::from(poll_after_ms) / 1000.0 * PRESENCE_FACTOR);
                } else {
                    self.first_visit.get_or_insert((sent, now));
                }
                let first_ms = self.first_request(poll_after_ms, ticket && !lobby);
                let soon = now.add_ms(self.interval(first_ms, behavior));
                let hoarded = self.intent.redeems.filter(|_| !ticket);
                self.timers.request = hoarded.map_or(soon, |redeems| soon.max(redeems));
                self.wait_for_timer()
            }
            GateResponse::Failed { retry_after_ms } if self.phase == Phase::Shopping => {
                self.page_failed(now, retry_after_ms)
            }
            GateResponse::Failed { retry_after_ms } => {
                self.timers.request = self.back_off(now, retry_after_ms);
                self.wait_for_timer()
            }
            GateResponse::Status(_) | GateResponse::Stream | GateResponse::NoStream | GateResponse::Done => {
                self.timers.request = self.back_off(now, 0);
                self.wait_for_timer()
            }
        }
    }

    fn join_line(&mut self, now: SimTime, sent: SimTime, behavior: &Behavior) {
        if self.trace.joined.is_none() {
            // The first visit of a pre-ticket may count as the arrival, or not.
            self.record_join(now, sent);
            self.timers.close = self.intent.closes.map_or(SimTime::NEVER, |after| now.add_ms(after.0));
            if self.intent.reloads {
                self.timers.reload = now.add_seconds(self.rng.exponential(behavior.reload_every).max(1.0));
            }
            if self.intent.sleeps {
                self.timers.sleep = now.add_seconds(self.rng.exponential(behavior.awake));
            }
        }
    }

    /// The first response that shows a session.
    pub(super) fn record_join(&mut self, now: SimTime, sent: SimTime) {
        let (first_sent, first_received) = self.first_visit.unwrap_or((sent, now));
        (self.trace.arrived, self.trace.first_received) = (Some(first_sent), Some(first_received));
        (self.trace.join_sent, self.trace.joined) = (Some(sent), Some(now));
    }

    /// Milliseconds until the next poll. With two tabs, each polls at the interval.
    pub(super) fn interval(&self, poll_after_ms: u32, behavior: &Behavior) -> u32 {
        match self.intent.kind {
            VisitorKind::Flooder => (behavior.flood_every * 1000.0) as u32,
            _ if self.intent.second_tab => poll_after_ms / 2,
            _ => poll_after_ms,
        }
    }

    pub(super) fn on_poll(
        &mut self,
        now: SimTime,
        sent: SimTime,
        response: &GateResponse,
        behavior: &Behavior,
    ) -> Next {
        let status = match response {
            GateResponse::Status(status) => status,
            GateResponse::Failed { retry_after_ms } => {
                self.timers.request = self.back_off(now, *retry_after_ms);
                return self.wait_for_timer();
            }
            GateResponse::Site { .. }
            | GateResponse::QueuePage { .. }
            | GateResponse::Stream
            | GateResponse::NoStream
            | GateResponse::Done => {
                self.timers.request = self.back_off(now, 0);
                return self.wait_for_timer();
            }
        };
        self.note_state(status);
        self.record_rejection(status);
        self.record_position(status);
        self.record_number(status);
        if status.session != 0 && status.state != VisitorState::Unavailable {
            // A visitor whose page had no ticket joins with the first poll.
            self.join_line(now, sent, behavior);
        }
        match status.state {
            VisitorState::Admitted => {
                self.record_admission(now, sent, status.expires_in);
                self.clear_timers();
                self.phase = Phase::Admitted;
                self.timers.request = now.add_seconds(ENTER_DELAY);
                self.wait_for_timer()
            }
            VisitorState::Closed => {
                self.trace.rejected = true;
                self.depart()
            }
            // The page of a rejection says when to try again.
            VisitorState::Waiting | VisitorState::Paused if status.session == 0 && status.is_limited => {
                self.timers.request = now.add_ms(status.poll_after_ms);
                self.wait_for_timer()
            }
            VisitorState::Waiting | VisitorState::Paused if status.session == 0 && status.proof.is_some() => {
                self.on_challenge(now, status.proof)
            }
            // The page has no session: it reloads itself.
            VisitorState::Waiting | VisitorState::Paused if status.session == 0 => self.enter(now),
            _ => self.keep_waiting(now, sent, status, behavior),
        }
    }

    /// A proof of work is needed to join.
    fn on_challenge(&mut self, now: SimTime, proof: Option<ProofNeeded>) -> Next {
        let Some(proof) = proof else { return self.wait_for_timer() };
        self.trace.was_challenged = true;
        // Whoever joins late or without a proof has another arrival than that of the first visit.
        self.trace.was_turned_away = true;
        match self.intent.proof {
            ProofPolicy::Solve => {
                self.is_solving = true;
                self.timers.request = now.add_ms(proof.solved_after_ms);
            }
            ProofPolicy::Delayed => self.timers.request = now.add_ms(proof.delayed_after_ms.max(1000)),
            ProofPolicy::None => return self.depart(),
        }
        self.wait_for_timer()
    }

    fn record_rejection(&mut self, status: &ReportedStatus) {
        let is_full = status.state == VisitorState::Full;
        self.trace.was_limited |= status.is_limited || is_full;
        self.trace.was_turned_away |= self.trace.was_limited || status.state == VisitorState::Unavailable;
    }

    fn keep_waiting(&mut self, now: SimTime, sent: SimTime, status: &ReportedStatus, behavior: &Behavior) -> Next {
        if status.state != VisitorState::Unavailable {
            self.trace.last_waiting = Some(sent);
        }
        self.take_status(now, status);
        if self.intent.kind == VisitorKind::Leaver && self.timers.close == SimTime::NEVER && status.session != 0 {
            self.timers.close = self.intent.closes.map_or(SimTime::NEVER, |after| now.add_ms(after.0));
        }
        let interval = self.interval(status.poll_after_ms, behavior).max(1);
        self.timers.request = now.add_ms(interval);
        if let Some(span) = status.skip.filter(|span| span.until > self.timers.request) {
            self.skip(now, interval, span);
        }
        self.wait_for_timer()
    }

    /// Remembers until when the session is present, and the estimate.
    pub(super) fn take_status(&mut self, now: SimTime, status: &ReportedStatus) {
        if let Some(seconds) = status.expires_in {
            self.present_until = now.add_seconds(seconds as f64);
        }
        self.record_estimate(now, status);
    }

    /// Counts the polls of a span and schedules only the last one.
    fn skip(&mut self, now: SimTime, interval_ms: u32, span: PollSpan) {
        let all = match self.intent.kind {
            VisitorKind::Flooder => (span.until.0.saturating_sub(now.0) / interval_ms) as f32,
            _ if self.intent.second_tab => span.polls * 2.0,
            _ => span.polls,
        };
        let polls = (all - 1.0).round() as u32;
        self.add_requests(polls);
        self.skipped = SkippedPolls { from: now, first: self.timers.request, until: span.until, polls };
        self.timers.request = span.until;
    }

    fn record_estimate(&mut self, now: SimTime, status: &ReportedStatus) {
        let Some(wait) = status.wait else { return };
        let whole = |seconds: u64| u32::try_from(seconds).unwrap_or(u32::MAX);
        let estimate = EstimatedWait { at: now, p50: whole(wait.p50), p90: whole(wait.p90) };
        match self.trace.first_estimate {
            None => self.trace.first_estimate = Some(estimate),
            Some(first) if self.trace.later_estimate.is_none() && now.since(first.at) >= LATER_ESTIMATE_SECONDS => {
                self.trace.later_estimate = Some(estimate);
            }
            Some(_) => {}
        }
    }

    /// Records the number in the draw.
    pub(super) const fn record_number(&mut self, status: &ReportedStatus) {
        if self.trace.number.is_none() && status.number.is_some() {
            self.trace.number = status.number;
            // Who joins the line after the draw may find that others were admitted.
            self.trace.was_absent |= !status.drawing;
        }
    }

    /// Records the position, and whether it got worse.
    pub(super) fn record_position(&mut self, status: &ReportedStatus) {
        let waits = matches!(status.state, VisitorState::Waiting | VisitorState::Paused | VisitorState::Admitted);
        if !waits || status.session == 0 {
            return;
        }
        let changed = self.session != 0 && status.session != self.session;
        let moved = !changed && self.joined_at != 0 && status.joined_at > self.joined_at;
        // A tab with previous cookies may be shown an earlier, higher position.
        let rose = !changed && !self.request.previous_cookies && self.position != 0 && status.position > self.position;
        self.trace.position_losses = self.trace.position_losses.saturating_add(u8::from(changed || moved || rose));
        (self.session, self.trace.session) = (status.session, status.session);
        self.joined_at = if self.joined_at == 0 || changed { status.joined_at } else { self.joined_at };
        if status.position != 0 {
            self.position = status.position;
        }
    }
}
