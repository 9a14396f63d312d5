//! What is counted while a crowd plays: requests and answers, in all and by the second.

use std::collections::BTreeMap;

use crate::histogram::Histogram;
use crate::moment::Moment;
use crate::visitor::Question;

/// Most different failures that are told apart.
const FAILURES_MAX: usize = 40;

/// All that was counted.
#[derive(Debug, Default)]
pub struct Tally {
    /// By the second since the beginning.
    pub seconds: Vec<Second>,
    /// Answers by their status.
    pub statuses: BTreeMap<u16, u64>,
    /// Requests that got no answer of a gate, by the reason.
    pub failures: BTreeMap<String, u64>,
    /// How long answers took, by [`Question::ALL`].
    pub latency: [Histogram; Question::ALL.len()],
    /// How late requests were sent, since this side was busy.
    pub lateness: Histogram,
    /// Requests; in virtual time many of them are only counted.
    pub requests: f64,
    /// Bytes of requests.
    pub sent_bytes: u64,
    /// Bytes of answers.
    pub heard_bytes: u64,
}

/// One second.
#[derive(Debug, Clone, Default)]
pub struct Second {
    /// Requests sent in it.
    pub requests: f32,
    /// Of them without an answer of a gate.
    pub failures: u32,
    /// Most who were in, by the gate's own word; `None` if it said nothing.
    pub active_told: Option<u64>,
    /// How long answers took that were heard in it.
    pub latency: Option<Box<Histogram>>,
}

impl Tally {
    /// The second of this instant.
    pub fn second(&mut self, at: Moment) -> &mut Second {
        let second = at.second();
        if self.seconds.len() <= second {
            self.seconds.resize(second + 1, Second::default());
        }
        &mut self.seconds[second]
    }

    /// Counts a request.
    pub fn asked(&mut self, at: Moment) {
        self.requests += 1.0;
        self.second(at).requests += 1.0;
    }

    /// Counts an answer.
    pub fn answered(&mut self, at: Moment, question: Question, status: u16, took_us: u64) {
        *self.statuses.entry(status).or_default() += 1;
        self.latency[question.index()].add(took_us);
        self.second(at).latency.get_or_insert_default().add(took_us);
    }

    /// Counts a request without an answer of a gate.
    pub fn failed(&mut self, at: Moment, why: &str) {
        let known = self.failures.contains_key(why) || self.failures.len() < FAILURES_MAX;
        *self.failures.entry(if known { why } else { "others" }.to_owned()).or_default() += 1;
        self.second(at).failures += 1;
    }

    /// How long all answers took.
    #[must_use]
    pub fn latency_of_all(&self) -> Histogram {
        let mut all = Histogram::default();
        for latency in &self.latency {
            all.merge(latency);
        }
        all
    }

    /// Why most requests failed that did.
    #[must_use]
    pub fn main_cause(&self) -> Option<&str> {
        self.failures.iter().max_by_key(|(_, count)| **count).map(|(cause, _)| cause.as_str())
    }

    /// How many requests got no answer of a gate.
    #[must_use]
    pub fn failed_requests(&self) -> u64 {
        self.failures.values().sum()
    }
}
