//! What one round of the purge did.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use vestibule_core::line::PurgeReport;
use vestibule_core::{LastPurge, Micros, QueueId};

/// Most queues that a round's JSON tells of one by one: those with the most work.
pub const TOLD_MAX: usize = 100;

/// What one round did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Round {
    /// Queues looked at.
    pub queues: u64,
    /// Queues that could not be purged.
    pub failed: u64,
    /// Lapsed sessions removed.
    pub expired: u64,
    /// Old tombstones removed.
    pub tombstones: u64,
    /// Sessions admitted into the places that became free.
    pub admitted: u64,
    /// Whether the budget ended before the work did.
    pub unfinished: bool,
    /// How long it took.
    pub took: Duration,
    /// The queues in which there was something to do, or that could not be purged.
    pub of: BTreeMap<QueueId, Share>,
}

/// What a round did in one queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Share {
    /// Lapsed sessions removed.
    pub expired: u64,
    /// Old tombstones removed.
    pub tombstones: u64,
    /// Sessions admitted into the places that became free.
    pub admitted: u64,
    /// Whether the queue could not be purged.
    pub failed: bool,
}

impl Round {
    pub(crate) fn add(&mut self, queue: &QueueId, report: PurgeReport) {
        self.expired += report.expired;
        self.tombstones += report.tombstones;
        self.admitted += report.admitted;
        if report.expired + report.tombstones + report.admitted > 0 {
            let share = self.of.entry(queue.clone()).or_default();
            share.expired += report.expired;
            share.tombstones += report.tombstones;
            share.admitted += report.admitted;
        }
    }

    pub(crate) fn add_failure(&mut self, queue: &QueueId) {
        self.failed += 1;
        self.of.entry(queue.clone()).or_default().failed = true;
    }

    /// Whether there was nothing to do, and nothing went wrong.
    #[must_use]
    pub fn was_idle(&self) -> bool {
        self.of.is_empty() && self.failed == 0 && !self.unfinished
    }

    /// The round as the store keeps it.
    #[must_use]
    pub fn record(&self) -> LastPurge {
        LastPurge {
            at: Micros(0),
            took_ms: self.took.as_millis() as u64,
            queues: self.queues,
            failed: self.failed,
            expired: self.expired,
            tombstones: self.tombstones,
            admitted: self.admitted,
            unfinished: self.unfinished,
        }
    }

    /// The round as JSON: the sums, and the [`TOLD_MAX`] queues with the most work; `untold` is how many more there
    /// are.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut of: Vec<_> = self.of.iter().collect();
        of.sort_by_key(|(_, share)| {
            std::cmp::Reverse((share.failed, share.expired + share.tombstones + share.admitted))
        });
        let untold = of.len().saturating_sub(TOLD_MAX);
        let told: Vec<Value> = of.into_iter().take(TOLD_MAX).map(|(queue, share)| share.to_value(queue)).collect();
        json!({
            "queues": self.queues, "failed": self.failed, "expired": self.expired, "tombstones": self.tombstones,
            "admitted": self.admitted, "unfinished": self.unfinished, "took_ms": self.took.as_millis() as u64,
            "of": told, "untold": untold,
        })
    }
}

impl Share {
    fn to_value(self, queue: &QueueId) -> Value {
        json!({
            "queue": queue, "expired": self.expired, "tombstones": self.tombstones, "admitted": self.admitted,
            "failed": self.failed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_of_a_round_tells_of_the_queues_with_the_most_work_and_of_no_more_than_a_bound() {
        let mut round = Round { took: Duration::from_millis(1500), ..Round::default() };
        for number in 0..150_u64 {
            let queue: QueueId = format!("q-{number}").parse().unwrap();
            round.add(&queue, PurgeReport { expired: number, ..PurgeReport::default() });
        }
        round.add_failure(&"broken".parse().unwrap());
        let value = round.to_value();
        assert_eq!((&value["took_ms"], &value["expired"], &value["failed"]), (&json!(1500), &json!(11_175), &json!(1)));
        let told = value["of"].as_array().unwrap();
        assert_eq!((told.len(), &value["untold"]), (TOLD_MAX, &json!(50)), "the one without work is none of them");
        assert_eq!((&told[0]["queue"], &told[0]["failed"]), (&json!("broken"), &json!(true)));
        assert_eq!((&told[1]["queue"], &told[1]["expired"]), (&json!("q-149"), &json!(149)));
    }
}
