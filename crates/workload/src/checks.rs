//! The figures of a run, and the checks on them.

mod concurrency;
mod condition;
mod estimates;
mod order;

use serde::Serialize;

pub use concurrency::{Concurrency, measure_concurrency};
pub use condition::FailCondition;
pub use estimates::{EstimateAccuracy, estimate_accuracy};
pub use order::{OrderCheck, check_order, inversions_beyond};

/// A figure of a report.
#[derive(Debug, Clone, Copy)]
pub struct Figure {
    /// Its name in JSON and in conditions.
    pub name: &'static str,
    /// Its label.
    pub title: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// The default limit: the check fails above it.
    pub max: Option<f64>,
}

const fn info(name: &'static str, title: &'static str, unit: &'static str) -> Figure {
    Figure { name, title, unit, max: None }
}

const fn limited(name: &'static str, title: &'static str, unit: &'static str, max: f64) -> Figure {
    Figure { name, title, unit, max: Some(max) }
}

/// Maximum share of failed requests at which the other figures are meaningful.
const FAILED_SHARE_MAX: f64 = 0.01;

/// All figures, in the order of a report.
pub const FIGURES: [Figure; 62] = [
    limited("over_admission", "Active visitors above the quota", "visitors", 0.0),
    limited("tau", "Order of admission compared with order of arrival (Kendall tau, 0 is equal)", "", 0.0),
    limited("worst_inversion_seconds", "Largest inversion", "s", 0.0),
    limited("positions_lost", "Positions lost", "times", 0.0),
    limited("never_admitted", "Visitors who stayed and were never admitted", "visitors", 0.0),
    info("still_waiting", "Visitors who still waited when the run ended", "visitors"),
    limited("evicted", "Active visitors whose session the gate ended", "visitors", 0.0),
    limited("origin_over_admission", "Visitors at the origin above the quota, by its access log", "visitors", 0.0),
    limited(
        "origin_unadmitted",
        "Visitors who reached the origin without admission, by its access log",
        "visitors",
        0.0,
    ),
    limited(
        "inversions_beyond_max_age",
        "Visitors admitted after a client that came later, bots and pre-tickets included",
        "visitors",
        0.0,
    ),
    limited("failed_share", "Failed requests", "share", FAILED_SHARE_MAX),
    limited("fault_failures", "Fault commands that failed or did not run", "commands", 0.0),
    info("peak_active", "Peak of active visitors", "visitors"),
    info("utilization", "Quota utilization while visitors waited", "share"),
    info("refill_p50_ms", "Time to fill a free slot, median", "ms"),
    info("refill_p99_ms", "Time to fill a free slot, p99", "ms"),
    info("wait_p50", "Median wait", "s"),
    info("wait_p90", "Wait, p90", "s"),
    info("wait_longest", "Longest wait", "s"),
    info("estimate_p90_coverage", "Waits within the first estimated p90 (90 % is exact)", "share"),
    info("estimate_range_coverage", "Waits within the first estimated range (40 % is exact)", "share"),
    info("estimate_bias", "Wait relative to the first estimated p50, median deviation", "share"),
    info("later_estimate_p90_coverage", "Waits within the estimated p90, two minutes after joining", "share"),
    info("later_estimate_bias", "Wait relative to the estimated p50, two minutes after joining", "share"),
    info("latency_p50_ms", "Latency, median", "ms"),
    info("latency_p99_ms", "Latency, p99", "ms"),
    info("server_errors", "Responses with status 500 or higher", "responses"),
    info("requests", "Requests", "requests"),
    info("peak_requests_per_second", "Peak request rate", "requests/s"),
    info("lambda_concurrency", "Lambda concurrency for the peak request rate", "units"),
    info("requests_per_visitor_minute", "Requests per visitor and minute", "requests"),
    info("bytes_per_visitor", "Traffic per visitor", "bytes"),
    info("store_commands_per_request", "Store commands per request", "commands"),
    info("store_bytes_per_visitor", "Store memory per visitor", "bytes"),
    info("cost", "Estimated cost on AWS", "USD"),
    info("bot_share_of_admissions", "Share of the admissions that bots got", "share"),
    info("bot_share_of_slot_time", "Share of the time of all slots that bots held", "share"),
    info("bot_admissions", "Admissions of bots", "admissions"),
    info("bot_sessions", "Sessions of bots", "sessions"),
    info("bot_requests", "Requests of bots", "requests"),
    info("bot_requests_per_slot", "Requests of bots for each slot they got", "requests"),
    info("bot_cpu_seconds_per_slot", "CPU time of bots for each slot they got", "s"),
    info("visitors_rejected", "Visitors whom a limit or a full line rejected", "visitors"),
    info("visitors_challenged", "Visitors who were asked for a proof of work", "visitors"),
    info("visitor_wait_added_p50", "Median wait compared with a run without bots", "s"),
    info("visitor_wait_added_p90", "Wait, p90, compared with a run without bots", "s"),
    info("gate_cpu_us_per_bot_request", "CPU time of the gate per request of a bot", "us"),
    info("store_commands_per_bot_request", "Store commands per request of a bot", "commands"),
    info("store_cpu_added", "CPU time of the store compared with a run without bots", "share"),
    info("store_memory_added", "Peak memory of the store compared with a run without bots", "share"),
    info("drawn_visitors", "Visitors with a number of the draw", "visitors"),
    info("streams_peak", "Peak of open streams", "streams"),
    info("stream_updates", "Updates of streams", "updates"),
    info("streams_opened", "Streams opened", "streams"),
    info("streams_given_up", "Visitors whose page gave streams up and polled", "visitors"),
    info("stream_lag_p50_ms", "Time from the admission in the store to the update of a stream, median", "ms"),
    info("stream_lag_p99_ms", "Time from the admission in the store to the update of a stream, p99", "ms"),
    info("stream_reconnect_p50_ms", "Time from the end of a stream to the next, median", "ms"),
    info("stream_reconnect_p99_ms", "Time from the end of a stream to the next, p99", "ms"),
    info("stream_reconnects_peak", "Most streams opened again in a second", "streams"),
    info("send_delay_p99_ms", "Send delay, p99", "ms"),
    info("visitors", "Visitors who joined", "visitors"),
];

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// Within its limits.
    Passed,
    /// Beyond a limit.
    Failed,
    /// The figure has a limit but was not measured.
    NotMeasured,
    /// The figure has no limit.
    Info,
}

/// A figure with the result of its check.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// The name of the figure.
    pub name: &'static str,
    /// Its label.
    pub title: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// The figure; `None` if it was not measured.
    pub value: Option<f64>,
    /// The conditions under which it fails.
    pub fail_conditions: Vec<String>,
    /// The result.
    pub status: CheckStatus,
    /// Whether this check fails the run.
    #[serde(skip)]
    pub fails_run: bool,
}

/// Figures by name.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    values: Vec<(&'static str, f64)>,
    /// Figures that must be measured.
    required: Vec<&'static str>,
}

impl Figures {
    /// Fails the run if this figure is not measured.
    pub fn require(&mut self, name: &'static str) {
        debug_assert!(FIGURES.iter().any(|figure| figure.name == name), "{name}");
        self.required.push(name);
    }

    /// Adds a figure, if it was measured.
    pub fn add(&mut self, name: &'static str, value: Option<f64>) {
        debug_assert!(FIGURES.iter().any(|figure| figure.name == name), "{name}");
        self.values.extend(value.filter(|value| value.is_finite()).map(|value| (name, value)));
    }

    /// A figure.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    /// Checks all figures. The given conditions of a figure replace its default limit.
    pub fn check_all(&self, conditions: &[FailCondition]) -> Vec<Check> {
        FIGURES.iter().filter_map(|figure| self.check(figure, conditions)).collect()
    }

    fn check(&self, figure: &Figure, conditions: &[FailCondition]) -> Option<Check> {
        let value = self.value(figure.name);
        let given: Vec<FailCondition> =
            conditions.iter().filter(|condition| condition.name == figure.name).cloned().collect();
        let is_required = !given.is_empty() || self.required.contains(&figure.name);
        let default = figure.max.map(|number| FailCondition { name: figure.name.to_owned(), above: true, number });
        let conditions: Vec<FailCondition> = if given.is_empty() { default.into_iter().collect() } else { given };
        let status = match value {
            None => CheckStatus::NotMeasured,
            Some(_) if conditions.is_empty() => CheckStatus::Info,
            Some(value) if conditions.iter().any(|condition| condition.fails(value)) => CheckStatus::Failed,
            Some(_) => CheckStatus::Passed,
        };
        if value.is_none() && !is_required {
            return None;
        }
        let fails_run = status == CheckStatus::Failed || (status == CheckStatus::NotMeasured && is_required);
        let fail_conditions = conditions.iter().map(ToString::to_string).collect();
        let Figure { name, title, unit, .. } = *figure;
        Some(Check { name, title, unit, value, fail_conditions, status, fails_run })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_limits_apply_and_required_figures_must_be_measured() {
        let mut figures = Figures::default();
        figures.add("over_admission", Some(2.0));
        figures.add("utilization", Some(0.8));
        let status = |checks: &[Check], name: &str| {
            checks.iter().find(|check| check.name == name).map(|check| (check.status, check.fails_run))
        };
        let default = figures.check_all(&[]);
        assert_eq!(status(&default, "over_admission"), Some((CheckStatus::Failed, true)));
        assert_eq!(status(&default, "utilization"), Some((CheckStatus::Info, false)));
        assert_eq!(status(&default, "tau"), None, "not measured and not required");
        let conditions = ["over_admission>5", "utilization<0.9", "tau>0"].map(|text| text.parse().unwrap());
        let given = figures.check_all(&conditions);
        assert_eq!(status(&given, "over_admission"), Some((CheckStatus::Passed, false)));
        assert_eq!(status(&given, "utilization"), Some((CheckStatus::Failed, true)));
        assert_eq!(status(&given, "tau"), Some((CheckStatus::NotMeasured, true)));
        for name in ["tau", "drawn_visitors"] {
            figures.require(name);
            assert_eq!(status(&figures.check_all(&[]), name), Some((CheckStatus::NotMeasured, true)));
        }
    }

    #[test]
    fn failed_requests_fail_the_run() {
        for (share, status) in [(0.84, CheckStatus::Failed), (0.011, CheckStatus::Failed), (0.009, CheckStatus::Passed)]
        {
            let mut figures = Figures::default();
            figures.add("failed_share", Some(share));
            assert_eq!(figures.check_all(&[])[0].status, status, "{share}");
        }
    }
}
