//! `vestibule rehearse`: runs a workload against a gate and checks its guarantees.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use vestibule_core::settings::Protection;
use vestibule_workload::checks::FailCondition;
use vestibule_workload::report::{Report, RunDescription};
use vestibule_workload::{
    ARRIVALS_EXPECTED, Arrivals, Behavior, Curve, EndReason, HOSTILE_MAX, Hostile, LoadTest, MeasuredRun,
    MetricsAddress, Observer, RedisAddress, RunResult, Shopping, Target, VISITORS_MAX, Workload, add_hostile_figures,
    parse_faults, read_origin_log, summarize, wait_for_lobby,
};

use vestibule::cost;

use crate::arguments::whole;
use crate::progress::ProgressPrinter;
use crate::signals::stop_or_hangup_signal;

/// Exit status if nothing was measured: invalid input, or a target that does not respond.
const EXIT_NOT_MEASURED: u8 = 2;

#[derive(Args)]
pub(crate) struct RehearseOptions {
    /// URL of a page behind the gate: `http://127.0.0.1:8080/`
    #[arg(value_name = "URL")]
    url: String,

    /// Allow targets other than this machine. Only test sites that you operate
    #[arg(long)]
    allow_remote: bool,

    /// Host header, if it differs from the URL
    #[arg(long, value_name = "HOST")]
    host: Option<String>,

    /// Queue ID; optional if the host has only one queue
    #[arg(long, value_name = "ID")]
    queue: Option<String>,

    /// Quota of the queue, to check for over-admission [default: read from --metrics]
    #[arg(long, value_parser = whole::<u64>(0..=u64::MAX), value_name = "N")]
    quota: Option<u64>,

    #[command(flatten)]
    workload: WorkloadOptions,

    /// Share of visitors whose page listens to a stream instead of polling. Visitors with two tabs poll
    #[arg(long, default_value_t = 0.0, value_parser = share, value_name = "SHARE")]
    streams: f64,

    /// Wait until this time before the start of the queue's event, in seconds, so that visitors arrive in its lobby. The
    /// checks then need visitors with a number of the draw
    #[arg(long, value_parser = whole::<u32>(1..=86_400), value_name = "SECONDS")]
    lobby: Option<u32>,

    /// Maximum duration, in seconds
    #[arg(long, default_value_t = 3600, value_parser = whole::<u32>(1..=4_000_000), value_name = "SECONDS")]
    duration: u32,

    /// Maximum number of requests
    #[arg(long, default_value_t = 20_000_000, value_parser = whole::<u64>(1..=u64::MAX), value_name = "N")]
    max_requests: u64,

    /// Number of connections that the visitors share (1 to 20000)
    #[arg(long, default_value_t = 256, value_parser = whole::<u32>(1..=20_000), value_name = "N")]
    connections: u32,

    /// First run the same visitors without the hostile clients, to measure what these add: waits, and CPU time and commands per
    /// request. The queue should be empty again after all visitors have left, so use --leave 1 --close 0
    #[arg(long, requires = "hostile")]
    twin: bool,

    /// `pre_ticket_max_age` of the queue, for the check of the order of first visits, in seconds
    #[arg(long, default_value_t = Protection::default().pre_ticket_max_age, value_parser = whole::<u64>(0..=300),
        value_name = "SECONDS")]
    pre_ticket_max_age: u64,

    /// Process ID of a gate on this machine, to measure its CPU time
    #[arg(long, value_name = "PID")]
    gate_process: Option<u32>,

    /// File with faults to inject during the run, one per line: SECONDS NAME: COMMAND
    #[arg(long, value_name = "FILE")]
    faults: Option<PathBuf>,

    /// Access log of the origin in the Combined Log Format, to check which visitors reached it
    #[arg(long, value_name = "FILE")]
    origin_log: Option<PathBuf>,

    /// Metrics of the gate: `http://127.0.0.1:8081/metrics`
    #[arg(long, value_name = "URL")]
    metrics: Option<String>,

    /// Bearer token for --metrics
    #[arg(long, env = "VESTIBULE_METRICS_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    metrics_token: Option<String>,

    /// Redis URL, to read memory and command counts from INFO: `redis://127.0.0.1:6379`
    #[arg(long, value_name = "URL")]
    redis: Option<RedisAddress>,

    #[command(flatten)]
    output: OutputOptions,
}

/// Reports and failure conditions.
#[derive(Args)]
pub(crate) struct OutputOptions {
    /// Write the report as an HTML page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Write the report as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Exit with status 1 under this condition, such as `over_admission>0` or `utilization<0.9`; a comma-separated list. Replaces
    /// the default condition of a figure
    #[arg(long, value_delimiter = ',', value_name = "LIMIT")]
    pub(crate) fail_if: Vec<FailCondition>,
}

/// The virtual visitors.
#[derive(Args)]
pub(crate) struct WorkloadOptions {
    /// Number of virtual visitors (1 to 5000000); ignored with csv: arrivals
    #[arg(long, default_value_t = 1000, value_parser = whole::<u32>(1..=u64::from(VISITORS_MAX)), value_name = "N")]
    visitors: u32,

    /// Arrivals: burst:SECONDS, steady:SECONDS, ramp:SECONDS, or csv:FILE with rows of seconds,visitors
    #[arg(long, default_value = "burst:10", value_name = "CURVE")]
    arrivals: String,

    /// Random seed
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>(0..=u64::MAX), value_name = "N")]
    seed: u64,

    /// Time on the site: fixed:SECONDS, uniform:FROM..TO, exponential:MEAN or lognormal:MEAN
    #[arg(long, default_value = "lognormal:180", value_name = "TIMES")]
    pub(crate) shopping: Shopping,

    /// Number of pages per visit
    #[arg(long, default_value_t = 3, value_parser = whole::<u32>(1..=1000), value_name = "N")]
    pages: u32,

    /// The site does not embed the keepalive script
    #[arg(long)]
    no_keepalive: bool,

    /// Share of visitors who leave with the leave request, 0 to 1; the others close the page
    #[arg(long, default_value_t = 0.7, value_parser = share, value_name = "SHARE")]
    leave: f64,

    /// Share of visitors who close the queue page while they wait
    #[arg(long, default_value_t = 0.05, value_parser = share, value_name = "SHARE")]
    close: f64,

    /// Mean time until they close it, in seconds
    #[arg(long, default_value_t = 300.0, value_parser = seconds, value_name = "SECONDS")]
    patience: f64,

    /// Share of them whose browser sends the away beacon
    #[arg(long, default_value_t = 0.7, value_parser = share, value_name = "SHARE")]
    beacon: f64,

    /// Share of them who return
    #[arg(long, default_value_t = 0.5, value_parser = share, value_name = "SHARE")]
    come_back: f64,

    /// Mean time until they return, in seconds
    #[arg(long, default_value_t = 60.0, value_parser = seconds, value_name = "SECONDS")]
    away: f64,

    /// Share of visitors whose phone sleeps while they wait
    #[arg(long, default_value_t = 0.05, value_parser = share, value_name = "SHARE")]
    sleep: f64,

    /// Mean time until a phone sleeps, in seconds
    #[arg(long, default_value_t = 300.0, value_parser = seconds, value_name = "SECONDS")]
    awake: f64,

    /// Maximum time that a phone sleeps, in seconds; must be shorter than `hold_ttl`, otherwise positions are lost as documented
    #[arg(long, default_value_t = 120.0, value_parser = seconds, value_name = "SECONDS")]
    asleep: f64,

    /// Share of visitors who reload the queue page
    #[arg(long, default_value_t = 0.03, value_parser = share, value_name = "SHARE")]
    reload: f64,

    /// Mean time between reloads, in seconds
    #[arg(long, default_value_t = 60.0, value_parser = seconds, value_name = "SECONDS")]
    reload_every: f64,

    /// Share of visitors with two tabs
    #[arg(long, default_value_t = 0.05, value_parser = share, value_name = "SHARE")]
    second_tab: f64,

    /// Share of bots without cookies
    #[arg(long, default_value_t = 0.0, value_parser = share, value_name = "SHARE")]
    bots: f64,

    /// Mean time between requests of a bot, in seconds
    #[arg(long, default_value_t = 10.0, value_parser = seconds, value_name = "SECONDS")]
    bots_every: f64,

    /// Share of visitors whose script ignores the poll interval
    #[arg(long, default_value_t = 0.0, value_parser = share, value_name = "SHARE")]
    flood: f64,

    /// Time from a response to the next request of such a script, in seconds
    #[arg(long, default_value_t = 0.3, value_parser = seconds, value_name = "SECONDS")]
    flood_every: f64,

    /// Hostile clients beside the visitors, as KIND:KEY=VALUE,..; can be repeated. `cookieless:rate=..` requests pages without
    /// cookies, `farm:sessions=..,cores=..,proof=solve|delayed|none` keeps cookies and proves work,
    /// `hoard:pre_tickets=..,redeem=..` redeems pre-tickets at once, `replay:clients=..,what=pre-ticket|ticket` sends one token,
    /// `forge:rate=..` forges tokens, and `leaver:sessions=..,away=..` leaves and returns. All take
    /// `addresses=..,networks=..,at=..`
    #[arg(long, value_name = "CLIENTS")]
    hostile: Vec<Hostile>,
}

fn share(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    number.ok_or_else(|| "must be a share from 0 to 1, such as 0.05".to_owned())
}

fn seconds(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('s').parse().ok().filter(|seconds| (0.01..=86_400.0).contains(seconds));
    number.ok_or_else(|| "must be a number of seconds from 0.01 to 86400".to_owned())
}

impl WorkloadOptions {
    /// The workload, with the curve of its file.
    pub(crate) fn workload(&self) -> anyhow::Result<Workload> {
        let (arrivals, visitors) = if let Some(path) = self.arrivals.strip_prefix("csv:") {
            curve(Path::new(path))?
        } else {
            let arrivals: Arrivals =
                self.arrivals.parse().map_err(|expected| anyhow::anyhow!("--arrivals {expected}"))?;
            (arrivals, self.visitors)
        };
        if self.hostile.len() > HOSTILE_MAX {
            bail!("--hostile: {} groups; the maximum is {HOSTILE_MAX}", self.hostile.len());
        }
        let hostile: u64 = self.hostile.iter().map(|group| u64::from(group.clients())).sum();
        if u64::from(visitors) + hostile > u64::from(VISITORS_MAX) {
            bail!("--hostile: {hostile} clients and {visitors} visitors; the maximum is {VISITORS_MAX} together");
        }
        if self.bots + self.flood > 1.0 {
            bail!("--bots and --flood must sum to 1 at most");
        }
        let behavior = Behavior {
            shopping: self.shopping.clone(),
            pages: self.pages,
            keepalive: !self.no_keepalive,
            leave: self.leave,
            close: self.close,
            patience: self.patience,
            beacon: self.beacon,
            come_back: self.come_back,
            away: self.away,
            sleep: self.sleep,
            awake: self.awake,
            asleep: self.asleep,
            reload: self.reload,
            reload_every: self.reload_every,
            second_tab: self.second_tab,
            bots: self.bots,
            bots_every: self.bots_every,
            flood: self.flood,
            flood_every: self.flood_every,
            streams: 0.0,
        };
        Ok(Workload { visitors, arrivals, behavior, seed: self.seed, repeat: None, hostile: self.hostile.clone() })
    }
}

fn curve(path: &Path) -> anyhow::Result<(Arrivals, u32)> {
    if path.as_os_str().is_empty() {
        bail!("--arrivals {ARRIVALS_EXPECTED}");
    }
    let text = read("--arrivals", path)?;
    let (curve, all) = Curve::parse(&text).with_context(|| format!("--arrivals {}", path.display()))?;
    if all > VISITORS_MAX {
        bail!("--arrivals {}: {all} visitors; the maximum is {VISITORS_MAX}", path.display());
    }
    Ok((Arrivals::Curve(curve), all))
}

fn read(flag: &str, path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("{flag}: cannot read {}", path.display()))
}

/// Runs the workload and reports. Exit status 0 if all checks passed, 1 if a check failed, 2 if nothing was measured.
pub(crate) async fn rehearse(options: RehearseOptions) -> anyhow::Result<ExitCode> {
    Ok(exit_code(run(&options).await))
}

/// The exit status of a run.
pub(crate) fn exit_code(passed: anyhow::Result<bool>) -> ExitCode {
    match passed {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("vestibule: {error:#}");
            ExitCode::from(EXIT_NOT_MEASURED)
        }
    }
}

async fn run(options: &RehearseOptions) -> anyhow::Result<bool> {
    let mut workload = options.workload.workload()?;
    workload.behavior.streams = options.streams;
    let target = Target::new(&options.url, options.host.as_deref(), options.queue.as_deref(), options.allow_remote)?;
    let faults = match &options.faults {
        Some(path) => parse_faults(&read("--faults", path)?).with_context(|| format!("--faults {}", path.display()))?,
        None => Vec::new(),
    };
    let metrics =
        options.metrics.as_ref().map(|url| MetricsAddress::new(url, options.metrics_token.clone())).transpose()?;
    let observer = Observer {
        redis: options.redis.clone(),
        metrics,
        queue: options.queue.clone(),
        gate_process: options.gate_process,
    };
    if options.gate_process.is_some_and(|process| !Path::new(&format!("/proc/{process}/stat")).exists()) {
        bail!(
            "--gate-process: no such process on this machine, or its CPU time cannot be read: use the ID of a gate that runs here"
        );
    }
    let files = ReportFiles::open(&options.output)?;
    if let Some(metrics) = &observer.metrics {
        let quota = metrics.quota(options.queue.as_deref()).await.map_err(|error| anyhow::anyhow!("--{error}"))?;
        if quota.or(options.quota).is_none() {
            bail!(
                "--metrics: these do not have the quota of a single queue: name the queue with --queue, or pass --quota"
            );
        }
    }
    if let Some(seconds) = options.lobby {
        eprintln!("Waiting for the lobby, {seconds} seconds before the start of the event.");
        wait_for_lobby(&target, seconds).await?;
    }
    // Earlier lines of the log are not part of this run.
    let log_began = match &options.origin_log {
        Some(path) => read("--origin-log", path)?.len(),
        None => 0,
    };
    let (planned_faults, url) = (faults.len(), target.url().to_owned());
    let test = |workload: &Workload, faults| LoadTest {
        workload: workload.clone(),
        target: target.clone(),
        connections: options.connections as usize,
        max_duration: Duration::from_secs(options.duration.into()),
        max_requests: options.max_requests,
        faults,
        observer: observer.clone(),
    };
    let twin = if options.twin {
        eprintln!("First without hostile clients.");
        let twin = run_printed(test(&workload.without_hostile(), Vec::new())).await?;
        if twin.ended == EndReason::Stopped {
            bail!("interrupted before the hostile clients came: nothing was measured");
        }
        Some(twin)
    } else {
        None
    };
    let result = run_printed(test(&workload, faults)).await?;
    let report = report(options, &workload, url, &result, twin.as_ref(), planned_faults, log_began)?;
    finish(&report, &files)
}

/// Runs a load test and prints its progress.
async fn run_printed(test: LoadTest) -> anyhow::Result<RunResult> {
    let mut printer = ProgressPrinter::new();
    let result = test.run(stop_or_hangup_signal()?, |progress| printer.print(progress)).await?;
    printer.end();
    Ok(result)
}

fn measured_run(result: &RunResult) -> MeasuredRun<'_> {
    MeasuredRun { traces: &result.traces, duration: result.duration, observed: &result.observed }
}

fn report(
    options: &RehearseOptions,
    workload: &Workload,
    target: String,
    result: &RunResult,
    twin: Option<&RunResult>,
    planned_faults: usize,
    log_began: usize,
) -> anyhow::Result<Report> {
    let quota = options.quota.or(result.observed.quota);
    let completed = result.ended == EndReason::Completed;
    let RunResult { traces, request_stats, duration, observed, .. } = result;
    let mut summary = summarize(traces, request_stats, quota, *duration, completed, observed);
    let twin = twin.map(measured_run);
    if !workload.hostile.is_empty() {
        add_hostile_figures(&mut summary.figures, &measured_run(result), twin.as_ref(), options.pre_ticket_max_age);
    }
    let cost = cost::estimate(&mut summary, request_stats, *duration);
    for name in ["over_admission", "tau", "failed_share"] {
        summary.figures.require(name);
    }
    if options.lobby.is_some() {
        summary.figures.require("drawn_visitors");
    }
    if options.streams > 0.0 {
        summary.figures.require("streams_opened");
    }
    let origin = match &options.origin_log {
        Some(path) => {
            let log = read("--origin-log", path)?;
            Some(read_origin_log(log.get(log_began..).unwrap_or(&log), traces))
        }
        None => None,
    };
    if let Some(origin) = &origin {
        // Otherwise the origin was not reached, or this is not its log.
        let is_of_this_run = origin.requests > 0 || traces.iter().all(|trace| trace.admitted.is_none());
        let over_admission = quota.map(|quota| origin.peak_concurrent.saturating_sub(quota) as f64);
        summary.figures.add("origin_over_admission", over_admission.filter(|_| is_of_this_run));
        summary.figures.add("origin_unadmitted", Some(origin.unadmitted as f64).filter(|_| is_of_this_run));
        summary.figures.require("origin_unadmitted");
    }
    if planned_faults > 0 {
        let succeeded = result.faults.iter().filter(|fault| fault.succeeded).count();
        summary.figures.add("fault_failures", Some((planned_faults - succeeded) as f64));
    }
    let run = RunDescription::new("rehearse", target, workload, quota, *duration, result.ended.description());
    let mut report = Report::new(run, &summary, traces, request_stats, &options.output.fail_if);
    report.faults.clone_from(&result.faults);
    report.observed = observed.clone();
    report.origin = origin;
    report.cost = Some(cost);
    report.add_notes();
    Ok(report)
}

/// Prints and writes the report. Returns whether all checks passed.
pub(crate) fn finish(report: &Report, files: &ReportFiles) -> anyhow::Result<bool> {
    print!("{}", report.to_text());
    for note in &report.notes {
        println!("note: {note}");
    }
    files.write(|| report.to_json(), || report.to_html())?;
    Ok(report.passed())
}

/// The files of a report, which are opened before the run: a path that cannot be written must not cost a run.
pub(crate) struct ReportFiles {
    json: Option<(PathBuf, File)>,
    html: Option<(PathBuf, File)>,
}

impl ReportFiles {
    /// Opens the files. An earlier report stays until the new one is written.
    pub(crate) fn open(output: &OutputOptions) -> anyhow::Result<Self> {
        let open = |flag: &str, path: Option<&PathBuf>| {
            let Some(path) = path else { return Ok(None) };
            let file = File::options().write(true).create(true).truncate(false).open(path);
            let file = file.with_context(|| format!("{flag}: cannot write to {}", path.display()))?;
            anyhow::Ok(Some((path.clone(), file)))
        };
        Ok(Self { json: open("--json", output.json.as_ref())?, html: open("--html", output.html.as_ref())? })
    }

    /// Writes both files, also if one of them fails.
    pub(crate) fn write(&self, json: impl Fn() -> String, html: impl Fn() -> String) -> anyhow::Result<()> {
        let json = self.json.as_ref().map_or(Ok(()), |(path, file)| write(path, file, &json()));
        let html = self.html.as_ref().map_or(Ok(()), |(path, file)| write(path, file, &html()));
        json.and(html)
    }
}

fn write(path: &Path, mut file: &File, text: &str) -> anyhow::Result<()> {
    let mut replace = || {
        // A pipe such as /dev/stdout has no length.
        if file.metadata()?.is_file() {
            file.set_len(0)?;
        }
        file.write_all(text.as_bytes())
    };
    replace().with_context(|| format!("cannot write the report to {}", path.display()))?;
    println!("Report written to {}", path.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_that_cannot_be_written_are_found_before_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let (json, html) = (folder.path().join("nowhere/r.json"), folder.path().join("r.html"));
        let output =
            |json: &Path| OutputOptions { json: Some(json.to_owned()), html: Some(html.clone()), fail_if: Vec::new() };
        let refused = ReportFiles::open(&output(&json)).err().map(|error| error.to_string());
        assert!(refused.is_some_and(|reason| reason.starts_with("--json: cannot write to")));
        let json = folder.path().join("r.json");
        std::fs::write(&json, "an earlier report").unwrap();
        let files = ReportFiles::open(&output(&json)).unwrap();
        assert_eq!(std::fs::read_to_string(&json).unwrap(), "an earlier report");
        files.write(|| "{}".to_owned(), || "<p>".to_owned()).unwrap();
        assert_eq!(
            (std::fs::read_to_string(&json).unwrap(), std::fs::read_to_string(&html).unwrap()),
            ("{}".into(), "<p>".into())
        );
    }
}
