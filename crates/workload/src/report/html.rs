//! Renders reports as self-contained HTML pages without scripts.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Value, context};

use super::chart::{Chart, Line};
use super::{Comparison, Report, measured, number};

const TEMPLATES: [(&str, &str); 4] = [
    ("page.css", include_str!("templates/page.css")),
    ("page.html", include_str!("templates/page.html")),
    ("report.html", include_str!("templates/report.html")),
    ("comparison.html", include_str!("templates/comparison.html")),
];

#[expect(clippy::expect_used, reason = "the templates are part of the program, and tests render them")]
fn render(template: &str, context: Value) -> String {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|name| {
        if name.strip_suffix(".html").is_some() { AutoEscape::Html } else { AutoEscape::None }
    });
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).build().expect("a valid syntax"));
    environment.add_filter("measured", |value: f64, unit: String| measured(value, &unit));
    environment.add_filter("number", number);
    for (name, text) in TEMPLATES {
        environment.add_template(name, text).expect("a valid template");
    }
    let template = environment.get_template(template).expect("a known template");
    template.render(context).expect("the template renders")
}

impl Report {
    /// The report as an HTML page.
    pub fn to_html(&self) -> String {
        let title = match self.run.kind {
            "plan" => format!("Plan for {} visitors", self.run.visitors),
            _ => format!("Load test with {} visitors", self.run.visitors),
        };
        let context = context! {
            title, report => Value::from(Serde(self)), passed => self.passed(), summary => self.summary(),
            charts => self.charts(),
        };
        render("report.html", context)
    }

    fn charts(&self) -> String {
        let series = &self.series;
        let every = series.every;
        let line = |name: &str, values: &[f64]| Line::over_time(name, every, values);
        let gaps = |name: &str, values: &[Option<f64>]| Line::with_gaps(name, every, values.iter().copied());
        let mut active = vec![line("active, measured", &series.active)];
        if !series.reported_active.is_empty() {
            active.push(gaps("active, reported by the gate", &series.reported_active));
        }
        active.extend(self.run.quota.map(|quota| Line::level("quota", self.run.seconds, quota as f64)));
        let wait = |name: &str, which: usize| Line::through(name, self.waits.iter().map(|step| (step[0], step[which])));
        let mut charts = vec![
            Chart::new("Waiting visitors", "visitors", vec![line("waiting", &series.waiting)]),
            Chart::new("Active visitors", "visitors", active),
            Chart::new(
                "Arrivals and admissions",
                "per second",
                vec![line("arrivals", &series.arrivals), line("admissions", &series.admissions)],
            ),
            Chart::new("Wait by arrival", "seconds", vec![wait("median", 1), wait("p90", 2)]),
            Chart::new(
                "Requests",
                "per second, mean",
                vec![line("requests", &series.requests), line("failed", &series.failures)],
            ),
            Chart::new(
                "Latency",
                "milliseconds",
                vec![gaps("median", &series.latency_p50), gaps("p99", &series.latency_p99)],
            ),
        ];
        if !series.reconnects.is_empty() {
            charts.push(Chart::new(
                "Streams opened again",
                "per second",
                vec![line("streams opened again", &series.reconnects)],
            ));
        }
        charts.iter().map(Chart::draw).collect()
    }
}

impl Comparison {
    /// The comparison as an HTML page.
    pub fn to_html(&self) -> String {
        let run = self.reports().first().map(|report| &report.run);
        let context = context! {
            title => format!("Plans for {} visitors", run.map_or(0, |run| run.visitors)),
            run => Value::from(Serde(run)), heads => self.heads().collect::<Vec<_>>(), caveat => self.caveat(),
            rows => self.rows().collect::<Vec<_>>(), charts => self.charts(),
        };
        render("comparison.html", context)
    }

    fn charts(&self) -> String {
        let reports = self.reports();
        let over_time = |of: fn(&Report) -> &[f64]| {
            reports.iter().map(|report| Line::over_time(report.label(), report.series.every, of(report))).collect()
        };
        let waits = reports
            .iter()
            .map(|report| Line::through(report.label(), report.waits.iter().map(|step| (step[0], step[1]))));
        let charts = [
            Chart::new("Waiting visitors", "visitors", over_time(|report| &report.series.waiting)),
            Chart::new("Wait by arrival", "seconds, median", waits.collect()),
            Chart::new("Requests", "per second, mean", over_time(|report| &report.series.requests)),
        ];
        charts.iter().map(Chart::draw).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_escaped() {
        let run = context! {
            arrivals => "a < b", behavior => context! { shopping => "1 min" }, seed => 7, version => "0.1.0", kind => "plan",
        };
        let (script, none) = ("<script>alert(1)</script>", Vec::<String>::new());
        let given =
            context! { title => script, run, heads => vec![script], rows => none, caveat => "c & \"d\"", charts => "" };
        let page = render("comparison.html", given);
        assert!(page.contains("&lt;script&gt;alert(1)") && !page.contains("<script>"), "{page}");
        assert!(page.contains("a &lt; b") && page.contains("c &amp; &quot;d&quot;"), "{page}");
    }
}
