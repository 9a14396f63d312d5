//! `vestibule plan`: simulates a workload in virtual time and reports the waits and the cost.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;

use anyhow::{Context as _, bail};
use clap::Args;
use vestibule::cost;
use vestibule_core::fields::{Field as _, Object as _};
use vestibule_core::line::{LineRules, Mode, STEP_MAX};
use vestibule_core::settings::{Access, Event, EventOrder, LimitMode, Origin, Protection};
use vestibule_core::{Clock as _, SystemClock};
use vestibule_workload::report::{Comparison, Report, RunDescription};
use vestibule_workload::simulation::{DURATION_MAX, Sale, simulate};
use vestibule_workload::{MeasuredRun, Observation, Workload, add_hostile_figures, summarize};

use crate::arguments::whole;
use crate::report_output::{OutputOptions, ReportFiles, exit_code, finish};
use crate::settings_file::read_settings;
use crate::workload_options::WorkloadOptions;

/// Maximum number of quotas in a comparison.
const QUOTAS_MAX: usize = 50;
/// Seconds of a draw, unless the event or a flag says otherwise.
const DRAW_SECONDS: u64 = 30;
/// The valid comparisons, for error messages.
const COMPARED_EXPECTED: &str = "must be protection=off or protection=settings";

vestibule_core::names! {
    /// Which measures against automated clients a simulated queue takes.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum ComparedProtection {
        /// None: no pre-tickets, no limits of joins.
        Off = "off",
        /// Those of the settings.
        Settings = "settings",
    }
    fn name
}

impl ComparedProtection {
    fn rules(self, rules: &LineRules) -> LineRules {
        match self {
            Self::Off => {
                let protection = Protection { mode: LimitMode::Off, ..Protection::without_pre_tickets() };
                LineRules { protection, ..rules.clone() }
            }
            Self::Settings => rules.clone(),
        }
    }
}

impl FromStr for ComparedProtection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let word = text.strip_prefix("protection=");
        let found = Self::ALL.into_iter().find(|compared| Some(compared.name()) == word);
        found.ok_or_else(|| COMPARED_EXPECTED.to_owned())
    }
}

#[derive(Args)]
pub(crate) struct PlanOptions {
    /// Quota; a comma-separated list compares several
    #[arg(long, value_delimiter = ',', required_unless_present = "settings", value_parser = whole::<u64>(0..=u64::MAX), value_name = "N")]
    quota: Vec<u64>,

    /// Settings file with the rules of the queue
    #[arg(long, requires = "queue", value_name = "FILE")]
    settings: Option<PathBuf>,

    /// ID of the queue in the settings file
    #[arg(long, requires = "settings", value_name = "ID")]
    queue: Option<String>,

    /// Maximum number of admissions per minute
    #[arg(long, value_parser = whole::<u64>(0..=u64::MAX), value_name = "N")]
    admissions_per_minute: Option<u64>,

    /// Seconds between admissions: at whole multiples of it, the rate's admissions for that time
    #[arg(long, value_parser = whole::<u64>(1..=STEP_MAX), value_name = "SECONDS")]
    admissions_every: Option<u64>,

    /// Least time after a visit until a waiting session expires, in seconds
    #[arg(long, default_value_t = 60, conflicts_with = "settings", value_parser = whole::<u64>(3..=3600), value_name = "SECONDS")]
    waiting_ttl: u64,

    /// Time after a visit until an active session expires, in seconds
    #[arg(long, default_value_t = 600, conflicts_with = "settings", value_parser = whole::<u64>(1..=86_400), value_name = "SECONDS")]
    active_ttl: u64,

    /// Time until an admitted visitor who does not return loses the slot, in seconds
    #[arg(long, default_value_t = 30, conflicts_with = "settings", value_parser = whole::<u64>(1..=3600), value_name = "SECONDS")]
    claim_ttl: u64,

    /// Compares measures against automated clients, with the same seed: protection=off, protection=settings, or both
    #[arg(long, value_delimiter = ',', default_value = "protection=settings", value_name = "PROTECTION")]
    compare: Vec<ComparedProtection>,

    /// Maximum simulated time, in seconds
    #[arg(long, default_value_t = DURATION_MAX, value_parser = whole::<u32>(1..=DURATION_MAX.into()), value_name = "SECONDS")]
    duration: u32,

    /// Simulates an event: this many of the visitors come in the 30 minutes before its start, the others from the start on
    #[arg(long, value_name = "N")]
    lobby: Option<u32>,

    /// Order of admissions of the event: draw or arrival; by default that of the queue's next event, or else draw
    #[arg(long, requires = "lobby", value_parser = ["draw", "arrival"], value_name = "ORDER")]
    order: Option<String>,

    /// Seconds after the start in which visitors of the lobby join the line in their drawn order (10 to 600); by default those of
    /// the queue's next event, or else 30
    #[arg(long, requires = "lobby", value_parser = whole::<u64>(10..=600), value_name = "SECONDS")]
    draw_seconds: Option<u64>,

    #[command(flatten)]
    workload: WorkloadOptions,

    #[command(flatten)]
    output: OutputOptions,
}

/// Simulates the workload with each quota.
pub(crate) fn plan(options: &PlanOptions) -> ExitCode {
    exit_code(run(options))
}

fn run(options: &PlanOptions) -> anyhow::Result<bool> {
    let workload = options.workload.workload()?;
    let rules = rules(options)?;
    let sale = sale(options, &rules, &workload)?;
    let quotas = if options.quota.is_empty() { vec![rules.quota] } else { options.quota.clone() };
    if quotas.len() > QUOTAS_MAX {
        bail!("--quota: {} quotas; the maximum is {QUOTAS_MAX}", quotas.len());
    }
    let files = ReportFiles::open(&options.output)?;
    let mut reports = Vec::new();
    for quota in quotas {
        check_rules(&LineRules { quota, ..rules.clone() })?;
        for protection in &options.compare {
            let rules = LineRules { quota, ..protection.rules(&rules) };
            let mut report = report(options, &workload, &rules, sale.as_ref());
            report.run.protection = (options.compare.len() > 1).then(|| protection.name());
            reports.push(report);
        }
    }
    if let [report] = &reports[..] {
        return finish(report, &files);
    }
    let comparison = Comparison::new(reports);
    print!("{}", comparison.to_text());
    files.write(|| comparison.to_json(), || comparison.to_html())?;
    Ok(comparison.passed())
}

/// The event to be simulated, if there is one: with the order of the queue's next event, unless the flags say otherwise.
fn sale(options: &PlanOptions, rules: &LineRules, workload: &Workload) -> anyhow::Result<Option<Sale>> {
    let Some(lobby) = options.lobby else { return Ok(None) };
    let now = SystemClock::new().now();
    let event = rules.events.planned().find(|event| event.ends_at.micros() > now);
    if lobby > workload.visitors {
        bail!("--lobby: {lobby} of {} visitors; raise --visitors", workload.visitors);
    }
    let order = match options.order.as_deref() {
        Some("arrival") => EventOrder::Arrival,
        Some(_) => EventOrder::Draw,
        None => event.map_or(EventOrder::Draw, |event| event.order),
    };
    let of_event = event.filter(|event| event.order == EventOrder::Draw).map(Event::draw_seconds);
    let draw_seconds = options.draw_seconds.or(of_event).unwrap_or(DRAW_SECONDS);
    Ok(Some(Sale { lobby, order, draw_seconds }))
}

fn report(options: &PlanOptions, workload: &Workload, rules: &LineRules, sale: Option<&Sale>) -> Report {
    let simulated = |workload| simulate(workload, rules, sale, options.duration);
    let mut result = simulated(workload.clone());
    let twin = (!workload.hostile.is_empty()).then(|| simulated(workload.without_hostile()));
    cost::add_assumed_traffic(&mut result.request_stats, &result.traces);
    let (traces, request_stats, duration) = (&result.traces, &result.request_stats, result.duration);
    let quota = Some(rules.quota);
    let mut summary = summarize(traces, request_stats, quota, duration, result.completed, &Observation::default());
    let observed = Observation::default();
    let measured = |traces, duration| MeasuredRun { traces, duration, observed: &observed };
    let twin = twin.as_ref().map(|twin| measured(&twin.traces, twin.duration));
    let max_age = rules.protection.pre_ticket_max_age;
    if !workload.hostile.is_empty() {
        add_hostile_figures(&mut summary.figures, &measured(traces, duration), twin.as_ref(), max_age);
    }
    let cost = cost::estimate(&mut summary, request_stats, duration);
    let ended = if result.completed { "all visitors have left" } else { "the maximum duration was reached" };
    let event = sale.map_or_else(String::new, |sale| match sale.order {
        EventOrder::Draw => {
            format!(", a lobby of {} visitors for 30 minutes and a draw of {} s", sale.lobby, sale.draw_seconds)
        }
        EventOrder::Arrival => format!(", {} visitors in the 30 minutes before the start", sale.lobby),
    });
    let target = format!("simulation with quota {}{event}", rules.quota);
    let run = RunDescription::new("plan", target, workload, quota, duration, ended);
    let mut report = Report::new(run, &summary, traces, request_stats, &options.output.fail_if);
    report.cost = Some(cost);
    report.add_notes();
    report
}

fn rules(options: &PlanOptions) -> anyhow::Result<LineRules> {
    let mut rules = match (&options.settings, &options.queue) {
        (Some(path), Some(queue)) => rules_of(path, queue)?,
        _ => LineRules {
            waiting_ttl: options.waiting_ttl,
            active_ttl: options.active_ttl,
            claim_ttl: options.claim_ttl,
            hold_ttl: options.waiting_ttl.max(600),
            ..LineRules::with_quota(0)
        },
    };
    let is_event_simulated = rules.mode == Mode::Scheduled && options.lobby.is_some();
    if rules.mode != Mode::Open && !is_event_simulated {
        eprintln!("note: the queue's mode is \"{}\"; the line is simulated in mode \"open\"", rules.mode.as_str());
    }
    if rules.access.is_some_and(|access| access == Access::Invited) {
        eprintln!(
            "note: only invited visitors can join the queue; all simulated visitors are invited, without a head start"
        );
    }
    rules = LineRules { access: None, ..rules.in_mode(Mode::Open) };
    rules.admissions_per_minute = options.admissions_per_minute.or(rules.admissions_per_minute);
    rules.admissions_every = options.admissions_every.or(rules.admissions_every);
    Ok(rules)
}

/// Rejects rules that no queue can have.
fn check_rules(rules: &LineRules) -> anyhow::Result<()> {
    let errors = LineRules::from_json(&LineRules::to_json(rules)).err().unwrap_or_default();
    if errors.is_empty() {
        return Ok(());
    }
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    bail!("no queue can have these rules: {}", errors.join("; "))
}

fn rules_of(path: &Path, queue: &str) -> anyhow::Result<LineRules> {
    let any_origin: Option<Origin> = "http://127.0.0.1".parse().ok();
    let document = read_settings(path, any_origin.as_ref())?;
    let found = document.queues.iter().find(|settings| settings.id.as_str() == queue);
    let names: Vec<&str> = document.queues.iter().map(|settings| settings.id.as_str()).collect();
    let found = found
        .with_context(|| format!("{} has no queue {queue:?}; its queues are {}", path.display(), names.join(", ")))?;
    Ok(found.line.clone())
}
