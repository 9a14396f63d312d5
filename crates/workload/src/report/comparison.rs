//! Plans of one workload with several quotas, side by side.

use std::fmt::Write as _;

use super::{Report, measured, number};
use crate::checks::FIGURES;

/// Compared figures and their column heads.
const COMPARED: [(&str, &str); 10] = [
    ("wait_p50", "median wait"),
    ("wait_p90", "wait, p90"),
    ("wait_longest", "longest wait"),
    ("peak_active", "peak of active visitors"),
    ("utilization", "quota utilization"),
    ("peak_requests_per_second", "peak request rate"),
    ("lambda_concurrency", "Lambda concurrency"),
    ("requests_per_visitor_minute", "requests per visitor-minute"),
    ("estimate_p90_coverage", "waits within estimated p90"),
    ("cost", "AWS cost, estimated"),
];

/// The plans.
pub struct Comparison(Vec<Report>);

impl Comparison {
    /// Compares these plans.
    #[must_use]
    pub const fn new(reports: Vec<Report>) -> Self {
        Self(reports)
    }

    pub(super) fn reports(&self) -> &[Report] {
        &self.0
    }

    /// Whether all checks of all plans passed.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.0.iter().all(Report::passed)
    }

    /// The caveat of the cost estimates.
    pub(super) fn caveat(&self) -> Option<&str> {
        self.0.iter().find_map(|report| Some(report.cost.as_ref()?.caveat.as_str()))
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = Vec<String>> {
        self.0.iter().map(|report| {
            let figure = |(name, _): &(&str, &str)| {
                let value = report.check(name).and_then(|check| check.value);
                value.map_or_else(|| "-".to_owned(), |value| measured(value, unit(name)))
            };
            let line = report.series.waiting.iter().copied().fold(0.0, f64::max);
            let first = [report.quota(), measured(report.run.seconds.round(), "s"), number(line.round())];
            first.into_iter().chain(COMPARED.iter().map(figure)).collect()
        })
    }

    pub(super) fn heads() -> impl Iterator<Item = &'static str> {
        ["quota", "line empty after", "longest line"].into_iter().chain(COMPARED.iter().map(|(_, head)| *head))
    }

    /// The comparison as lines for a terminal.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (index, head) in Self::heads().enumerate() {
            let _ = write!(text, "{head:>28}");
            for row in self.rows() {
                let _ = write!(text, " {:>12}", row[index]);
            }
            text.push('\n');
        }
        if let Some(caveat) = self.caveat() {
            let _ = writeln!(text, "Costs are estimates: {caveat}.");
        }
        text
    }

    /// All reports as JSON.
    #[must_use]
    #[expect(clippy::expect_used, clippy::missing_panics_doc, reason = "numbers, texts and lists are always JSON")]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(&serde_json::json!({ "plans": self.0 })).expect("reports are JSON")
    }
}

fn unit(name: &str) -> &'static str {
    FIGURES.iter().find(|figure| figure.name == name).map_or("", |figure| figure.unit)
}
