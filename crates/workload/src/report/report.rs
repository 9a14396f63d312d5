//! The content of a report, which is also its JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use crate::checks::{Check, CheckStatus, EstimateAccuracy, FailCondition};
use crate::faults::InjectedFault;
use crate::histogram::Histogram;
use crate::observe::Observation;
use crate::origin_log::OriginCounts;
use crate::request_stats::{RequestStats, Second};
use crate::sim_time::SimTime;
use crate::summary::RunSummary;
use crate::visitor::{RequestKind, VisitorTrace};
use crate::workload::{Behavior, Workload};

/// Maximum number of points of a series.
const POINTS_MAX: usize = 600;
/// Number of points of the waits by arrival.
const WAIT_STEPS: usize = 60;
/// Send delay above which the machine under-delivers the workload, in milliseconds.
const SEND_DELAY_MAX_MS: f64 = 1000.0;

/// A report.
#[derive(Debug, Serialize)]
pub struct Report {
    /// What was run.
    pub run: RunDescription,
    /// The figures and the results of their checks.
    pub checks: Vec<Check>,
    /// Values over time.
    pub series: Series,
    /// Waits by arrival: seconds after the start, median and p90.
    pub waits: Vec<[f64; 3]>,
    /// Accuracy of the first estimates and of those two minutes later.
    pub accuracy: [Option<EstimateAccuracy>; 2],
    /// Responses by status code.
    pub statuses: BTreeMap<u16, u64>,
    /// Failed requests by cause.
    pub failures: BTreeMap<String, u64>,
    /// Latency by kind of request: median, p90, p99 and maximum, in milliseconds.
    pub latency_ms: BTreeMap<&'static str, [f64; 4]>,
    /// Faults that were injected.
    pub faults: Vec<InjectedFault>,
    /// What the store and the metrics reported.
    pub observed: Observation,
    /// What the access log of the origin shows.
    pub origin: Option<OriginCounts>,
    /// The estimated cost.
    pub cost: Option<CostEstimate>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// What was run.
#[derive(Debug, Serialize)]
pub struct RunDescription {
    /// The version of the program.
    pub version: &'static str,
    /// `rehearse` or `plan`.
    pub kind: &'static str,
    /// The target.
    pub target: String,
    /// The seed.
    pub seed: u64,
    /// Number of virtual visitors.
    pub visitors: u32,
    /// Their arrivals.
    pub arrivals: String,
    /// Their behavior.
    pub behavior: Behavior,
    /// Hostile clients beside them.
    pub hostile: Vec<String>,
    /// The compared measures against automated clients: `off` or `settings`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protection: Option<&'static str>,
    /// The quota, if it is known.
    pub quota: Option<u64>,
    /// The duration in seconds.
    pub seconds: f64,
    /// Why the run ended.
    pub ended: String,
}

/// Values over time.
#[derive(Debug, Default, Serialize)]
pub struct Series {
    /// Seconds between two values.
    pub every: usize,
    /// Waiting visitors.
    pub waiting: Vec<f64>,
    /// Active visitors, from the traces.
    pub active: Vec<f64>,
    /// Active visitors, as the gate reported them; empty if it did not.
    pub reported_active: Vec<Option<f64>>,
    /// Arrivals per second.
    pub arrivals: Vec<f64>,
    /// Admissions per second.
    pub admissions: Vec<f64>,
    /// Requests per second.
    pub requests: Vec<f64>,
    /// Failed requests per second.
    pub failures: Vec<f64>,
    /// Streams opened again per second; empty without streams.
    pub reconnects: Vec<f64>,
    /// Median latency in milliseconds.
    pub latency_p50: Vec<Option<f64>>,
    /// 99th percentile of the latency in milliseconds.
    pub latency_p99: Vec<Option<f64>>,
}

/// An estimated cost.
#[derive(Debug, Clone, Serialize)]
pub struct CostEstimate {
    /// Region and date of the prices.
    pub caveat: String,
    /// The node type of the store.
    pub node: String,
    /// The parts, and the total.
    pub items: Vec<CostItem>,
    /// The total in dollars.
    pub total: f64,
}

/// A part of an estimated cost.
#[derive(Debug, Clone, Serialize)]
pub struct CostItem {
    /// Its label.
    pub name: &'static str,
    /// Dollars.
    pub dollars: f64,
}

impl RunDescription {
    /// Describes a run of a workload.
    pub fn new(
        kind: &'static str,
        target: String,
        workload: &Workload,
        quota: Option<u64>,
        duration: SimTime,
        ended: &str,
    ) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            kind,
            target,
            seed: workload.seed,
            visitors: workload.visitors,
            arrivals: workload.arrivals.to_string(),
            behavior: workload.behavior.clone(),
            hostile: workload.hostile.iter().map(ToString::to_string).collect(),
            protection: None,
            quota,
            seconds: duration.seconds(),
            ended: ended.to_owned(),
        }
    }
}

impl Report {
    /// The report of a run.
    pub fn new(
        run: RunDescription,
        summary: &RunSummary,
        traces: &[VisitorTrace],
        request_stats: &RequestStats,
        conditions: &[FailCondition],
    ) -> Self {
        Self {
            checks: summary.figures.check_all(conditions),
            series: Series::new(summary, request_stats, run.seconds as usize + 1),
            waits: waits_by_arrival(traces),
            accuracy: summary.accuracy,
            statuses: request_stats.statuses.clone(),
            failures: request_stats.failures.clone(),
            latency_ms: latency_by_kind(request_stats),
            faults: Vec::new(),
            observed: Observation::default(),
            origin: None,
            cost: None,
            notes: Vec::new(),
            run,
        }
    }

    /// Whether all checks passed and all required figures were measured.
    pub fn passed(&self) -> bool {
        !self.checks.iter().any(|check| check.fails_run)
    }

    /// The check of a figure.
    pub fn check(&self, name: &str) -> Option<&Check> {
        self.checks.iter().find(|check| check.name == name)
    }

    /// The quota as text.
    pub(super) fn quota(&self) -> String {
        self.run.quota.map_or_else(|| "-".to_owned(), |quota| quota.to_string())
    }

    /// The quota and the protection, as far as plans compare them.
    pub(super) fn label(&self) -> String {
        let protection = self.run.protection.map(|protection| format!(", protection {protection}"));
        format!("{}{}", self.quota(), protection.unwrap_or_default())
    }

    /// The report as JSON.
    #[expect(clippy::expect_used, clippy::missing_panics_doc, reason = "numbers, texts and lists are always JSON")]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a report is JSON")
    }

    /// The checks as lines for a terminal.
    pub fn to_text(&self) -> String {
        let line = |check: &Check| {
            let mark = match check.status {
                CheckStatus::Passed => "passed",
                CheckStatus::Failed => "FAILED",
                CheckStatus::NotMeasured => "not measured",
                CheckStatus::Info => "",
            };
            let value = check.value.map_or_else(|| "-".to_owned(), |value| measured(value, check.unit));
            format!("{mark:>12}  {value:>14}  {}\n", check.title)
        };
        let checks: String = self.checks.iter().map(line).collect();
        format!("{}\n\n{checks}", self.summary())
    }

    /// Seconds from the start until nobody waits any more; `None` if somebody does at the end.
    pub fn line_empty_after(&self) -> Option<f64> {
        let waiting = &self.series.waiting;
        let bins = waiting.iter().rposition(|count| *count > 0.0).map_or(0, |last| last + 1);
        (bins < waiting.len() || waiting.is_empty()).then(|| (bins * self.series.every) as f64)
    }

    /// The result in one line.
    pub fn summary(&self) -> String {
        let value = |name: &str| self.check(name).and_then(|check| check.value);
        let with = |status: CheckStatus| -> Vec<&str> {
            let found = self.checks.iter().filter(|check| check.fails_run && check.status == status);
            found.map(|check| check.title).collect()
        };
        let (failed, unmeasured) = (with(CheckStatus::Failed), with(CheckStatus::NotMeasured));
        let mut parts = Vec::new();
        if !failed.is_empty() {
            parts.push(format!("Checks failed: {}", failed.join("; ")));
        }
        if !unmeasured.is_empty() {
            parts.push(format!("Not measured: {}", unmeasured.join("; ")));
        }
        let mut text = if parts.is_empty() { "All checks passed".to_owned() } else { parts.join(". ") };
        if let Some(waiting) = value("still_waiting").filter(|waiting| *waiting > 0.0) {
            let _ = write!(
                text,
                ". {} still waited at the end: the waits are those of the others",
                measured(waiting, "visitors")
            );
        }
        if let (Some(median), Some(longest)) = (value("wait_p50"), value("wait_longest")) {
            let _ = write!(text, ". Median wait {}, longest wait {}", measured(median, "s"), measured(longest, "s"));
        }
        if let Some(share) = value("failed_share").filter(|share| *share > 0.0) {
            let _ = write!(text, ". {} of the requests failed", measured(share, "share"));
        }
        text + "."
    }

    /// Adds notes on what affects the results.
    pub fn add_notes(&mut self) {
        if self.run.quota.is_none() {
            self.notes
                .push("The quota is unknown, so over-admission was not checked: pass --quota, or --metrics and, with several queues, --queue.".to_owned());
        }
        if self.check("send_delay_p99_ms").and_then(|check| check.value).is_some_and(|delay| delay > SEND_DELAY_MAX_MS)
        {
            self.notes.push(
                "This machine could not send all requests in time, so the load was lower than planned: use more \
                 --connections, more processors or fewer visitors."
                    .to_owned(),
            );
        }
        if let Some(first_error) = &self.observed.first_error {
            self.notes.push(format!(
                "{} of {} samples of the store and the metrics failed; the first error: {first_error}",
                self.observed.samples - self.observed.succeeded,
                self.observed.samples
            ));
        }
        if let Some(cost) = &self.cost {
            self.notes.push(format!("The cost is an estimate: {}.", cost.caveat));
        }
        for fault in self.faults.iter().filter(|fault| !fault.succeeded) {
            self.notes.push(format!("Fault \"{}\" at {:.0} s failed: {}", fault.name, fault.at, fault.result));
        }
    }
}

/// A figure with its unit, for display: `4 h 32 min`, `99 %`, `1.2 MB`.
pub fn measured(value: f64, unit: &str) -> String {
    let split = |value: f64, large: f64, names: [&str; 2]| {
        let (whole, part) = ((value / large).floor(), (value % large / (large / 60.0)).floor());
        if part > 0.0 { format!("{whole} {} {part} {}", names[0], names[1]) } else { format!("{whole} {}", names[0]) }
    };
    match unit {
        "s" if value >= 3600.0 => split(value, 3600.0, ["h", "min"]),
        "s" if value >= 120.0 => split(value.round(), 60.0, ["min", "s"]),
        "s" if value > 0.0 && value < 1.0 => measured(value * 1000.0, "ms"),
        "ms" if value >= 10_000.0 => measured(value / 1000.0, "s"),
        "share" => format!("{} %", number((value * 1e4).round() / 100.0)),
        "bytes" if value >= 1e6 => format!("{} MB", number((value / 1e5).round() / 10.0)),
        "bytes" if value >= 1e4 => format!("{} kB", number((value / 100.0).round() / 10.0)),
        "" => number(value),
        _ => format!("{} {unit}", number(value)),
    }
}

/// A number with its significant digits, for display.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if (value.fract() == 0.0 && size < 1e15) || size >= 100.0 {
        format!("{value:.0}")
    } else if size >= 1.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.4}")
    }
}

impl Series {
    fn new(summary: &RunSummary, request_stats: &RequestStats, seconds: usize) -> Self {
        let every = seconds.div_ceil(POINTS_MAX).max(1);
        let concurrency = &summary.concurrency;
        let counts = |of: &[u32]| -> Vec<f64> {
            of.chunks(every)
                .map(|chunk| chunk.iter().map(|count| f64::from(*count)).sum::<f64>() / chunk.len() as f64)
                .collect()
        };
        let chunks = || request_stats.seconds.chunks(every);
        let quantiles = |share: f64| -> Vec<Option<f64>> {
            chunks()
                .map(|chunk| {
                    let mut all = Histogram::default();
                    chunk.iter().filter_map(|second| second.latency.as_deref()).for_each(|latency| all.merge(latency));
                    all.quantile_ms(share)
                })
                .collect()
        };
        let reported: Vec<Option<f64>> = chunks()
            .map(|chunk| chunk.iter().filter_map(|second| second.reported_active).max().map(|most| most as f64))
            .collect();
        let is_reported = reported.iter().any(Option::is_some);
        let mean = |of: &dyn Fn(&Second) -> f64| -> Vec<f64> {
            chunks().map(|chunk| chunk.iter().map(of).sum::<f64>() / chunk.len() as f64).collect()
        };
        let has_streams = request_stats.streams.were_used();
        let was_timed = !summary.latency.is_empty();
        Self {
            every,
            waiting: counts(&concurrency.waiting),
            active: counts(&concurrency.active),
            reported_active: if is_reported { reported } else { Vec::new() },
            arrivals: counts(&concurrency.arrivals),
            admissions: counts(&concurrency.admissions),
            requests: mean(&|second| f64::from(second.requests)),
            failures: mean(&|second| f64::from(second.failures)),
            reconnects: if has_streams { mean(&|second| f64::from(second.reconnects)) } else { Vec::new() },
            latency_p50: if was_timed { quantiles(0.5) } else { Vec::new() },
            latency_p99: if was_timed { quantiles(0.99) } else { Vec::new() },
        }
    }
}

fn latency_by_kind(request_stats: &RequestStats) -> BTreeMap<&'static str, [f64; 4]> {
    let by_kind = RequestKind::ALL.into_iter().filter_map(|kind| {
        let latency = &request_stats.latency[kind.index()];
        let quantile = |share| latency.quantile_ms(share);
        Some((kind.name(), [quantile(0.5)?, quantile(0.9)?, quantile(0.99)?, latency.max_ms()?]))
    });
    by_kind.collect()
}

/// Median and p90 of the waits, in steps of the arrival.
fn waits_by_arrival(traces: &[VisitorTrace]) -> Vec<[f64; 3]> {
    let stayed = traces.iter().filter(|trace| trace.stayed_present());
    let mut waits: Vec<(SimTime, f64)> = stayed.filter_map(|trace| Some((trace.arrived?, trace.wait()?))).collect();
    waits.sort_by_key(|(arrived, _)| *arrived);
    let size = waits.len().div_ceil(WAIT_STEPS).max(1);
    let step = |chunk: &[(SimTime, f64)]| {
        let mut sorted: Vec<f64> = chunk.iter().map(|(_, wait)| *wait).collect();
        sorted.sort_by(f64::total_cmp);
        [chunk[chunk.len() / 2].0.seconds(), sorted[sorted.len() / 2], sorted[sorted.len() * 9 / 10]]
    };
    waits.chunks(size).map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_displayed_with_units() {
        for (value, unit, text) in [
            (16_320.0, "s", "4 h 32 min"),
            (3600.0, "s", "1 h"),
            (125.0, "s", "2 min 5 s"),
            (32.1, "s", "32.1 s"),
            (0.003, "s", "3 ms"),
            (20_835.0, "ms", "20.8 s"),
            (0.99, "share", "99 %"),
            (45_573.0, "bytes", "45.6 kB"),
            (12.0, "visitors", "12 visitors"),
            (0.0, "", "0"),
        ] {
            assert_eq!(measured(value, unit), text, "{value} {unit}");
        }
    }
}
