//! `vestibule rehearse`: runs a workload against a gate and checks its guarantees.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use vestibule_core::settings::Protection;
use vestibule_workload::report::{Report, RunDescription};
use vestibule_workload::{
    EndReason, LoadTest, MeasuredRun, MetricsAddress, Observer, RedisServer, RunResult, Target, Workload,
    add_hostile_figures, parse_faults, read_origin_log, summarize, wait_for_lobby,
};

use vestibule::cost;

use crate::arguments::whole;
use crate::progress::ProgressPrinter;
use crate::report_output::{OutputOptions, ReportFiles, exit_code, finish};
use crate::signals::stop_or_hangup_signal;
use crate::workload_options::{WorkloadOptions, read, share};

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

    /// URL of one Redis server, to read memory and command counts from INFO: `redis://127.0.0.1:6379`
    #[arg(long, value_name = "URL")]
    redis: Option<String>,

    #[command(flatten)]
    output: OutputOptions,
}

/// Runs the workload and reports. Exit status 0 if all checks passed, 1 if a check failed, 2 if nothing was measured.
pub(crate) async fn rehearse(options: RehearseOptions) -> anyhow::Result<ExitCode> {
    Ok(exit_code(run(&options).await))
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
    let redis = options.redis.as_deref().map(RedisServer::connect).transpose().context("--redis")?;
    let observer = Observer { redis, metrics, queue: options.queue.clone(), gate_process: options.gate_process };
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
