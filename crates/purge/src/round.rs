//! The result of one purge round.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use vestibule_core::line::PurgeReport;
use vestibule_core::{LastPurge, QueueId};

/// Maximum number of queues that are listed in the JSON of a round: those with the most work.
pub const REPORTED_QUEUES_MAX: usize = 100;

/// The result of one round.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PurgeRound {
    /// The totals, as they are recorded in the store. The store sets the time.
    pub record: LastPurge,
    /// The queues in which something was removed or admitted, or that failed.
    pub by_queue: BTreeMap<QueueId, QueuePurge>,
}

/// The result of one round in one queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueuePurge {
    /// Expired sessions removed.
    pub expired: u64,
    /// Old tombstones removed.
    pub tombstones: u64,
    /// Sessions admitted to the slots that became free.
    pub admitted: u64,
    /// Whether the queue failed.
    pub failed: bool,
}

impl PurgeRound {
    pub(crate) fn add(&mut self, queue: &QueueId, report: PurgeReport) {
        self.record.expired += report.expired;
        self.record.tombstones += report.tombstones;
        self.record.admitted += report.admitted;
        if report.expired + report.tombstones + report.admitted > 0 {
            let queue_purge = self.by_queue.entry(queue.clone()).or_default();
            queue_purge.expired += report.expired;
            queue_purge.tombstones += report.tombstones;
            queue_purge.admitted += report.admitted;
        }
    }

    pub(crate) fn add_failure(&mut self, queue: &QueueId) {
        self.record.failed += 1;
        self.by_queue.entry(queue.clone()).or_default().failed = true;
    }

    /// Whether nothing was removed or admitted and nothing failed.
    pub fn was_idle(&self) -> bool {
        self.by_queue.is_empty() && self.record.failed == 0 && !self.record.unfinished
    }

    /// The round as JSON: the totals and, as `by_queue`, the [`REPORTED_QUEUES_MAX`] queues with the most work; `omitted`
    /// is the number of further queues.
    pub fn to_json(&self) -> Value {
        let mut queues: Vec<_> = self.by_queue.iter().collect();
        queues.sort_by_key(|(_, queue_purge)| {
            std::cmp::Reverse((queue_purge.failed, queue_purge.expired + queue_purge.tombstones + queue_purge.admitted))
        });
        let omitted = queues.len().saturating_sub(REPORTED_QUEUES_MAX);
        let reported: Vec<Value> = queues
            .into_iter()
            .take(REPORTED_QUEUES_MAX)
            .map(|(queue, queue_purge)| queue_purge.to_json(queue))
            .collect();
        let LastPurge { queues, failed, expired, tombstones, admitted, unfinished, took_ms, .. } = self.record;
        json!({
            "queues": queues, "failed": failed, "expired": expired, "tombstones": tombstones, "admitted": admitted,
            "unfinished": unfinished, "took_ms": took_ms, "by_queue": reported, "omitted": omitted,
        })
    }
}

impl QueuePurge {
    fn to_json(self, queue: &QueueId) -> Value {
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
    fn round_json_lists_the_busiest_queues_up_to_a_limit() {
        let mut round = PurgeRound::default();
        round.record.took_ms = 1500;
        for number in 0..150_u64 {
            let queue: QueueId = format!("q-{number}").parse().unwrap();
            round.add(&queue, PurgeReport { expired: number, ..PurgeReport::default() });
        }
        round.add_failure(&"broken".parse().unwrap());
        let value = round.to_json();
        assert_eq!((&value["took_ms"], &value["expired"], &value["failed"]), (&json!(1500), &json!(11_175), &json!(1)));
        let reported = value["by_queue"].as_array().unwrap();
        assert_eq!(
            (reported.len(), &value["omitted"]),
            (REPORTED_QUEUES_MAX, &json!(50)),
            "the queue without work is not listed"
        );
        assert_eq!((&reported[0]["queue"], &reported[0]["failed"]), (&json!("broken"), &json!(true)));
        assert_eq!((&reported[1]["queue"], &reported[1]["expired"]), (&json!("q-149"), &json!(149)));
    }
}
