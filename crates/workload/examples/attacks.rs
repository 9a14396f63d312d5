//! Simulates sales under attack, and writes the results as tables into `docs/attacks.md`: `make attacks`. Arguments name the tables
//! to write; without any, all are.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use vestibule_core::line::{ATTACK_LIMIT_PART, LineRules};
use vestibule_core::settings::{LimitMode, OnExceed, ProofOfWork, Protection};
use vestibule_core::{ATTACK_FACTOR, ProofMode};
use vestibule_workload::checks::Figures;
use vestibule_workload::simulation::{SimulationResult, simulate};
use vestibule_workload::{
    Arrivals, Behavior, Hostile, MeasuredRun, Observation, Shopping, Workload, add_hostile_figures, summarize,
};

/// Simulates what a table shows, and returns it.
type Table = fn() -> Result<String>;

/// The page, from the root of the repository.
const PAGE: &str = "docs/attacks.md";
/// The lines between which a table is written.
const MARKS: [(&str, Table); 5] = [
    ("farms", farms),
    ("proof-of-work", proof_of_work),
    ("cookieless", cookieless),
    ("other-clients", other_clients),
    ("pre-ticket-from", pre_ticket_from),
];
/// The seed of all simulations.
const SEED: u64 = 1;

/// What a queue does against automated clients.
#[derive(Clone, Copy)]
enum Measures {
    /// Nothing.
    Off,
    /// Pre-tickets from this percentage of the quota on, as by default from half of it.
    TwoStep(u64),
    /// The same, and at most 20 joins of an address and 400 of a network in ten minutes.
    Limits,
    /// The same, and every newcomer proves work.
    Proof,
    /// As in attack mode: half of the limits, and four times the work.
    AttackMode,
}

impl Measures {
    fn protection(self) -> Protection {
        let enforced = Protection { mode: LimitMode::Enforce, on_exceed: OnExceed::Reject, ..Protection::default() };
        let proof_of_work = ProofOfWork { mode: ProofMode::Always, ..ProofOfWork::default() };
        match self {
            Self::Off => Protection { mode: LimitMode::Off, ..Protection::without_pre_tickets() },
            Self::TwoStep(from) => Protection { pre_ticket_from: Some(from), ..Protection::default() },
            Self::Limits => enforced,
            Self::Proof => Protection { proof_of_work, ..enforced },
            Self::AttackMode => Protection {
                pre_ticket_from: Some(0),
                per_address: enforced.per_address.map(|limit| limit / ATTACK_LIMIT_PART),
                per_network: enforced.per_network.map(|limit| limit / ATTACK_LIMIT_PART),
                proof_of_work: ProofOfWork { effort: proof_of_work.effort * ATTACK_FACTOR, ..proof_of_work },
                ..enforced
            },
        }
    }
}

/// A sale, or a quiet shop.
#[derive(Clone, Copy)]
struct Scenario {
    visitors: u32,
    /// Seconds in which they come, evenly.
    arrive: f64,
    quota: u64,
    /// Mean seconds on the site.
    stay: f64,
    /// Simulated seconds.
    seconds: u32,
}

/// An on-sale: 20,000 visitors in ten minutes, of whom some 5,500 are admitted in half an hour.
const SALE: Scenario = Scenario { visitors: 20_000, arrive: 600.0, quota: 500, stay: 180.0, seconds: 1800 };
/// A shop with free slots: a visitor per second, who stays for three minutes.
const SHOP: Scenario = Scenario { visitors: 1200, arrive: 1200.0, quota: 500, stay: 180.0, seconds: 1200 };
/// A small one: a visitor every two seconds, who stays for 20 seconds.
const SMALL_SHOP: Scenario = Scenario { visitors: 300, arrive: 600.0, quota: 50, stay: 20.0, seconds: 600 };

/// Farms: their names, and what they do. A farm takes its positions as the sale opens.
const FARMS: [(&str, &str); 11] = [
    ("20 sessions, 1 address", "farm:sessions=20"),
    ("200 sessions, 1 address", "farm:sessions=200"),
    ("500 sessions, 1 address", "farm:sessions=500"),
    ("1,000 sessions, 1 address", "farm:sessions=1000"),
    ("2,000 sessions, 1 address", "farm:sessions=2000"),
    ("3,200 sessions, 1 address", "farm:sessions=3200"),
    ("5,486 sessions, 1 address", "farm:sessions=5486"),
    ("10,000 sessions, 1 address", "farm:sessions=10000"),
    ("20,000 sessions, 1 address", "farm:sessions=20000"),
    ("20,000 sessions, 1,000 addresses in 16 networks", "farm:sessions=20000,addresses=1000,networks=16"),
    ("20,000 sessions, 10,000 addresses in 8,000 networks", "farm:sessions=20000,addresses=10000,networks=8000"),
];

/// Farms of 20,000 sessions that solve challenges. A graphics card is as fast as some 2,400 processor cores.
const COMPUTING_FARMS: [(&str, &str); 4] = [
    ("1 address, 64 cores", "farm:sessions=20000,cores=64"),
    ("1,000 addresses in 16 networks, 64 cores", "farm:sessions=20000,addresses=1000,networks=16,cores=64"),
    ("10,000 addresses in 8,000 networks, 64 cores", "farm:sessions=20000,addresses=10000,networks=8000,cores=64"),
    ("the same with a graphics card", "farm:sessions=20000,addresses=10000,networks=8000,cores=2400"),
];

/// Clients that do something else than joining: their names, and what they do.
const OTHER_CLIENTS: [(&str, &str); 7] = [
    ("nobody", ""),
    ("2,000 pre-tickets, redeemed 25 s later", "hoard:pre_tickets=2000,addresses=2000,networks=500,redeem=25"),
    ("2,000 pre-tickets, redeemed 5 minutes later", "hoard:pre_tickets=2000,addresses=2000,networks=500,redeem=300"),
    ("1 pre-ticket, sent by 1,000 clients", "replay:clients=1000,what=pre-ticket,addresses=1000,networks=500"),
    ("1 ticket, sent by 1,000 clients", "replay:clients=1000,what=ticket,addresses=1000,networks=500"),
    ("100 forged tokens per second", "forge:rate=100,addresses=100,networks=100"),
    ("500 sessions that leave and return", "leaver:sessions=500,addresses=500,networks=100"),
];

impl Scenario {
    fn run(self, hostile: &str, measures: Measures) -> Result<Figures> {
        let behavior = Behavior { keepalive: true, ..Behavior::patient(Shopping::Exponential(self.stay)) };
        let hostile = hostile.split_whitespace().map(str::parse).collect::<Result<Vec<Hostile>, _>>()?;
        let arrivals = Arrivals::Steady(self.arrive);
        let workload = Workload { visitors: self.visitors, arrivals, behavior, seed: SEED, repeat: None, hostile };
        let rules = LineRules { protection: measures.protection(), ..LineRules::with_quota(self.quota) };
        let result = simulate(workload, &rules, None, self.seconds);
        let observed = Observation::default();
        let SimulationResult { traces, request_stats, duration, .. } = &result;
        let mut figures = summarize(traces, request_stats, Some(self.quota), *duration, false, &observed).figures;
        let run = MeasuredRun { traces, duration: *duration, observed: &observed };
        add_hostile_figures(&mut figures, &run, None, rules.protection.pre_ticket_max_age);
        Ok(figures)
    }
}

fn percent(figures: &Figures, name: &str) -> String {
    figures.value(name).map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", share * 100.0))
}

fn seconds(figures: &Figures, name: &str) -> String {
    figures.value(name).map_or_else(|| "-".to_owned(), |seconds| format!("{seconds:.1} s"))
}

fn count(figures: &Figures, name: &str) -> String {
    figures.value(name).map_or_else(|| "-".to_owned(), |count| format!("{count:.0}"))
}

fn farms() -> Result<String> {
    let mut table =
        "| farm | no measure | two-step admission | limits | its positions with limits | requests per slot |\n\
                     | --- | ---: | ---: | ---: | ---: | ---: |\n"
            .to_owned();
    for (name, farm) in FARMS {
        let all = [Measures::Off, Measures::TwoStep(50), Measures::Limits].map(|measures| SALE.run(farm, measures));
        let [off, two_step, limits] = all;
        let (off, two_step, limits) = (off?, two_step?, limits?);
        let share = |figures| percent(figures, "bot_share_of_admissions");
        writeln!(
            table,
            "| {name} | {} | {} | {} | {} | {} |",
            share(&off),
            share(&two_step),
            share(&limits),
            count(&limits, "bot_sessions"),
            count(&two_step, "bot_requests_per_slot"),
        )?;
        eprintln!("{name}: {} without measures, {} with limits", share(&off), share(&limits));
    }
    Ok(table)
}

fn proof_of_work() -> Result<String> {
    let mut table = "| farm | limits | and proof of work | and attack mode | its positions in attack mode |\n\
                     | --- | ---: | ---: | ---: | ---: |\n"
        .to_owned();
    for (name, farm) in COMPUTING_FARMS {
        let all = [Measures::Limits, Measures::Proof, Measures::AttackMode].map(|measures| SALE.run(farm, measures));
        let [limits, proof, attack_mode] = all;
        let (limits, proof, attack_mode) = (limits?, proof?, attack_mode?);
        let share = |figures| percent(figures, "bot_share_of_admissions");
        let positions = count(&attack_mode, "bot_sessions");
        writeln!(table, "| {name} | {} | {} | {} | {positions} |", share(&limits), share(&proof), share(&attack_mode))?;
        eprintln!("{name}: {} with proof of work, {} in attack mode", share(&proof), share(&attack_mode));
    }
    Ok(table)
}

fn cookieless() -> Result<String> {
    let mut table =
        "| site | requests per second | share of admissions | share of slot time | visitors' wait, p50 | p90 |\n\
                     | --- | ---: | ---: | ---: | ---: | ---: |\n"
            .to_owned();
    let rows = [
        ("50 slots, a visitor every 2 s", SMALL_SHOP, 5),
        ("500 slots, a visitor per second", SHOP, 10),
        ("500 slots, a visitor per second", SHOP, 20),
        ("on-sale", SALE, 50),
        ("on-sale", SALE, 200),
        ("on-sale", SALE, 1000),
    ];
    for (name, scenario, rate) in rows {
        let flood = format!("cookieless:rate={rate},addresses=200");
        let (off, two_step) = (scenario.run(&flood, Measures::Off)?, scenario.run(&flood, Measures::TwoStep(50))?);
        let pair = |of: fn(&Figures, &str) -> String, name| format!("{} → {}", of(&off, name), of(&two_step, name));
        writeln!(
            table,
            "| {name} | {rate} | {} | {} | {} | {} |",
            pair(percent, "bot_share_of_admissions"),
            pair(percent, "bot_share_of_slot_time"),
            pair(seconds, "wait_p50"),
            pair(seconds, "wait_p90"),
        )?;
        eprintln!("{name}: {rate} requests/s");
    }
    Ok(table)
}

fn other_clients() -> Result<String> {
    let mut table = "| clients | their positions | share of admissions | requests per slot | visitors' wait, p50 | p90 | passed ahead |\n\
                     | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        .to_owned();
    for (name, clients) in OTHER_CLIENTS {
        let figures = SALE.run(clients, Measures::TwoStep(50))?;
        writeln!(
            table,
            "| {name} | {} | {} | {} | {} | {} | {} |",
            count(&figures, "bot_sessions"),
            percent(&figures, "bot_share_of_admissions"),
            count(&figures, "bot_requests_per_slot"),
            seconds(&figures, "wait_p50"),
            seconds(&figures, "wait_p90"),
            count(&figures, "inversions_beyond_max_age"),
        )?;
        eprintln!("{name}: {}", percent(&figures, "bot_share_of_admissions"));
    }
    Ok(table)
}

fn pre_ticket_from() -> Result<String> {
    let mut table =
        "| `pre_ticket_from` | bots' slot time, 50 slots | visitors' wait, p50 | p90 | bots' slot time, 500 slots | \
         visitors' wait, p50 | p90 |\n\
                     | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
            .to_owned();
    for from in [0, 25, 50, 75, 100] {
        let small = SMALL_SHOP.run("cookieless:rate=5,addresses=5", Measures::TwoStep(from))?;
        let large = SHOP.run("cookieless:rate=20,addresses=20", Measures::TwoStep(from))?;
        let cells = |figures| {
            let waits = [seconds(figures, "wait_p50"), seconds(figures, "wait_p90")];
            format!("{} | {}", percent(figures, "bot_share_of_slot_time"), waits.join(" | "))
        };
        writeln!(table, "| {from} | {} | {} |", cells(&small), cells(&large))?;
        eprintln!("pre_ticket_from {from}");
    }
    Ok(table)
}

/// The page with a table in place of the one between its marks.
fn replaced(page: &str, name: &str, table: &str) -> Result<String> {
    let [begin, end] = ["begin", "end"].map(|mark| format!("<!-- {name}: {mark} -->\n"));
    let (before, rest) = page.split_once(&begin).with_context(|| format!("{PAGE} has no line {begin}"))?;
    let (_, after) = rest.split_once(&end).with_context(|| format!("{PAGE} has no line {end}"))?;
    Ok(format!("{before}{begin}{table}{end}{after}"))
}

fn main() -> Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE);
    let mut page = std::fs::read_to_string(&path)?;
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let tables = MARKS.map(|(name, _)| name);
    if let Some(unknown) = wanted.iter().find(|name| !tables.contains(&name.as_str())) {
        bail!("unknown table {unknown:?}; use {}", tables.join(", "));
    }
    for (name, table) in MARKS.into_iter().filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|it| it == name)) {
        page = replaced(&page, name, &table()?)?;
        std::fs::write(&path, &page)?;
    }
    Ok(())
}
