//! What hostile clients took, what it cost them, and what they cost others.

use std::collections::HashSet;

use crate::checks::{Figures, inversions_beyond};
use crate::observe::Observation;
use crate::sim_time::SimTime;
use crate::visitor::VisitorTrace;

/// A run with or without hostile clients.
#[derive(Debug, Clone, Copy)]
pub struct MeasuredRun<'a> {
    /// What every visitor experienced.
    pub traces: &'a [VisitorTrace],
    /// The duration.
    pub duration: SimTime,
    /// What was observed of the store, the gate and the load test itself.
    pub observed: &'a Observation,
}

/// Admissions, and the seconds for which they held slots.
#[derive(Debug, Clone, Copy, Default)]
struct Taken {
    admissions: f64,
    slot_seconds: f64,
}

impl MeasuredRun<'_> {
    fn people(&self) -> impl Iterator<Item = &VisitorTrace> {
        self.traces.iter().filter(|trace| trace.is_person())
    }

    fn bots(&self) -> impl Iterator<Item = &VisitorTrace> {
        self.traces.iter().filter(|trace| !trace.is_person())
    }

    /// What these visitors took until the end of the run. Each session counts once.
    fn taken<'t>(&self, traces: impl Iterator<Item = &'t VisitorTrace>) -> Taken {
        let (mut taken, mut sessions) = (Taken::default(), HashSet::new());
        let mut add = |from: SimTime, until: SimTime| {
            taken.admissions += 1.0;
            taken.slot_seconds += until.min(self.duration).since(from);
        };
        for trace in traces {
            trace.bot_slots.iter().for_each(|(from, until)| add(*from, *until));
            let is_new = trace.session == 0 || !sessions.contains(&trace.session);
            if let Some(admitted) = trace.admitted.filter(|_| is_new) {
                sessions.insert(trace.session);
                add(admitted, trace.slot_free_at.or(trace.active_until).unwrap_or(admitted));
            }
        }
        taken
    }

    /// Waits of the visitors who stayed. For those who are still in line, the time until the end of the run.
    fn waits(&self) -> Vec<f64> {
        let stayed = self.traces.iter().filter(|trace| trace.stayed_present());
        let wait = |trace: &VisitorTrace| trace.wait().or_else(|| Some(self.duration.since(trace.arrived?)));
        let mut waits: Vec<f64> = stayed.filter_map(wait).collect();
        waits.sort_by(f64::total_cmp);
        waits
    }

    fn wait(&self, share: f64) -> Option<f64> {
        let waits = self.waits();
        let index = ((waits.len() as f64 * share) as usize).min(waits.len().checked_sub(1)?);
        waits.get(index).copied()
    }
}

/// Adds the figures of hostile clients, if there are any. `twin` is a run of the same visitors without them.
/// `pre_ticket_max_age` is the queue's setting, in seconds.
pub fn add_hostile_figures(
    figures: &mut Figures,
    run: &MeasuredRun<'_>,
    twin: Option<&MeasuredRun<'_>>,
    pre_ticket_max_age: u64,
) {
    if run.bots().next().is_none() {
        return;
    }
    let (bots, people) = (run.taken(run.bots()), run.taken(run.people()));
    let share = |of: f64, others: f64| (of + others > 0.0).then(|| of / (of + others));
    let bot_requests = requests(run.bots());
    let per_slot = |value: f64| (bots.admissions > 0.0).then(|| value / bots.admissions);
    figures.add("bot_share_of_admissions", share(bots.admissions, people.admissions));
    figures.add("bot_share_of_slot_time", share(bots.slot_seconds, people.slot_seconds));
    figures.add("bot_admissions", Some(bots.admissions));
    figures.add("bot_sessions", Some(sessions(run.bots())));
    figures.add("bot_requests", Some(bot_requests));
    figures.add("bot_requests_per_slot", per_slot(bot_requests));
    // The load test sends all requests alike, so its CPU time is shared by their number.
    let sent = requests(run.people()) + bot_requests;
    let cpu = run.observed.client_cpu_us.filter(|_| sent > 0.0);
    let cpu_seconds = cpu.map(|cpu| cpu as f64 / 1e6 * bot_requests / sent);
    figures.add("bot_cpu_seconds_per_slot", cpu_seconds.and_then(per_slot));
    figures.add("visitors_challenged", Some(run.people().filter(|trace| trace.was_challenged).count() as f64));
    figures.add("inversions_beyond_max_age", Some(inversions_beyond(run.traces, pre_ticket_max_age) as f64));
    if let Some(twin) = twin {
        add_comparison(figures, run, twin, bot_requests);
    }
}

fn add_comparison(figures: &mut Figures, run: &MeasuredRun<'_>, twin: &MeasuredRun<'_>, bot_requests: f64) {
    let added = |share| Some(run.wait(share)? - twin.wait(share)?);
    figures.add("visitor_wait_added_p50", added(0.5));
    figures.add("visitor_wait_added_p90", added(0.9));
    let per_bot_request = |of: fn(&Observation) -> Option<u64>| {
        let (with, without) = (of(run.observed)? as f64, of(twin.observed)? as f64);
        (bot_requests > 0.0).then(|| (with - without) / bot_requests)
    };
    figures.add("gate_cpu_us_per_bot_request", per_bot_request(|observed| observed.gate_cpu_us));
    figures.add("store_commands_per_bot_request", per_bot_request(|observed| observed.store_commands));
    let growth = |of: fn(&Observation) -> Option<u64>| {
        let (with, without) = (of(run.observed)? as f64, of(twin.observed)? as f64);
        (without > 0.0).then(|| with / without - 1.0)
    };
    figures.add("store_cpu_added", growth(|observed| observed.store_cpu_us));
    figures.add("store_memory_added", growth(|observed| observed.store_memory_peak));
}

fn requests<'t>(traces: impl Iterator<Item = &'t VisitorTrace>) -> f64 {
    traces.map(|trace| f64::from(trace.requests)).sum()
}

/// Number of different sessions of bots, as far as they were reported.
fn sessions<'t>(bots: impl Iterator<Item = &'t VisitorTrace>) -> f64 {
    let known: HashSet<u64> = bots.map(|trace| trace.session).filter(|session| *session != 0).collect();
    known.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::visitor_kind::VisitorKind;

    fn trace(kind: VisitorKind, session: u64, admitted: u32, free: u32) -> VisitorTrace {
        let at = |ms| Some(SimTime(ms));
        let mut trace = VisitorTrace { session, requests: 4, ..VisitorTrace::new(kind) };
        (trace.arrived, trace.first_received, trace.join_sent, trace.joined) = (at(0), at(0), at(0), at(0));
        (trace.admitted, trace.slot_free_at) = (at(admitted), at(free));
        trace
    }

    fn value(traces: &[VisitorTrace], twin: &[VisitorTrace], observed: [&Observation; 2], name: &str) -> Option<f64> {
        let run = |traces, observed| MeasuredRun { traces, duration: SimTime(100_000), observed };
        let mut figures = Figures::default();
        let twin = run(twin, observed[1]);
        add_hostile_figures(&mut figures, &run(traces, observed[0]), Some(&twin), 30);
        figures.value(name)
    }

    #[test]
    fn shares_count_each_session_once_until_the_end() {
        let visitors = [trace(VisitorKind::Person, 1, 10_000, 40_000), trace(VisitorKind::Person, 2, 0, 10_000)];
        let replayed = [7, 7].map(|session| trace(VisitorKind::Replayer, session, 0, 40_000));
        let bot_slots = vec![(SimTime(80_000), SimTime(130_000))];
        let flood = VisitorTrace { bot_slots, requests: 2, ..VisitorTrace::new(VisitorKind::Bot) };
        let traces = [&visitors[..], &replayed, &[flood]].concat();
        let none = Observation::default();
        let run = Observation {
            client_cpu_us: Some(900_000),
            gate_cpu_us: Some(500),
            store_commands: Some(25),
            store_cpu_us: Some(110),
            ..Observation::default()
        };
        let alone = Observation {
            gate_cpu_us: Some(400),
            store_commands: Some(25),
            store_cpu_us: Some(100),
            ..Observation::default()
        };
        let value = |name| value(&traces, &visitors, [&run, &alone], name);
        assert_eq!(value("bot_share_of_admissions"), Some(0.5));
        assert_eq!(value("bot_share_of_slot_time"), Some(60.0 / 100.0));
        assert_eq!((value("bot_sessions"), value("bot_requests_per_slot")), (Some(1.0), Some(5.0)));
        assert!((value("bot_cpu_seconds_per_slot").unwrap() - 0.25).abs() < 1e-9);
        assert_eq!(value("gate_cpu_us_per_bot_request"), Some(10.0));
        assert_eq!(value("store_commands_per_bot_request"), Some(0.0));
        assert!((value("store_cpu_added").unwrap() - 0.1).abs() < 1e-9);
        assert_eq!(value("visitor_wait_added_p50"), Some(0.0));
        let alone = super::tests::value(&visitors, &visitors, [&none, &none], "bot_share_of_admissions");
        assert_eq!(alone, None, "there are no bots");
    }

    #[test]
    fn visitors_who_still_wait_count_with_their_wait_so_far() {
        let twin = [trace(VisitorKind::Person, 1, 10_000, 40_000)];
        let waiting = VisitorTrace { admitted: None, was_limited: true, was_challenged: true, ..twin[0].clone() };
        let traces = [waiting, trace(VisitorKind::Farm, 2, 0, 40_000)];
        let none = Observation::default();
        let value = |name| value(&traces, &twin, [&none, &none], name);
        assert_eq!(value("visitor_wait_added_p90"), Some(90.0));
        assert_eq!(value("visitors_challenged"), Some(1.0));
        assert_eq!(value("bot_cpu_seconds_per_slot"), None, "not measured");
    }
}
