//! The report as a page: self-contained, without a script, light and dark.

use std::fmt::Write as _;

use super::chart::{Chart, Line, escape};
use super::{Report, measured, shown};
use crate::verdict::{Outcome, Verdict};

/// The styles of all pages.
const STYLES: &str = include_str!("page.css");

/// A page with this title and content.
pub(super) fn page(title: &str, content: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{0}</title>\n<style>\n{STYLES}</style>\n\
         </head>\n<body>\n<main>\n{content}</main>\n</body>\n</html>\n",
        escape(title)
    )
}

impl Report {
    /// The report as a page.
    #[must_use]
    pub fn to_html(&self) -> String {
        let title = match self.scene.kind {
            "plan" => format!("A plan for {} visitors", self.scene.visitors),
            _ => format!("A rehearsal with {} visitors", self.scene.visitors),
        };
        let mut html = format!("<h1>{}</h1>\n", escape(&title));
        self.introduce(&mut html);
        html += &self.verdict_table();
        for remark in &self.remarks {
            let _ = writeln!(html, "<p class=\"note\">{}</p>", escape(remark));
        }
        html += "<h2>Over time</h2>\n";
        html += &self.charts();
        self.add_answers(&mut html);
        self.add_drill(&mut html);
        self.add_cost(&mut html);
        self.add_crowd(&mut html);
        page(&title, &html)
    }

    fn introduce(&self, html: &mut String) {
        let scene = &self.scene;
        let quota =
            scene.quota.map_or_else(|| "a quota that is not known".to_owned(), |quota| format!("a quota of {quota}"));
        let _ = writeln!(
            html,
            "<p class=\"sub\">{} &middot; {quota} &middot; {} &middot; seed {} &middot; {} until {} &middot; vestibule {}</p>",
            escape(&scene.target),
            escape(&scene.arrivals),
            scene.seed,
            measured(scene.seconds.round(), "s"),
            escape(&scene.ended),
            scene.version,
        );
        let class = if self.holds() { "held" } else { "failed" };
        let _ = writeln!(html, "<p class=\"result {class}\">{}</p>", escape(&self.summary()));
    }

    fn verdict_table(&self) -> String {
        let mut html =
            "<div class=\"scroll\" role=\"region\" aria-label=\"Figures\" tabindex=\"0\"><table>\n<thead><tr><th>Verdict</th><th>Figure</th><th class=\"n\">Value</th>\
                        <th>Fails if</th></tr></thead>\n<tbody>\n"
                .to_owned();
        for verdict in &self.verdicts {
            let (class, says) = outcome(verdict);
            let value = verdict.value.map_or_else(|| "not known".to_owned(), |value| measured(value, verdict.unit));
            let _ = writeln!(
                html,
                "<tr><td class=\"{class}\">{says}</td><td>{} <code>{}</code></td><td class=\"n\">{value}</td><td>{}</td></tr>",
                escape(verdict.title),
                verdict.name,
                escape(&verdict.fails_if.join(", ")),
            );
        }
        html + "</tbody>\n</table></div>\n"
    }

    fn charts(&self) -> String {
        let series = &self.series;
        let every = series.every;
        let line = |name: &str, values: &[f64]| Line::over_time(name, every, values);
        let gaps = |name: &str, values: &[Option<f64>]| Line::with_gaps(name, every, values.iter().copied());
        let mut inside = vec![line("in, by what visitors went through", &series.inside)];
        if !series.active_told.is_empty() {
            inside.push(gaps("in, by the gate's word", &series.active_told));
        }
        inside.extend(self.scene.quota.map(|quota| Line::level("quota", self.scene.seconds, quota as f64)));
        let wait = |name: &str, which: usize| Line::through(name, self.waits.iter().map(|step| (step[0], step[which])));
        let charts = [
            Chart::new("The line", "people who wait", vec![line("in line", &series.waiting)]),
            Chart::new("Places", "people who are in", inside),
            Chart::new(
                "Arrivals and admissions",
                "people a second",
                vec![line("arrivals", &series.arrivals), line("admissions", &series.admissions)],
            ),
            Chart::new("Wait by arrival", "seconds", vec![wait("median", 1), wait("9 of 10", 2)]),
            Chart::new(
                "Requests",
                "a second",
                vec![line("requests", &series.requests), line("without an answer of a gate", &series.failures)],
            ),
            Chart::new(
                "Time to an answer",
                "milliseconds",
                vec![gaps("median", &series.latency_p50), gaps("99 of 100", &series.latency_p99)],
            ),
        ];
        charts.iter().map(Chart::draw).collect()
    }

    fn add_answers(&self, html: &mut String) {
        if self.statuses.is_empty() && self.failures.is_empty() {
            return;
        }
        *html += "<h2>Answers</h2>\n<div class=\"scroll\" role=\"region\" aria-label=\"Answers\" tabindex=\"0\"><table>\n<thead><tr><th>Status, or why there was none</th>\
                  <th class=\"n\">Count</th></tr></thead>\n<tbody>\n";
        for (status, count) in &self.statuses {
            let _ = writeln!(html, "<tr><td>{status}</td><td class=\"n\">{count}</td></tr>");
        }
        for (failure, count) in &self.failures {
            let _ =
                writeln!(html, "<tr><td class=\"failed\">{}</td><td class=\"n\">{count}</td></tr>", escape(failure));
        }
        *html += "</tbody>\n</table></div>\n<div class=\"scroll\" role=\"region\" aria-label=\"Times to an answer\" tabindex=\"0\"><table>\n<thead><tr><th>Question</th><th class=\"n\">Median</th>\
                  <th class=\"n\">9 of 10</th><th class=\"n\">99 of 100</th><th class=\"n\">Longest</th></tr></thead>\n<tbody>\n";
        for (question, times) in &self.latency_ms {
            let _ = write!(html, "<tr><td>{question}</td>");
            for time in times {
                let _ = write!(html, "<td class=\"n\">{} ms</td>", shown(*time));
            }
            *html += "</tr>\n";
        }
        *html += "</tbody>\n</table></div>\n";
    }

    fn add_drill(&self, html: &mut String) {
        if self.drill.is_empty() {
            return;
        }
        *html += "<h2>The drill</h2>\n<div class=\"scroll\" role=\"region\" aria-label=\"Commands of the drill\" tabindex=\"0\"><table>\n<thead><tr><th class=\"n\">At</th><th>What</th><th>Command</th>\
                  <th>Ended</th></tr></thead>\n<tbody>\n";
        for struck in &self.drill {
            let class = if struck.done { "held" } else { "failed" };
            let _ = writeln!(
                html,
                "<tr><td class=\"n\">{:.1} s</td><td>{}</td><td><code>{}</code></td><td class=\"{class}\">{}, {} s</td></tr>",
                struck.at,
                escape(&struck.name),
                escape(&struck.command),
                escape(&struck.ended),
                shown(struck.took),
            );
        }
        *html += "</tbody>\n</table></div>\n";
    }

    fn add_cost(&self, html: &mut String) {
        let bill = &self.cost.bill;
        let _ = writeln!(
            html,
            "<h2>Cost on AWS</h2>\n<p class=\"sub\">For the time that it lasted, with {}. Estimates: {}.</p>\n<div class=\"scroll\" role=\"region\" aria-label=\"Costs\" tabindex=\"0\"><table>\n<tbody>",
            escape(&self.cost.node),
            escape(self.cost.prices),
        );
        let rows = [
            ("Lambda", bill.lambda),
            ("Load balancer", bill.load_balancer),
            ("Data out", bill.data_out),
            ("Valkey", bill.valkey),
            ("Between zones", bill.between_zones),
            ("S3", bill.s3),
            ("Secrets, KMS key and alarms", bill.kept),
            ("In all", self.cost.sum),
            ("With a web ACL, more", bill.web_acl),
            ("With a log line a request, more", bill.request_log),
        ];
        for (name, dollars) in rows {
            let _ = writeln!(
                html,
                "<tr><td>{name}</td><td class=\"n\">${dollars:.4}</td><td>{}</td></tr>",
                escape(self.cost.prices)
            );
        }
        *html += "</tbody>\n</table></div>\n";
    }

    fn add_crowd(&self, html: &mut String) {
        *html += "<h2>The crowd</h2>\n<div class=\"scroll\" role=\"region\" aria-label=\"Habits of the crowd\" tabindex=\"0\"><table>\n<tbody>\n";
        if let Ok(serde_json::Value::Object(habits)) = serde_json::to_value(&self.scene.habits) {
            for (name, value) in habits {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let name = name.replace('_', " ");
                let _ = writeln!(html, "<tr><td>{}</td><td class=\"n\">{}</td></tr>", escape(&name), escape(&value));
            }
        }
        *html += "</tbody>\n</table></div>\n";
    }
}

/// An outcome, as a class of the styles and for people: never by color alone.
pub(super) const fn outcome(verdict: &Verdict) -> (&'static str, &'static str) {
    match verdict.outcome {
        Outcome::Held => ("held", "\u{2713} held"),
        Outcome::Failed => ("failed", "\u{2717} failed"),
        Outcome::Unjudged => ("unjudged", "? not known"),
        Outcome::Told => ("told", "told"),
    }
}
