//! What a rehearsal shows: figures, and whether they are within limits.

mod crowding;
mod limit;
mod order;
mod promise;

use serde::Serialize;

pub use crowding::{Crowding, crowding_of};
pub use limit::FailIf;
pub use order::{Order, order_of};
pub use promise::{Promises, promises_of};

use crate::cost::COST_TITLE;

/// A figure that a report has.
#[derive(Debug, Clone, Copy)]
pub struct Figure {
    /// Its name in JSON and in limits.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it is counted in.
    pub unit: &'static str,
    /// What it fails above, unless a limit says otherwise: what the gate promises.
    pub most: Option<f64>,
}

const fn told(name: &'static str, title: &'static str, unit: &'static str) -> Figure {
    Figure { name, title, unit, most: None }
}

const fn promised(name: &'static str, title: &'static str, unit: &'static str, most: f64) -> Figure {
    Figure { name, title, unit, most: Some(most) }
}

/// Largest share of failed requests with which a rehearsal still says something about the line.
const FAILED_MOST: f64 = 0.01;

/// All figures, in the order of a report.
pub const FIGURES: [Figure; 35] = [
    promised("overshoot", "People in at once, beyond the quota", "people", 0.0),
    promised("tau", "Order of admission against order of arrival (Kendall tau, 0 is the same)", "", 0.0),
    promised("overtaking_seconds", "Worst overtaking: by how much later somebody came who was let in first", "s", 0.0),
    promised(
        "places_lost",
        "Places lost: the session changed, the arrival moved back or the position rose",
        "times",
        0.0,
    ),
    promised("never_in", "People who stayed to the end and were never let in", "people", 0.0),
    promised("evicted", "People whose visit the gate ended while they were shopping", "people", 0.0),
    promised("origin_overshoot", "People at the origin at once, beyond the quota, by its access log", "people", 0.0),
    promised("origin_uninvited", "People whom the origin served though the gate had told them to wait", "people", 0.0),
    promised("failed_share", "Share of requests without an answer of a gate", "share", FAILED_MOST),
    promised("drill_failures", "Commands of the drill that failed, or were never run", "commands", 0.0),
    told("most_inside", "Most people in at once", "people"),
    told("use_of_places", "Use of the places while somebody waited", "share"),
    told("refill_p50_ms", "From a free place to the next visitor who is in, median", "ms"),
    told("refill_p99_ms", "The same, 99 of 100", "ms"),
    told("wait_p50", "Wait of those who stayed, median", "s"),
    told("wait_p90", "The same, 9 of 10", "s"),
    told("wait_longest", "The longest", "s"),
    told("promise_kept", "Share who waited no longer than the p90 they were told first (90 % is right)", "share"),
    told(
        "promise_inside",
        "Share who waited between the p50 and the p90 they were told first (40 % is right)",
        "share",
    ),
    told("promise_bias", "How much longer than the p50 they were told first people waited, median", "share"),
    told("later_promise_kept", "Share within the p90 of a promise two minutes later", "share"),
    told("later_promise_bias", "How much longer than the p50 of a promise two minutes later", "share"),
    told("latency_p50_ms", "Time to an answer, median", "ms"),
    told("latency_p99_ms", "The same, 99 of 100", "ms"),
    told("server_errors", "Answers with a status of 500 or more", "answers"),
    told("requests", "Requests", "requests"),
    told("requests_per_second_most", "Most requests in one second", "requests"),
    told(
        "lambda_concurrency",
        "Lambda concurrency that the gate needs at that rate: a unit for every 10 a second",
        "units",
    ),
    told("requests_per_visitor_minute", "Requests per minute of a visitor", "requests"),
    told("bytes_per_visitor", "Bytes sent and answered per visitor", "bytes"),
    told("store_commands_per_request", "Commands of the store per request", "commands"),
    told("store_bytes_per_visitor", "Memory of the store per visitor present", "bytes"),
    told("cost", COST_TITLE, "USD"),
    told("lateness_p99_ms", "How late this machine sent what it was to send, 99 of 100", "ms"),
    told("visitors", "People who came", "people"),
];

/// How a figure stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Within its limits.
    Held,
    /// Beyond one of them.
    Failed,
    /// There is a limit, and nothing to hold against it.
    Unjudged,
    /// There is no limit.
    Told,
}

/// A figure, held against its limits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// The figure's name.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it is counted in.
    pub unit: &'static str,
    /// The figure; `None` where it could not be taken.
    pub value: Option<f64>,
    /// What it fails if.
    pub fails_if: Vec<String>,
    /// How it stands.
    pub outcome: Outcome,
    /// Whether a limit that was asked for makes the whole fail.
    #[serde(skip)]
    pub breaks: bool,
}

/// Figures by their names.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    known: Vec<(&'static str, f64)>,
    /// What must be known, whether anybody asks for it or not.
    required: Vec<&'static str>,
}

impl Figures {
    /// A report without this figure does not hold.
    pub fn require(&mut self, name: &'static str) {
        debug_assert!(FIGURES.iter().any(|figure| figure.name == name), "{name}");
        self.required.push(name);
    }

    /// Notes a figure; what is not known is left out.
    pub fn note(&mut self, name: &'static str, value: Option<f64>) {
        debug_assert!(FIGURES.iter().any(|figure| figure.name == name), "{name}");
        self.known.extend(value.filter(|value| value.is_finite()).map(|value| (name, value)));
    }

    /// A figure.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<f64> {
        self.known.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    /// Holds every figure against its limits: those that were asked for, in place of its own.
    #[must_use]
    pub fn judge(&self, limits: &[FailIf]) -> Vec<Verdict> {
        FIGURES.iter().filter_map(|figure| self.verdict(figure, limits)).collect()
    }

    fn verdict(&self, figure: &Figure, limits: &[FailIf]) -> Option<Verdict> {
        let value = self.value(figure.name);
        let asked: Vec<FailIf> = limits.iter().filter(|limit| limit.name == figure.name).cloned().collect();
        let is_asked = !asked.is_empty() || self.required.contains(&figure.name);
        let own = figure.most.map(|number| FailIf { name: figure.name.to_owned(), above: true, number });
        let limits: Vec<FailIf> = if asked.is_empty() { own.into_iter().collect() } else { asked };
        let outcome = match value {
            _ if limits.is_empty() => Outcome::Told,
            None => Outcome::Unjudged,
            Some(value) if limits.iter().any(|limit| limit.fails(value)) => Outcome::Failed,
            Some(_) => Outcome::Held,
        };
        // What was not taken, and nobody asked for, is no part of the report.
        if value.is_none() && !is_asked {
            return None;
        }
        let breaks = outcome == Outcome::Failed || (outcome == Outcome::Unjudged && is_asked);
        let fails_if = limits.iter().map(ToString::to_string).collect();
        let Figure { name, title, unit, .. } = *figure;
        Some(Verdict { name, title, unit, value, fails_if, outcome, breaks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_gate_promises_fails_unasked_and_what_is_asked_for_must_be_known() {
        let mut figures = Figures::default();
        figures.note("overshoot", Some(2.0));
        figures.note("use_of_places", Some(0.8));
        let outcome = |verdicts: &[Verdict], name: &str| {
            verdicts.iter().find(|verdict| verdict.name == name).map(|verdict| (verdict.outcome, verdict.breaks))
        };
        let unasked = figures.judge(&[]);
        assert_eq!(outcome(&unasked, "overshoot"), Some((Outcome::Failed, true)));
        assert_eq!(outcome(&unasked, "use_of_places"), Some((Outcome::Told, false)));
        assert_eq!(outcome(&unasked, "tau"), None, "nothing is known, and nobody asked");
        let limits = ["overshoot>5", "use_of_places<0.9", "tau>0"].map(|limit| limit.parse().unwrap());
        let asked = figures.judge(&limits);
        assert_eq!(outcome(&asked, "overshoot"), Some((Outcome::Held, false)));
        assert_eq!(outcome(&asked, "use_of_places"), Some((Outcome::Failed, true)));
        assert_eq!(outcome(&asked, "tau"), Some((Outcome::Unjudged, true)));
        figures.require("tau");
        assert_eq!(outcome(&figures.judge(&[]), "tau"), Some((Outcome::Unjudged, true)), "no pass from missing data");
    }

    #[test]
    fn a_rehearsal_whose_requests_fail_does_not_hold() {
        for (share, outcome) in [(0.84, Outcome::Failed), (0.011, Outcome::Failed), (0.009, Outcome::Held)] {
            let mut figures = Figures::default();
            figures.note("failed_share", Some(share));
            assert_eq!(figures.judge(&[])[0].outcome, outcome, "{share}");
        }
    }
}
