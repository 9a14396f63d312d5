//! Several plans side by side.

use std::fmt::Write as _;

use super::chart::{Chart, Line};
use super::html::page;
use super::{Report, measured, shown};
use crate::cost::CAVEAT;
use crate::verdict::FIGURES;

/// Figures that are compared: their name, and what the column is called.
const COMPARED: [(&str, &str); 10] = [
    ("wait_p50", "median wait"),
    ("wait_p90", "wait of 9 in 10, at most"),
    ("wait_longest", "longest wait"),
    ("most_inside", "most in at once"),
    ("use_of_places", "use of places"),
    ("requests_per_second_most", "most requests a second"),
    ("lambda_concurrency", "Lambda concurrency needed"),
    ("requests_per_visitor_minute", "requests per visitor-minute"),
    ("promise_kept", "promise kept"),
    ("cost", "AWS cost, estimated"),
];

/// Plans of one crowd before several quotas.
pub struct Sweep(Vec<Report>);

impl Sweep {
    /// These plans, side by side.
    #[must_use]
    pub const fn new(reports: Vec<Report>) -> Self {
        Self(reports)
    }

    /// Whether each of them holds.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.0.iter().all(Report::holds)
    }

    fn rows(&self) -> impl Iterator<Item = Vec<String>> {
        self.0.iter().map(|report| {
            let figure = |(name, _): &(&str, &str)| {
                let value = report.verdict(name).and_then(|verdict| verdict.value);
                value.map_or_else(|| "-".to_owned(), |value| measured(value, unit_of(name)))
            };
            let line = report.series.waiting.iter().copied().fold(0.0, f64::max);
            let first = [name_of(report), measured(report.scene.seconds.round(), "s"), shown(line.round())];
            first.into_iter().chain(COMPARED.iter().map(figure)).collect()
        })
    }

    fn heads() -> impl Iterator<Item = &'static str> {
        ["quota", "until all have left", "longest line"].into_iter().chain(COMPARED.iter().map(|(_, head)| *head))
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
        let _ = writeln!(text, "Costs are estimates: {CAVEAT}.");
        text
    }

    /// All reports as JSON.
    #[must_use]
    #[expect(clippy::expect_used, clippy::missing_panics_doc, reason = "numbers, texts and lists are always JSON")]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(&serde_json::json!({ "plans": self.0 })).expect("reports are JSON")
    }

    /// The comparison as a page.
    #[must_use]
    pub fn to_html(&self) -> String {
        let visitors = self.0.first().map_or(0, |report| report.scene.visitors);
        let title = format!("Plans for {visitors} visitors, by quota");
        let mut html = format!("<h1>{title}</h1>\n");
        if let Some(report) = self.0.first() {
            let _ = writeln!(
                html,
                "<p class=\"sub\">{} &middot; shopping {} &middot; seed {} &middot; vestibule {}</p>",
                report.scene.arrivals, report.scene.habits.shopping, report.scene.seed, report.scene.version
            );
        }
        html += "<div class=\"scroll\" role=\"region\" aria-label=\"Comparison\" tabindex=\"0\"><table>\n<thead><tr>";
        for head in Self::heads() {
            let _ = write!(html, "<th class=\"n\">{head}</th>");
        }
        html += "</tr></thead>\n<tbody>\n";
        for row in self.rows() {
            html += "<tr>";
            for cell in row {
                let _ = write!(html, "<td class=\"n\">{cell}</td>");
            }
            html += "</tr>\n";
        }
        html += "</tbody>\n</table></div>\n";
        let _ = writeln!(html, "<p class=\"sub\">Costs are estimates: {CAVEAT}.</p>");
        page(&title, &(html + &self.charts()))
    }

    fn charts(&self) -> String {
        let over_time = |of: fn(&Report) -> &[f64]| {
            self.0.iter().map(|report| Line::over_time(name_of(report), report.series.every, of(report))).collect()
        };
        let waits = self
            .0
            .iter()
            .map(|report| Line::through(name_of(report), report.waits.iter().map(|step| (step[0], step[1]))));
        let charts = [
            Chart::new("The line, by quota", "people who wait", over_time(|report| &report.series.waiting)),
            Chart::new("Wait by arrival, by quota", "seconds, median", waits.collect()),
            Chart::new("Requests, by quota", "a second", over_time(|report| &report.series.requests)),
        ];
        charts.iter().map(Chart::draw).collect()
    }
}

fn unit_of(name: &str) -> &'static str {
    FIGURES.iter().find(|figure| figure.name == name).map_or("", |figure| figure.unit)
}

fn name_of(report: &Report) -> String {
    report.scene.quota.map_or_else(|| "-".to_owned(), |quota| quota.to_string())
}
