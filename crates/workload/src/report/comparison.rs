//! Plans of one workload with several quotas, or with and without protection, side by side.

use std::fmt::Write as _;

use super::{Report, measured, number};
use crate::checks::FIGURES;

/// Compared figures and their column heads. Those that no plan has are left out.
const COMPARED: [(&str, &str); 16] = [
    ("wait_p50", "median wait"),
    ("wait_p90", "wait, p90"),
    ("wait_longest", "longest wait"),
    ("peak_active", "peak of active visitors"),
    ("utilization", "quota utilization"),
    ("peak_requests_per_second", "peak request rate"),
    ("lambda_concurrency", "Lambda concurrency"),
    ("requests_per_visitor_minute", "requests per visitor-minute"),
    ("bot_share_of_admissions", "admissions of bots"),
    ("bot_share_of_slot_time", "slot time of bots"),
    ("bot_requests_per_slot", "requests per bot's slot"),
    ("visitors_rejected", "visitors rejected"),
    ("visitor_wait_added_p50", "added median wait"),
    ("visitor_wait_added_p90", "added wait, p90"),
    ("estimate_p90_coverage", "waits within estimated p90"),
    ("cost", "AWS cost, estimated"),
];

/// The plans.
pub struct Comparison(Vec<Report>);

impl Comparison {
    /// Compares these plans.
    pub const fn new(reports: Vec<Report>) -> Self {
        Self(reports)
    }

    pub(super) fn reports(&self) -> &[Report] {
        &self.0
    }

    /// Whether all checks of all plans passed.
    pub fn passed(&self) -> bool {
        self.0.iter().all(Report::passed)
    }

    /// The caveat of the cost estimates.
    pub(super) fn caveat(&self) -> Option<&str> {
        self.0.iter().find_map(|report| Some(report.cost.as_ref()?.caveat.as_str()))
    }

    /// The compared figures that a plan has.
    fn compared(&self) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
        COMPARED.iter().filter(|(name, _)| self.0.iter().any(|report| report.check(name).is_some()))
    }

    fn compares_protection(&self) -> bool {
        self.0.iter().any(|report| report.run.protection.is_some())
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = Vec<String>> {
        self.0.iter().map(|report| {
            let figure = |(name, _): &(&str, &str)| {
                let value = report.check(name).and_then(|check| check.value);
                value.map_or_else(|| "-".to_owned(), |value| measured(value, unit(name)))
            };
            let line = report.series.waiting.iter().copied().fold(0.0, f64::max);
            let first = [
                report.quota(),
                report.line_empty_after().map_or_else(|| "-".to_owned(), |seconds| measured(seconds, "s")),
                number(line.round()),
            ];
            let protection = self.compares_protection().then(|| report.run.protection.unwrap_or("-").to_owned());
            protection.into_iter().chain(first).chain(self.compared().map(figure)).collect()
        })
    }

    pub(super) fn heads(&self) -> impl Iterator<Item = &'static str> {
        let protection = self.compares_protection().then_some("protection");
        let first = ["quota", "line empty after", "longest line"];
        protection.into_iter().chain(first).chain(self.compared().map(|(_, head)| *head))
    }

    /// The comparison as lines for a terminal.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (index, head) in self.heads().enumerate() {
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
    #[expect(clippy::expect_used, clippy::missing_panics_doc, reason = "numbers, texts and lists are always JSON")]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(&serde_json::json!({ "plans": self.0 })).expect("reports are JSON")
    }
}

fn unit(name: &str) -> &'static str {
    FIGURES.iter().find(|figure| figure.name == name).map_or("", |figure| figure.unit)
}
