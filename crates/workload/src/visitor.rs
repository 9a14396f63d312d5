//! A virtual visitor: a state machine without clock or I/O.
//!
//! `rehearse` and `demo` step it in real time with responses of a gate, `plan` in virtual time with responses of the rules.

mod line;
mod messages;
mod page_stream;
mod shop;
mod stream;
#[cfg(test)]
mod tests;
mod trace;

pub use messages::{GateResponse, PlannedRequest, PollSpan, ProofNeeded, ReportedStatus, RequestKind};
pub(crate) use shop::KEEPALIVE_INTERVAL;
pub use trace::{EstimatedWait, VisitorTrace};

use self::page_stream::PageStream;
use crate::rng::Rng;
use crate::sim_time::SimTime;
use crate::visitor_kind::VisitorKind;
use crate::workload::{Behavior, Intent, Workload};

/// The state of a visitor, as far as the visitor knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Not arrived yet, or away.
    Outside,
    /// In line with the queue page open.
    InLine,
    /// In line while the phone sleeps.
    Asleep,
    /// Admitted and about to open the site.
    Admitted,
    /// On the site.
    Shopping,
    /// Gone for good.
    Departed,
}

/// What a visitor does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Sends a request.
    Send(PlannedRequest),
    /// Waits for the next timer.
    Wait(SimTime),
    /// Nothing, forever.
    Departed,
}

/// An event.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// The next timer is due.
    Timer,
    /// The response to the last request, and when the request was sent.
    Response(&'a GateResponse, SimTime),
    /// A status that came by the open stream.
    Update(&'a ReportedStatus),
    /// The open stream has ended; the milliseconds until the browser opens it again, if the server has sent them.
    StreamEnd(Option<u32>),
}

/// A visitor.
#[derive(Debug, Clone)]
pub struct Visitor {
    pub(crate) intent: Intent,
    pub(crate) rng: Rng,
    pub(crate) phase: Phase,
    pub(crate) request: PlannedRequest,
    pub(crate) timers: Timers,
    pub(crate) failures: u8,
    pub(crate) pages: u32,
    /// The last session, position and arrival that were reported; 0 before.
    pub(crate) session: u64,
    pub(crate) position: u32,
    pub(crate) joined_at: u64,
    /// When the first page was requested that joined nobody, and when it was received.
    pub(crate) first_visit: Option<(SimTime, SimTime)>,
    /// Whether the next request joins with the solution of a challenge.
    pub(crate) is_solving: bool,
    /// When the session expires, by what the gate reported.
    pub(crate) present_until: SimTime,
    /// Polls that are counted and not simulated.
    pub(crate) skipped: SkippedPolls,
    /// Those of them that do not take place after all.
    pub(crate) canceled: Option<SkippedPolls>,
    /// How long a visit renews the active session, by what the gate reported; 0 is unknown.
    pub(crate) renewal_ms: u32,
    pub(crate) stream: PageStream,
    trace: VisitorTrace,
}

/// Polls that are spread evenly between two instants and are counted, not simulated.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct SkippedPolls {
    pub(crate) from: SimTime,
    /// When the first of them takes place.
    pub(crate) first: SimTime,
    pub(crate) until: SimTime,
    pub(crate) polls: u32,
}

/// The timers; [`SimTime::NEVER`] if not set.
#[derive(Debug, Clone)]
pub(crate) struct Timers {
    /// The next request: to arrive, poll, wake up or enter.
    pub(crate) request: SimTime,
    pub(crate) close: SimTime,
    pub(crate) sleep: SimTime,
    pub(crate) reload: SimTime,
    pub(crate) page: SimTime,
    pub(crate) keepalive: SimTime,
    pub(crate) finish: SimTime,
    /// When the page gives up its stream, unless a status comes.
    pub(crate) silent: SimTime,
}

impl Visitor {
    /// The visitor of this number, before the arrival.
    pub fn new(workload: &Workload, number: u32) -> Self {
        Self::with_rng(workload, number, Rng::for_visitor(workload.seed, number))
    }

    /// Comes this many seconds later, or if `early` at any time in these seconds. To be called before the arrival.
    pub(crate) fn delay(&mut self, seconds: f64, early: bool) {
        self.timers.request = if early {
            SimTime::from_seconds(self.rng.between(0.0, seconds))
        } else {
            self.timers.request.add_seconds(seconds)
        };
    }

    /// Comes back as a new visitor after a pause between these numbers of seconds.
    pub(crate) fn start_over(&mut self, workload: &Workload, number: u32, now: SimTime, (min, max): (f64, f64)) {
        let mut rng = self.rng.clone();
        let pause = rng.between(min, max);
        *self = Self::with_rng(workload, number, rng);
        self.timers.request = now.add_seconds(pause);
    }

    fn with_rng(workload: &Workload, number: u32, mut rng: Rng) -> Self {
        let intent = workload.intent(number, &mut rng);
        let never = SimTime::NEVER;
        let timers = Timers {
            request: intent.arrives,
            close: never,
            sleep: never,
            reload: never,
            page: never,
            keepalive: never,
            finish: never,
            silent: never,
        };
        Self {
            rng,
            phase: Phase::Outside,
            request: PlannedRequest::new(RequestKind::Enter),
            timers,
            failures: 0,
            pages: 0,
            session: 0,
            position: 0,
            joined_at: 0,
            first_visit: None,
            is_solving: false,
            present_until: SimTime::NEVER,
            skipped: SkippedPolls::default(),
            canceled: None,
            renewal_ms: 0,
            stream: PageStream::new(intent.streams),
            trace: VisitorTrace::new(intent.kind),
            intent,
        }
    }

    /// When the next timer is due.
    pub fn next_timer(&self) -> SimTime {
        let timers = &self.timers;
        let all =
            [timers.close, timers.sleep, timers.reload, timers.page, timers.keepalive, timers.finish, timers.silent];
        all.into_iter().fold(timers.request, SimTime::min)
    }

    /// The trace so far.
    pub const fn trace(&self) -> &VisitorTrace {
        &self.trace
    }

    /// The trace.
    pub fn into_trace(self) -> VisitorTrace {
        self.trace
    }

    /// Whether the visitor has left for good.
    pub fn has_departed(&self) -> bool {
        self.phase == Phase::Departed
    }

    /// The kind of visitor.
    pub const fn kind(&self) -> VisitorKind {
        self.intent.kind
    }

    /// Whether the queue page is open.
    pub fn is_in_line(&self) -> bool {
        self.phase == Phase::InLine
    }

    /// Handles an event at `now` and returns what the visitor does next.
    pub fn step(&mut self, now: SimTime, event: Event<'_>, behavior: &Behavior) -> Next {
        match event {
            Event::Timer => self.act(now, behavior),
            Event::Update(status) => self.on_update(now, status),
            Event::StreamEnd(retry_ms) => self.on_stream_end(now, retry_ms),
            Event::Response(response, sent) => {
                if self.intent.kind.has_session() {
                    self.on_response(now, sent, response, behavior)
                } else {
                    self.on_bot_response(now, sent, response)
                }
            }
        }
    }

    /// In virtual time, an admission ends the span of skipped polls: the next of them is simulated. Returns whether that is
    /// earlier than the planned poll.
    pub(crate) fn poll_sooner(&mut self, now: SimTime, within_ms: u32, behavior: &Behavior) -> bool {
        let SkippedPolls { first, polls, .. } = self.skipped;
        let at = if now < first { first } else { now.add_ms(self.interval(within_ms, behavior)) };
        let earlier = polls > 0 && at < self.timers.request;
        if earlier {
            self.cancel_skipped(at);
            self.timers.request = at;
        }
        earlier
    }

    /// Cancels the skipped polls from `now` on.
    pub(crate) fn cancel_skipped(&mut self, now: SimTime) {
        let SkippedPolls { from, first, until, polls } = std::mem::take(&mut self.skipped);
        let from_now = from.max(now);
        if polls > 0 && from_now < until {
            let left = f64::from(polls + 1) * until.since(from_now) / until.since(from);
            let polls = polls.min(left.round() as u32);
            self.trace.requests = self.trace.requests.saturating_sub(polls);
            self.canceled = Some(SkippedPolls { from: from_now, first, until, polls });
        }
    }

    /// Takes the skipped polls that were canceled since the last call.
    pub(crate) fn take_canceled(&mut self) -> Option<SkippedPolls> {
        self.canceled.take()
    }

    fn act(&mut self, now: SimTime, behavior: &Behavior) -> Next {
        match self.phase {
            Phase::Outside | Phase::Admitted => self.enter(now),
            Phase::InLine => self.act_in_line(now, behavior),
            Phase::Asleep => self.wake(now, behavior),
            Phase::Shopping => self.act_on_site(now),
            Phase::Departed => Next::Departed,
        }
    }

    fn on_response(&mut self, now: SimTime, sent: SimTime, response: &GateResponse, behavior: &Behavior) -> Next {
        if matches!(response, GateResponse::Failed { .. }) {
            self.trace.failures = self.trace.failures.saturating_add(1);
        } else {
            self.failures = 0;
        }
        if self.intent.stops {
            return self.depart();
        }
        match self.request.kind {
            RequestKind::Enter | RequestKind::Page => self.on_page(now, sent, response, behavior),
            RequestKind::Poll | RequestKind::Join => self.on_poll(now, sent, response, behavior),
            RequestKind::Stream => self.on_stream(now, sent, response),
            RequestKind::Keepalive => self.on_keepalive(now, sent, response),
            RequestKind::Away => self.on_away(now, behavior),
            RequestKind::Leave => self.depart(),
        }
    }

    /// A bot requests the page again and again, as a new visitor each time. Its rate does not depend on the time to respond.
    fn on_bot_response(&mut self, now: SimTime, sent: SimTime, response: &GateResponse) -> Next {
        match response {
            GateResponse::Site { slot_ms } => self.record_slot(now, now.add_ms(slot_ms.unwrap_or(0))),
            GateResponse::Failed { .. } => self.trace.failures = self.trace.failures.saturating_add(1),
            _ => {}
        }
        let next = sent.add_seconds(self.rng.exponential(self.intent.requests_every));
        self.timers.request = next.max(now.add_ms(1));
        Next::Wait(self.timers.request)
    }

    /// A bot without a session got a slot between these instants.
    pub(crate) fn record_slot(&mut self, from: SimTime, until: SimTime) {
        self.trace.bot_slots.push((from, until));
    }

    pub(crate) fn enter(&mut self, now: SimTime) -> Next {
        self.timers.request = SimTime::NEVER;
        self.record_absence(now);
        self.send(RequestKind::Enter)
    }

    pub(crate) fn send(&mut self, kind: RequestKind) -> Next {
        self.request = PlannedRequest::new(kind);
        self.add_requests(1);
        Next::Send(self.request)
    }

    pub(crate) fn add_requests(&mut self, count: u32) {
        self.trace.requests = self.trace.requests.saturating_add(count);
    }

    pub(crate) fn wait_for_timer(&self) -> Next {
        Next::Wait(self.next_timer())
    }

    pub(crate) fn depart(&mut self) -> Next {
        self.phase = Phase::Departed;
        Next::Departed
    }

    /// A visitor whose request comes after the session expired was absent, and others may have been admitted first.
    pub(crate) fn record_absence(&mut self, now: SimTime) {
        if self.trace.joined.is_some() && self.trace.admitted.is_none() && now > self.present_until {
            self.trace.was_absent = true;
        }
    }

    /// Exponential backoff after a failed request, as on the queue page.
    pub(crate) fn back_off(&mut self, now: SimTime, retry_after_ms: u32) -> SimTime {
        let backoff = BACKOFF_MAX_S.min(BACKOFF_FIRST_S * f64::from(1_u32 << self.failures.min(8)));
        self.failures = self.failures.saturating_add(1);
        now.add_seconds((backoff * self.rng.between(0.5, 1.0)).max(f64::from(retry_after_ms) / 1000.0))
    }
}

/// First and maximum backoff of `queue.js`, in seconds.
const BACKOFF_FIRST_S: f64 = 2.0;
const BACKOFF_MAX_S: f64 = 30.0;
