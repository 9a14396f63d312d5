//! What a report says. This is its JSON; the page is drawn from the same.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use crate::cost::{Bill, CAVEAT, Load};
use crate::crowd::{Crowd, Habits};
use crate::faults::Struck;
use crate::figures::Account;
use crate::moment::Moment;
use crate::observe::Observation;
use crate::origin_log::OriginCounts;
use crate::tally::Tally;
use crate::verdict::{FailIf, Outcome, Promises, Verdict};
use crate::visitor::{Question, Story};

/// Most points of a curve.
const POINTS_MAX: usize = 600;
/// Steps of the curve of waits by arrival.
const WAIT_STEPS: usize = 60;

/// A report.
#[derive(Debug, Serialize)]
pub struct Report {
    /// What was played.
    pub scene: Scene,
    /// The figures, and how they stand.
    pub verdicts: Vec<Verdict>,
    /// Curves over time.
    pub series: Series,
    /// Waits of those who stayed, by when they came: seconds after the beginning, median and 9 of 10.
    pub waits: Vec<[f64; 3]>,
    /// Promises, the first ones and those of two minutes later.
    pub promises: [Option<Promises>; 2],
    /// Answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Requests without an answer of a gate, by the reason.
    pub failures: BTreeMap<String, u64>,
    /// How long answers took, by the question: median, 9 of 10, 99 of 100 and the longest, in milliseconds.
    pub latency_ms: BTreeMap<&'static str, [f64; 4]>,
    /// What went wrong by order.
    pub drill: Vec<Struck>,
    /// What the store and the gate's metrics said.
    pub observed: Observation,
    /// What the origin's access log says.
    pub origin: Option<OriginCounts>,
    /// What it costs.
    pub cost: Cost,
    /// What whoever reads this should know.
    pub remarks: Vec<String>,
}

/// What was played.
#[derive(Debug, Serialize)]
pub struct Scene {
    /// The version of the program.
    pub version: &'static str,
    /// `rehearse` or `plan`.
    pub kind: &'static str,
    /// Whom it asked.
    pub target: String,
    /// The seed.
    pub seed: u64,
    /// How many were to come.
    pub visitors: u32,
    /// When.
    pub arrivals: String,
    /// What they are like.
    pub habits: Habits,
    /// The quota, as far as it is known.
    pub quota: Option<u64>,
    /// How long it lasted, in seconds.
    pub seconds: f64,
    /// Why it ended.
    pub ended: String,
}

/// Curves, a value each `every` seconds.
#[derive(Debug, Default, Serialize)]
pub struct Series {
    /// Seconds between two values.
    pub every: usize,
    /// People in line.
    pub waiting: Vec<f64>,
    /// People who are in, by what they went through.
    pub inside: Vec<f64>,
    /// People who are in, by the gate's own word; empty where it said nothing.
    pub active_told: Vec<Option<f64>>,
    /// Arrivals a second.
    pub arrivals: Vec<f64>,
    /// Admissions a second.
    pub admissions: Vec<f64>,
    /// Requests a second.
    pub requests: Vec<f64>,
    /// Requests a second without an answer of a gate.
    pub failures: Vec<f64>,
    /// Time to an answer, median, in milliseconds.
    pub latency_p50: Vec<Option<f64>>,
    /// 99 of 100.
    pub latency_p99: Vec<Option<f64>>,
}

/// What it costs, and by which prices.
#[derive(Debug, Serialize)]
pub struct Cost {
    /// Region and date of the prices, and that they have to be checked.
    pub prices: &'static str,
    /// The nodes of the store that it was reckoned with.
    pub node: String,
    /// Dollars.
    pub bill: Bill,
    /// Dollars in all.
    pub sum: f64,
}

impl Cost {
    fn of(bill: &Bill, load: &Load) -> Self {
        Self { prices: CAVEAT, node: load.node.clone(), bill: bill.clone(), sum: bill.sum() }
    }
}

impl Scene {
    /// The scene of a crowd.
    #[must_use]
    pub fn of(
        kind: &'static str,
        target: String,
        crowd: &Crowd,
        quota: Option<u64>,
        lasted: Moment,
        ended: &str,
    ) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            kind,
            target,
            seed: crowd.seed,
            visitors: crowd.visitors,
            arrivals: crowd.arrivals.to_string(),
            habits: crowd.habits.clone(),
            quota,
            seconds: lasted.seconds(),
            ended: ended.to_owned(),
        }
    }
}

impl Report {
    /// The report of an account.
    #[must_use]
    pub fn new(scene: Scene, account: &Account, stories: &[Story], tally: &Tally, limits: &[FailIf]) -> Self {
        Self {
            verdicts: account.figures.judge(limits),
            series: Series::of(account, tally, scene.seconds as usize + 1),
            waits: waits_by_arrival(stories),
            promises: account.promises,
            statuses: tally.statuses.clone(),
            failures: tally.failures.clone(),
            latency_ms: latency_by_question(tally),
            drill: Vec::new(),
            observed: Observation::default(),
            origin: None,
            cost: Cost::of(&account.bill, &account.load),
            remarks: Vec::new(),
            scene,
        }
    }

    /// Whether it holds: no limit was broken, and all that was asked for is known.
    #[must_use]
    pub fn holds(&self) -> bool {
        !self.verdicts.iter().any(|verdict| verdict.breaks)
    }

    /// The verdict on a figure.
    #[must_use]
    pub fn verdict(&self, name: &str) -> Option<&Verdict> {
        self.verdicts.iter().find(|verdict| verdict.name == name)
    }

    /// The report as JSON.
    #[must_use]
    #[expect(clippy::expect_used, clippy::missing_panics_doc, reason = "numbers, texts and lists are always JSON")]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a report is JSON")
    }

    /// The verdicts as lines for a terminal.
    #[must_use]
    pub fn to_text(&self) -> String {
        let line = |verdict: &Verdict| {
            let mark = match verdict.outcome {
                Outcome::Held => "held",
                Outcome::Failed => "FAILED",
                Outcome::Unjudged => "not known",
                Outcome::Told => "",
            };
            let value = verdict.value.map_or_else(|| "-".to_owned(), |value| measured(value, verdict.unit));
            format!("{mark:>9}  {value:>14}  {}\n", verdict.title)
        };
        let verdicts: String = self.verdicts.iter().map(line).collect();
        format!("{}\n\n{verdicts}", self.summary())
    }

    /// What came of it, in a few words.
    #[must_use]
    pub fn summary(&self) -> String {
        let value = |name: &str| self.verdict(name).and_then(|verdict| verdict.value);
        let failed: Vec<&str> =
            self.verdicts.iter().filter(|verdict| verdict.breaks).map(|verdict| verdict.title).collect();
        let mut text = match &failed[..] {
            [] => "It held".to_owned(),
            titles => format!("It did not hold: {}", titles.join("; ")),
        };
        if let (Some(half), Some(longest)) = (value("wait_p50"), value("wait_longest")) {
            let (half, longest) = (measured(half, "s"), measured(longest, "s"));
            let _ = write!(text, ". Half of those who stayed waited {half} or less, nobody longer than {longest}");
        }
        if let Some(share) = value("failed_share").filter(|share| *share > 0.0) {
            let _ = write!(text, ". {} of the requests failed", measured(share, "share"));
        }
        text + "."
    }
}

/// A figure for people, with its unit: `4 h 32 min`, `99 %`, `1.2 MB`.
#[must_use]
pub fn measured(value: f64, unit: &str) -> String {
    let whole = |seconds: f64, large: f64, names: [&str; 2]| {
        let (more, rest) = ((seconds / large).floor(), (seconds % large / (large / 60.0)).floor());
        if rest > 0.0 { format!("{more} {} {rest} {}", names[0], names[1]) } else { format!("{more} {}", names[0]) }
    };
    match unit {
        "s" if value >= 3600.0 => whole(value, 3600.0, ["h", "min"]),
        "s" if value >= 120.0 => whole(value.round(), 60.0, ["min", "s"]),
        "s" if value > 0.0 && value < 1.0 => measured(value * 1000.0, "ms"),
        "ms" if value >= 10_000.0 => measured(value / 1000.0, "s"),
        "share" => format!("{} %", shown((value * 1e4).round() / 100.0)),
        "bytes" if value >= 1e6 => format!("{} MB", shown((value / 1e5).round() / 10.0)),
        "bytes" if value >= 1e4 => format!("{} kB", shown((value / 100.0).round() / 10.0)),
        "" => shown(value),
        _ => format!("{} {unit}", shown(value)),
    }
}

/// A number for people: as many digits as say something.
#[must_use]
pub fn shown(value: f64) -> String {
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
    fn of(account: &Account, tally: &Tally, seconds: usize) -> Self {
        let every = seconds.div_ceil(POINTS_MAX).max(1);
        let crowding = &account.crowding;
        let counts = |of: &[u32]| -> Vec<f64> {
            of.chunks(every)
                .map(|chunk| chunk.iter().map(|count| f64::from(*count)).sum::<f64>() / chunk.len() as f64)
                .collect()
        };
        let chunks = || tally.seconds.chunks(every);
        let quantiles = |share: f64| -> Vec<Option<f64>> {
            chunks()
                .map(|chunk| {
                    let mut all = crate::histogram::Histogram::default();
                    chunk.iter().filter_map(|second| second.latency.as_deref()).for_each(|latency| all.merge(latency));
                    all.quantile_ms(share)
                })
                .collect()
        };
        let told: Vec<Option<f64>> = chunks()
            .map(|chunk| chunk.iter().filter_map(|second| second.active_told).max().map(|most| most as f64))
            .collect();
        let is_told = told.iter().any(Option::is_some);
        let mean = |of: &dyn Fn(&crate::tally::Second) -> f64| -> Vec<f64> {
            chunks().map(|chunk| chunk.iter().map(of).sum::<f64>() / chunk.len() as f64).collect()
        };
        let was_timed = !account.latency.is_empty();
        Self {
            every,
            waiting: counts(&crowding.waiting),
            inside: counts(&crowding.inside),
            active_told: if is_told { told } else { Vec::new() },
            arrivals: counts(&crowding.arrivals),
            admissions: counts(&crowding.admissions),
            requests: mean(&|second| f64::from(second.requests)),
            failures: mean(&|second| f64::from(second.failures)),
            latency_p50: if was_timed { quantiles(0.5) } else { Vec::new() },
            latency_p99: if was_timed { quantiles(0.99) } else { Vec::new() },
        }
    }
}

fn latency_by_question(tally: &Tally) -> BTreeMap<&'static str, [f64; 4]> {
    let timed = Question::ALL.into_iter().filter_map(|question| {
        let latency = &tally.latency[question.index()];
        let quantile = |share| latency.quantile_ms(share);
        Some((question.name(), [quantile(0.5)?, quantile(0.9)?, quantile(0.99)?, latency.longest_ms()?]))
    });
    timed.collect()
}

/// Median and p90 of the waits of those who came in each of some steps of time.
fn waits_by_arrival(stories: &[Story]) -> Vec<[f64; 3]> {
    let stayed = stories.iter().filter(|story| story.stayed());
    let mut waits: Vec<(Moment, f64)> = stayed.filter_map(|story| Some((story.came?, story.wait()?))).collect();
    waits.sort_by_key(|(came, _)| *came);
    let size = waits.len().div_ceil(WAIT_STEPS).max(1);
    let step = |chunk: &[(Moment, f64)]| {
        let mut sorted: Vec<f64> = chunk.iter().map(|(_, wait)| *wait).collect();
        sorted.sort_by(f64::total_cmp);
        [chunk[chunk.len() / 2].0.seconds(), sorted[sorted.len() / 2], sorted[sorted.len() * 9 / 10]]
    };
    waits.chunks(size).map(step).collect()
}

/// Lateness beyond which the crowd was not what it was to be.
const LATE_MS: f64 = 1000.0;

impl Report {
    /// Says what whoever reads this should know.
    pub fn remark(&mut self) {
        let mut remarks = Vec::new();
        if self.scene.quota.is_none() {
            remarks.push("The quota is not known, so nothing is said of it: give --quota, or --metrics.".to_owned());
        }
        if self.verdict("lateness_p99_ms").and_then(|verdict| verdict.value).is_some_and(|late| late > LATE_MS) {
            remarks.push(
                "This machine could not send all requests in time, so the crowd was slower than it was to be: give it more \
                 --connections, more processors, or fewer visitors."
                    .to_owned(),
            );
        }
        if let Some(trouble) = &self.observed.trouble {
            remarks.push(format!(
                "{} of {} looks at the store and the metrics failed, the first with: {trouble}",
                self.observed.looks - self.observed.answered,
                self.observed.looks
            ));
        }
        for struck in self.drill.iter().filter(|struck| !struck.done) {
            remarks.push(format!("{:.0} s: {} failed ({})", struck.at, struck.name, struck.ended));
        }
        self.remarks.append(&mut remarks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_units_that_people_read() {
        for (value, unit, text) in [
            (16_320.0, "s", "4 h 32 min"),
            (3600.0, "s", "1 h"),
            (125.0, "s", "2 min 5 s"),
            (32.1, "s", "32.1 s"),
            (0.003, "s", "3 ms"),
            (20_835.0, "ms", "20.8 s"),
            (0.99, "share", "99 %"),
            (45_573.0, "bytes", "45.6 kB"),
            (12.0, "people", "12 people"),
            (0.0, "", "0"),
        ] {
            assert_eq!(measured(value, unit), text, "{value} {unit}");
        }
    }
}
