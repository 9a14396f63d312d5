//! Runs a workload against the rules of the line in virtual time, without network or sleeping.
//!
//! The visitors are the same as in a load test; the responses come from the rules. A visitor far from the front polls
//! hundreds of times without effect, so such polls are counted and not simulated until half of the estimated wait is over
//! or the visitor is admitted. An hour with a million waiting visitors takes about a minute.

#[cfg(test)]
mod attack_tests;
mod devices;
mod gate;
mod polls;
mod request_rate;
mod sale;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use vestibule_core::line::LineRules;

pub use self::sale::Sale;

use self::gate::VirtualGate;
use self::request_rate::RequestRate;
use crate::request_stats::RequestStats;
use crate::sim_time::SimTime;
use crate::visitor::{Event, KEEPALIVE_INTERVAL, RequestKind, SkippedPolls, VisitorTrace};
use crate::visitors::VirtualVisitors;
use crate::workload::Workload;

/// Interval of the purge, in seconds.
const PURGE_INTERVAL: f64 = 5.0;
/// Maximum simulated time, in seconds: two days.
pub const DURATION_MAX: u32 = 172_800;

/// The result of a simulation.
pub struct SimulationResult {
    /// What every visitor experienced.
    pub traces: Vec<VisitorTrace>,
    /// Statistics of the requests. Sizes and latency are not simulated.
    pub request_stats: RequestStats,
    /// The simulated time.
    pub duration: SimTime,
    /// Whether everybody was served within the time that a plan looks ahead.
    pub completed: bool,
}

/// Simulates a workload until all visitors have left, for at most `seconds`, and no longer than [`DURATION_MAX`]. With an event, visitors of its lobby come before
/// its start, and the others of the workload from its start on.
pub fn simulate(workload: Workload, rules: &LineRules, sale: Option<&Sale>, seconds: u32) -> SimulationResult {
    let end = SimTime::from_seconds(seconds.min(DURATION_MAX).into());
    Simulation::new(workload, rules, sale).run(end)
}

/// Sessions that `max_session` ended are not evicted, and not active any more: the rules say so, and visitors notice the end up
/// to a keepalive interval later.
fn end_by_max_session(trace: &mut VisitorTrace, end: SimTime) {
    let (Some(admitted), Some(until)) = (trace.admitted, trace.active_until) else { return };
    trace.evicted &= until.add_seconds(KEEPALIVE_INTERVAL) < end;
    trace.active_until = Some(until.min(end).max(admitted));
    trace.slot_free_at = trace.slot_free_at.map(|free| free.min(end).max(admitted));
}

struct Simulation {
    visitors: VirtualVisitors,
    gate: VirtualGate,
    request_stats: RequestStats,
    request_rate: RequestRate,
    /// When visitors who have stopped polling expire.
    expiries: BinaryHeap<Reverse<(SimTime, u32)>>,
    purge: SimTime,
    /// When `max_session` ends the sessions of admitted visitors.
    session_ends: HashMap<u32, SimTime>,
    max_session: Option<u64>,
    now: SimTime,
}

impl Simulation {
    fn new(workload: Workload, rules: &LineRules, sale: Option<&Sale>) -> Self {
        let gate = VirtualGate::new(&workload, rules, sale);
        let mut visitors = VirtualVisitors::new(workload);
        if let Some(sale) = sale {
            visitors.delay(Sale::STARTS_AFTER as f64, sale.lobby);
        }
        Self {
            gate,
            visitors,
            request_stats: RequestStats::default(),
            request_rate: RequestRate::default(),
            expiries: BinaryHeap::new(),
            purge: SimTime(0),
            session_ends: HashMap::new(),
            max_session: rules.max_session,
            now: SimTime(0),
        }
    }

    fn run(mut self, end: SimTime) -> SimulationResult {
        while !self.visitors.all_departed()
            && let Some((at, visitor)) = self.visitors.timers.pop()
        {
            if at > end {
                self.now = end;
                break;
            }
            self.advance(at);
            if self.visitors.is_due(visitor, at) {
                self.fire_timer(visitor);
            }
        }
        self.record_robots(SimTime::NEVER);
        let completed = self.visitors.all_departed();
        self.request_rate.write(&mut self.request_stats);
        let mut traces = self.visitors.into_traces();
        for (visitor, end) in self.session_ends {
            end_by_max_session(&mut traces[visitor as usize], end);
        }
        SimulationResult { traces, request_stats: self.request_stats, duration: self.now, completed }
    }

    /// Advances the time: sessions expire and the purge runs.
    fn advance(&mut self, until: SimTime) {
        self.record_robots(until);
        while let Some(Reverse((at, visitor))) = self.expiries.peek().copied().filter(|Reverse((at, _))| *at <= until) {
            self.expiries.pop();
            self.now = self.now.max(at);
            if self.gate.expire(self.now, visitor, at) {
                self.notify_admitted(None);
            }
        }
        self.now = self.now.max(until);
        if self.now >= self.purge {
            self.purge = self.now.add_seconds(PURGE_INTERVAL);
            self.gate.purge(self.now);
            self.notify_admitted(None);
        }
    }

    /// Records the slots of clients without cookies that do not know of them.
    fn record_robots(&mut self, now: SimTime) {
        while let Some((number, from, until)) = self.gate.next_admitted_robot(now) {
            self.visitors.record_slot(number, from, until);
        }
    }

    fn fire_timer(&mut self, visitor: u32) {
        let was_in_line = self.visitors.get(visitor).is_in_line();
        let mut next = self.visitors.step(visitor, self.now, Event::Timer);
        self.cancel_skipped(visitor);
        if next.is_none() && was_in_line && !self.visitors.get(visitor).is_in_line() {
            let expires_at = self.gate.stop_polling(self.now, visitor);
            self.expiries.push(Reverse((expires_at, visitor)));
        }
        while let Some(request) = next {
            self.request_rate.add(self.now);
            let sender = self.visitors.get(visitor).kind();
            let response = self.gate.handle(self.now, visitor, request.kind, sender);
            let before = self.visitors.get(visitor).trace().requests;
            next = self.visitors.step(visitor, self.now, Event::Response(&response, self.now));
            if self.visitors.get(visitor).trace().admitted.is_some() {
                self.record_session_end(visitor);
            }
            let skipped = self.visitors.get(visitor).trace().requests - before - u32::from(next.is_some());
            if skipped > 0 {
                self.request_rate.spread(self.now, self.visitors.get(visitor).next_timer(), f64::from(skipped));
            }
            self.notify_admitted(Some(visitor));
            if request.kind == RequestKind::Leave {
                self.gate.forget(visitor);
            }
        }
    }

    /// Records when the session of a visitor who was just admitted ends at the latest.
    fn record_session_end(&mut self, visitor: u32) {
        if let Some(seconds) = self.max_session {
            self.session_ends.entry(visitor).or_insert_with(|| self.now.add_seconds(seconds as f64));
        }
    }

    /// Visitors who were just admitted learn of it with their next poll, which is not skipped any more.
    fn notify_admitted(&mut self, current: Option<u32>) {
        while let Some((visitor, within_ms)) = self.gate.next_admitted(self.now) {
            self.record_session_end(visitor);
            if current != Some(visitor) {
                self.visitors.poll_sooner(visitor, self.now, within_ms);
                self.cancel_skipped(visitor);
            }
        }
    }

    /// Subtracts skipped polls that do not take place after all.
    fn cancel_skipped(&mut self, visitor: u32) {
        if let Some(SkippedPolls { from, until, polls, .. }) = self.visitors.take_canceled(visitor) {
            self.request_rate.spread(from, until, -f64::from(polls));
        }
    }
}

#[cfg(test)]
mod tests {
    use vestibule_core::settings::{Access, EventOrder, Protection};

    use super::*;
    use crate::arrivals::Arrivals;
    use crate::checks::{check_order, measure_concurrency};
    use crate::observe::Observation;
    use crate::summary::summarize;
    use crate::workload::{Behavior, Shopping};

    #[test]
    fn drawn_visitors_are_admitted_by_their_numbers() {
        let behavior = Behavior::patient(Shopping::Uniform(5.0, 15.0));
        let workload = Workload {
            visitors: 900,
            arrivals: Arrivals::Burst(60.0),
            behavior,
            seed: 5,
            repeat: None,
            hostile: Vec::new(),
        };
        for order in [EventOrder::Draw, EventOrder::Arrival] {
            let sale = Sale { lobby: 600, order, draw_seconds: 30 };
            let result = simulate(workload.clone(), &LineRules::with_quota(20), Some(&sale), DURATION_MAX);
            assert!(result.completed);
            let drawn = result.traces.iter().filter(|trace| trace.number.is_some()).count();
            assert_eq!(drawn, if order == EventOrder::Draw { 600 } else { 0 });
            let check = check_order(&result.traces);
            assert_eq!((check.compared, check.inversions), (900, 0), "{order:?}");
            let start = SimTime::from_seconds(Sale::STARTS_AFTER as f64);
            let first = result.traces.iter().filter_map(|trace| trace.admitted).min().unwrap();
            let earliest = if order == EventOrder::Draw { start.add_seconds(30.0) } else { start };
            assert!(first >= earliest && first < earliest.add_seconds(25.0), "{order:?}: {}", first.seconds());
        }
    }

    fn patient(visitors: u32, arrivals: Arrivals, seconds: f64) -> Workload {
        let behavior = Behavior::patient(Shopping::Uniform(seconds, seconds));
        Workload { visitors, arrivals, behavior, seed: 7, repeat: None, hostile: Vec::new() }
    }

    #[test]
    fn sessions_that_max_session_ends_are_not_evicted() {
        let rules = LineRules { max_session: Some(300), ..LineRules::with_quota(20) };
        let result = simulate(patient(100, Arrivals::Burst(10.0), 400.0), &rules, None, DURATION_MAX);
        assert_eq!(result.traces.iter().filter(|trace| trace.admitted.is_some() && !trace.evicted).count(), 100);
        let stays = result.traces.iter().filter_map(|trace| Some(trace.active_until?.since(trace.admitted?)));
        let stays: Vec<_> = stays.collect();
        assert!(stays.iter().all(|stay| *stay <= 300.0), "max_session ended all: {stays:?}");
    }

    #[test]
    fn leaving_just_after_max_session_stays_within_the_quota() {
        for seconds in [20.0, 22.0, 60.0] {
            let rules = LineRules { max_session: Some(20), ..LineRules::with_quota(10) };
            let result = simulate(patient(200, Arrivals::Burst(10.0), seconds), &rules, None, DURATION_MAX);
            let concurrency = measure_concurrency(&result.traces, Some(10), result.duration);
            assert!(concurrency.peak_active <= 10, "{seconds}: {}", concurrency.peak_active);
        }
    }

    #[test]
    fn nobody_admitted_is_a_failure_if_nobody_could_join() {
        let rules = LineRules { access: Some(Access::Invited), ..LineRules::with_quota(50) };
        let workload = patient(100, Arrivals::Burst(10.0), 20.0);
        let SimulationResult { traces, request_stats, duration, completed } = simulate(workload, &rules, None, 3600);
        let figures =
            summarize(&traces, &request_stats, Some(50), duration, completed, &Observation::default()).figures;
        assert_eq!((figures.value("visitors"), figures.value("never_admitted")), (Some(0.0), Some(100.0)));
    }

    #[test]
    fn visitors_beyond_a_full_line_do_not_wait_in_it() {
        let rules = LineRules { max_waiting: Some(100), ..LineRules::with_quota(50) };
        let SimulationResult { traces, request_stats, duration, completed } =
            simulate(patient(1000, Arrivals::Burst(10.0), 20.0), &rules, None, DURATION_MAX);
        let summary = summarize(&traces, &request_stats, Some(50), duration, completed, &Observation::default());
        let longest = summary.concurrency.waiting.iter().max().copied();
        // Up to 50 were admitted and do not know it yet.
        assert!(longest.is_some_and(|longest| (100..=150).contains(&longest)), "{longest:?}");
        assert!(summary.figures.value("visitors_rejected").is_some_and(|rejected| rejected >= 800.0));
    }

    #[test]
    fn runs_that_end_early_say_who_still_waits() {
        let figures = |quota| {
            let workload = patient(100, Arrivals::Burst(10.0), 60.0);
            let SimulationResult { traces, request_stats, duration, completed } =
                simulate(workload, &LineRules::with_quota(quota), None, 130);
            let observed = Observation::default();
            let figures = summarize(&traces, &request_stats, Some(quota), duration, completed, &observed).figures;
            (figures.value("still_waiting"), figures.value("never_admitted"))
        };
        let (waiting, never) = figures(20);
        assert!(waiting.is_some_and(|waiting| (30.0..=60.0).contains(&waiting)), "{waiting:?}");
        assert_eq!(never, None, "they may be admitted later");
        assert_eq!(figures(0), (Some(100.0), Some(100.0)), "the check fails if nobody is admitted");
        assert_eq!(figures(100), (None, Some(0.0)), "the run is complete");
    }

    #[test]
    fn skipped_polls_change_no_figure() {
        // A short line with a hardly known pace, one of some minutes, and one with a well-known pace.
        for (visitors, quota, shopping) in [(480, 80, (2.0, 6.0)), (800, 100, (10.0, 30.0)), (1000, 50, (30.0, 90.0))] {
            let behavior = Behavior { second_tab: 0.1, ..Behavior::patient(Shopping::Uniform(shopping.0, shopping.1)) };
            let workload = Workload {
                visitors,
                arrivals: Arrivals::Burst(5.0),
                behavior,
                seed: 3,
                repeat: None,
                hostile: Vec::new(),
            };
            let figures = |simulation: Simulation| {
                let SimulationResult { traces, request_stats, duration, .. } =
                    simulation.run(SimTime::from_seconds(DURATION_MAX.into()));
                summarize(&traces, &request_stats, Some(quota), duration, true, &Observation::default()).figures
            };
            let protection = Protection::without_pre_tickets();
            let rules = LineRules { protection, ..LineRules::with_quota(quota) };
            let simulation = || Simulation::new(workload.clone(), &rules, None);
            let exact = Simulation { gate: simulation().gate.exact(), ..simulation() };
            let (skipped, result) = (figures(simulation()), figures(exact));
            for (name, bound) in [("wait_p50", 0.04), ("wait_p90", 0.04), ("wait_longest", 0.04), ("requests", 0.08)] {
                let (one, other) = (skipped.value(name).unwrap(), result.value(name).unwrap());
                println!("{visitors}: {name}: {one} with skipping, {other} without");
                assert!((one / other - 1.0).abs() < bound, "{visitors}: {name}: {one} with skipping, {other} without");
            }
        }
    }
}
