//! What hostile clients take of a simulated queue, with and without measures.

use vestibule_core::line::LineRules;
use vestibule_core::settings::{LimitMode, OnExceed, ProofOfWork, Protection};
use vestibule_core::{JoinStep, ProofMode};

use super::{DURATION_MAX, Simulation, SimulationResult, simulate};
use crate::arrivals::Arrivals;
use crate::checks::{Figures, inversions_beyond};
use crate::hostile::{ClientAddresses, MeasuredRun, add_hostile_figures};
use crate::observe::Observation;
use crate::sim_time::SimTime;
use crate::summary::summarize;
use crate::visitor::VisitorTrace;
use crate::workload::{Behavior, Shopping, Workload};

/// No measures.
fn off() -> Protection {
    Protection { mode: LimitMode::Off, ..Protection::without_pre_tickets() }
}

fn enforced() -> Protection {
    Protection { mode: LimitMode::Enforce, on_exceed: OnExceed::Reject, ..Protection::default() }
}

/// Visitors who come evenly and stay for so long on average, at a quota.
struct Site {
    visitors: u32,
    arrive: f64,
    quota: u64,
    stay: f64,
    seconds: u32,
}

/// Seconds after which a pre-ticket is redeemed.
const REDEEMS_AFTER: f64 = JoinStep::REDEEM_AFTER as f64;
/// A tenth of an on-sale: 2,000 visitors in ten minutes, some 550 of whom are admitted in half an hour.
const SALE: Site = Site { visitors: 2000, arrive: 600.0, quota: 50, stay: 180.0, seconds: 1800 };
/// A shop with free slots.
const SHOP: Site = Site { visitors: 300, arrive: 600.0, quota: 50, stay: 20.0, seconds: 600 };

impl Site {
    /// Visitors without hostile clients.
    fn workload(&self) -> Workload {
        let behavior = Behavior::patient(Shopping::Exponential(self.stay));
        let arrivals = Arrivals::Steady(self.arrive);
        Workload { visitors: self.visitors, arrivals, behavior, seed: 1, repeat: None, hostile: Vec::new() }
    }

    fn rules(&self, protection: Protection) -> LineRules {
        LineRules { protection, ..LineRules::with_quota(self.quota) }
    }

    fn run(&self, hostile: &str, protection: Protection) -> SimulationResult {
        self.run_by(hostile, &self.rules(protection))
    }

    fn run_by(&self, hostile: &str, rules: &LineRules) -> SimulationResult {
        let workload = Workload { hostile: vec![hostile.parse().unwrap()], ..self.workload() };
        simulate(workload, rules, None, self.seconds)
    }

    fn figures(&self, hostile: &str, protection: Protection) -> Figures {
        self.figures_of(&self.run(hostile, protection))
    }

    fn figures_of(&self, result: &SimulationResult) -> Figures {
        let SimulationResult { traces, request_stats, duration, .. } = result;
        let observed = Observation::default();
        let mut figures = summarize(traces, request_stats, Some(self.quota), *duration, false, &observed).figures;
        let run = MeasuredRun { traces, duration: *duration, observed: &observed };
        add_hostile_figures(&mut figures, &run, None, 30);
        figures
    }

    fn figure(&self, hostile: &str, protection: Protection, name: &str) -> f64 {
        self.figures(hostile, protection).value(name).unwrap()
    }
}

/// The shares that a model of the same sale gives, at a tenth of the size.
#[test]
fn farms_take_the_share_that_the_model_predicts() {
    for (sessions, model) in [(50, 0.091), (320, 0.59), (1000, 0.975)] {
        let share = SALE.figure(&format!("farm:sessions={sessions}"), off(), "bot_share_of_admissions");
        println!("{sessions} sessions: {share:.3}, model {model}");
        assert!((share - model).abs() <= 0.05, "{sessions} sessions: {share:.3}, model {model}");
    }
}

#[test]
fn limits_bound_a_farm_by_its_addresses() {
    let farm = SALE.figures("farm:sessions=2000", enforced());
    let value = |name| farm.value(name).unwrap();
    // 20 joins in two windows of five minutes, of which half an hour touches seven. Those of the first ten minutes have early
    // arrivals: a rejected client keeps its first visit for `hold_ttl`.
    assert!(value("bot_sessions") <= 80.0, "{}", value("bot_sessions"));
    assert!(value("bot_admissions") <= 40.0, "{}", value("bot_admissions"));
    assert!(value("visitors_rejected").abs() < f64::EPSILON);
    for promise in ["tau", "over_admission", "inversions_beyond_max_age"] {
        assert!(value(promise).abs() < f64::EPSILON, "{promise}: {}", value(promise));
    }
    let spread = SALE.figure("farm:sessions=2000,addresses=1000,networks=16", enforced(), "bot_share_of_admissions");
    assert!(spread > 0.9, "{spread}");
}

/// Of the two windows of a farm's joins, the second one counts because a rejected client keeps its first visit for `hold_ttl`.
#[test]
fn rejected_farm_gains_nothing_once_first_visits_are_forgotten() {
    let admissions = |hold_ttl| {
        let rules = LineRules { hold_ttl, ..SALE.rules(enforced()) };
        SALE.figures_of(&SALE.run_by("farm:sessions=2000", &rules)).value("bot_admissions").unwrap()
    };
    assert!((20.0..=40.0).contains(&admissions(600)), "{}", admissions(600));
    assert!(admissions(240) <= 20.0, "{}", admissions(240));
}

/// The visitors of an office have one address, and come at five per second.
#[test]
fn office_is_not_rejected_and_computes_for_seconds() {
    let proof_of_work = ProofOfWork { mode: ProofMode::Auto, ..ProofOfWork::default() };
    let protection = Protection { mode: LimitMode::Enforce, proof_of_work, ..Protection::default() };
    let behavior = Behavior::patient(Shopping::Fixed(60.0));
    let arrivals = Arrivals::Steady(30.0);
    let workload = Workload { visitors: 150, arrivals, behavior, seed: 1, repeat: None, hostile: Vec::new() };
    let simulation = Simulation::new(workload, &LineRules { protection, ..LineRules::with_quota(50) }, None);
    let office = ClientAddresses::new(0, &["farm:sessions=150".parse().unwrap()]).unwrap();
    let simulation = Simulation { gate: simulation.gate.with_addresses(office), ..simulation };
    let result = simulation.run(SimTime::from_seconds(DURATION_MAX.into()));
    assert!(result.completed && result.traces.iter().all(|trace| trace.admitted.is_some() && !trace.was_limited));
    let challenged = result.traces.iter().filter(|trace| trace.was_challenged);
    // A visitor with a pre-ticket comes back after a second, and computes then.
    let computed = |trace: &VisitorTrace| trace.joined.unwrap().since(trace.arrived.unwrap()) - REDEEMS_AFTER;
    let mut seconds: Vec<f64> = challenged.map(computed).collect();
    seconds.sort_by(f64::total_cmp);
    let (median, longest) = (seconds[seconds.len() / 2], *seconds.last().unwrap());
    println!("{} of 150 compute, {median:.1} s in the median, {longest:.1} s at most", seconds.len());
    assert!(median <= 16.0 && longest <= 30.0, "{seconds:?}");
}

#[test]
fn monitored_limits_change_nothing() {
    let admitted = |protection| -> Vec<_> {
        SALE.run("farm:sessions=500", protection).traces.iter().map(|trace| trace.admitted).collect()
    };
    let monitored = Protection { mode: LimitMode::Monitor, ..off() };
    assert!(admitted(monitored) == admitted(off()), "admissions differ");
}

#[test]
fn clients_without_cookies_get_few_slots_with_pre_tickets() {
    let flood = "cookieless:rate=5,addresses=5";
    let without = SHOP.figures(flood, off());
    assert!(without.value("wait_p50").unwrap() > 10.0, "{:?}", without.value("wait_p50"));
    let (from_half, always) =
        (SHOP.figures(flood, Protection::default()), Protection { pre_ticket_from: Some(0), ..Protection::default() });
    assert!(from_half.value("wait_p50").unwrap() <= 1.5, "{:?}", from_half.value("wait_p50"));
    assert!(from_half.value("wait_p90").unwrap() <= 2.0, "{:?}", from_half.value("wait_p90"));
    let share = SHOP.figure(flood, always, "bot_share_of_slot_time");
    assert!(share <= 0.03, "{share}");
    let forged = SHOP.figures("forge:rate=5", Protection { pre_ticket_from: Some(0), ..Protection::default() });
    assert!(forged.value("bot_admissions").unwrap().abs() < f64::EPSILON);
}

#[test]
fn hoarded_pre_tickets_gain_nothing() {
    let sale = Site { quota: 20, seconds: 300, arrive: 120.0, ..SALE };
    let inversions = |pre_ticket_max_age| {
        let protection = Protection { pre_ticket_from: Some(0), pre_ticket_max_age, ..Protection::default() };
        inversions_beyond(&sale.run("hoard:pre_tickets=500,redeem=90", protection).traces, 30)
    };
    assert_eq!(inversions(30), 0);
    assert!(inversions(120) > 0, "first visits that count for longer would be noticed");
}

#[test]
fn replayed_tokens_are_one_session() {
    for what in ["pre-ticket", "ticket"] {
        let replay = format!("replay:clients=200,addresses=200,networks=100,what={what}");
        let protection = Protection { pre_ticket_from: Some(0), ..Protection::default() };
        let site = Site { seconds: 120, ..SHOP };
        let sessions = site.figure(&replay, protection, "bot_sessions");
        assert!((sessions - 1.0).abs() < f64::EPSILON, "{what}: {sessions}");
    }
}

#[test]
fn leavers_keep_their_position_and_no_more() {
    let sale = Site { seconds: 900, ..SALE };
    let figures = sale.figures("leaver:sessions=40,away=60", Protection::default());
    let value = |name| figures.value(name).unwrap();
    assert!(value("tau").abs() < f64::EPSILON && value("inversions_beyond_max_age").abs() < f64::EPSILON);
    assert!((1.0..=40.0).contains(&value("bot_sessions")), "{}", value("bot_sessions"));
}

/// As in attack mode: every newcomer proves four times the work of the default.
fn proving() -> Protection {
    let proof_of_work = ProofOfWork { mode: ProofMode::Always, effort: 10_000, ..ProofOfWork::default() };
    Protection { proof_of_work, ..enforced() }
}

/// A tenth of the farm of 10,000 residential proxies with 64 cores, which the model gives a quarter of the admissions.
#[test]
fn proof_of_work_bounds_a_farm_by_its_cores() {
    let farm = |cores: u32| format!("farm:sessions=2000,addresses=1000,networks=800,cores={cores}");
    let without = SALE.figure(&farm(6), enforced(), "bot_share_of_admissions");
    let figures = SALE.figures(&farm(6), proving());
    let value = |name| figures.value(name).unwrap();
    println!("{without:.3} without, {:.3} with 6 cores", value("bot_share_of_admissions"));
    assert!(without > 0.9, "{without}");
    assert!((0.10..=0.40).contains(&value("bot_share_of_admissions")), "{}", value("bot_share_of_admissions"));
    assert!(value("visitors_challenged") >= 1900.0, "{}", value("visitors_challenged"));
    assert!(value("over_admission").abs() < f64::EPSILON);
    let many = SALE.figure(&farm(10_000), proving(), "bot_share_of_admissions");
    assert!(many > 0.9, "a graphics card: {many}");
}

#[test]
fn farm_without_proofs_joins_late_or_not_at_all() {
    let farm = |proof: &str| format!("farm:sessions=500,addresses=500,networks=400,proof={proof}");
    let none = SALE.figures(&farm("none"), proving());
    assert!(none.value("bot_sessions").unwrap().abs() < f64::EPSILON);
    let delayed = SALE.figures(&farm("delayed"), proving());
    let (sessions, share) = (delayed.value("bot_sessions").unwrap(), delayed.value("bot_share_of_admissions").unwrap());
    println!("delayed: {sessions} sessions, {share:.3} of the admissions");
    assert!(sessions > 0.0 && share < 0.2, "{sessions} sessions, {share}");
}
