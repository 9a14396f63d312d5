//! All virtual visitors of a workload, with their timers.

use crate::sim_time::SimTime;
use crate::timer_queue::TimerQueue;
use crate::visitor::{Event, Next, PlannedRequest, SkippedPolls, Visitor, VisitorTrace};
use crate::workload::Workload;

/// The visitors.
pub(crate) struct VirtualVisitors {
    workload: Workload,
    visitors: Vec<Visitor>,
    pub(crate) timers: TimerQueue,
    /// People who have not departed yet. A run does not wait for bots.
    remaining: u32,
}

impl VirtualVisitors {
    pub(crate) fn new(workload: Workload) -> Self {
        let visitors: Vec<Visitor> = (0..workload.clients()).map(|number| Visitor::new(&workload, number)).collect();
        let mut timers = TimerQueue::default();
        for (number, visitor) in visitors.iter().enumerate() {
            timers.set(visitor.next_timer(), number as u32);
        }
        let remaining = visitors.iter().filter(|visitor| visitor.kind().is_person()).count() as u32;
        Self { workload, visitors, timers, remaining }
    }

    /// Lets the first `early` visitors come at any time in the first `seconds`, and the others that much later than they would.
    pub(crate) fn delay(&mut self, seconds: f64, early: u32) {
        self.timers = TimerQueue::default();
        for (number, visitor) in self.visitors.iter_mut().enumerate() {
            let number = number as u32;
            visitor.delay(seconds, number < early);
            self.timers.set(visitor.next_timer(), number);
        }
    }

    pub(crate) fn get(&self, number: u32) -> &Visitor {
        &self.visitors[number as usize]
    }

    /// The client whose token this client sends.
    pub(crate) fn replayed_by(&self, number: u32) -> Option<u32> {
        self.workload.replayed_by(number)
    }

    /// Whether all people have departed.
    pub(crate) const fn all_departed(&self) -> bool {
        self.remaining == 0
    }

    /// Steps a visitor. Returns the request to send, or sets the next timer.
    pub(crate) fn step(&mut self, number: u32, now: SimTime, event: Event<'_>) -> Option<PlannedRequest> {
        let visitor = &mut self.visitors[number as usize];
        let had_departed = visitor.has_departed();
        match visitor.step(now, event, &self.workload.behavior) {
            Next::Send(request) => return Some(request),
            Next::Wait(until) if until < SimTime::NEVER => self.timers.set(until, number),
            Next::Wait(_) | Next::Departed => {}
        }
        let visitor = &mut self.visitors[number as usize];
        if visitor.has_departed() && !had_departed && visitor.kind().is_person() {
            match self.workload.repeat {
                Some((min, max)) => {
                    visitor.start_over(&self.workload, number, now, (min, max));
                    self.timers.set(visitor.next_timer(), number);
                }
                None => self.remaining -= 1,
            }
        }
        None
    }

    /// Whether a timer is still the visitor's next one.
    pub(crate) fn is_due(&self, number: u32, at: SimTime) -> bool {
        self.get(number).next_timer() == at
    }

    /// A waiting visitor was admitted: moves the poll forward that finds out, see [`Visitor::poll_sooner`].
    pub(crate) fn poll_sooner(&mut self, number: u32, now: SimTime, within_ms: u32) {
        let visitor = &mut self.visitors[number as usize];
        if visitor.is_in_line() && visitor.poll_sooner(now, within_ms, &self.workload.behavior) {
            self.timers.set(visitor.next_timer(), number);
        }
    }

    /// A bot without a session got a slot.
    pub(crate) fn record_slot(&mut self, number: u32, from: SimTime, until: SimTime) {
        self.visitors[number as usize].record_slot(from, until);
    }

    /// Skipped polls of a visitor that do not take place after all.
    pub(crate) fn take_canceled(&mut self, number: u32) -> Option<SkippedPolls> {
        self.visitors[number as usize].take_canceled()
    }

    pub(crate) fn into_traces(self) -> Vec<VisitorTrace> {
        self.visitors.into_iter().map(Visitor::into_trace).collect()
    }
}
