//! Names of the keys of job queues.

use std::fmt::Write as _;

use fred::types::Key;
use vestibule_core::jobs::{DeduplicationKey, JobQueueId};

/// Bytes of a digest in the name of a key. Two jobs of one digest can only be found on purpose, among one's own jobs.
const DIGEST_BYTES: usize = 16;

/// Builds the names of the keys of a job queue. Its ID contains none of `{`, `}` and `:`, so it can't change the hash tag; the
/// tag of a queue contains no `:`, so the keys of both differ.
#[derive(Debug, Clone, Copy)]
pub struct JobKeys<'a>(&'a JobQueueId);

impl<'a> JobKeys<'a> {
    /// The keys of this job queue.
    #[must_use]
    pub const fn of(job_queue: &'a JobQueueId) -> Self {
        Self(job_queue)
    }

    fn named(self, name: &str) -> String {
        format!("vestibule:{{jobs:{}}}:{name}", self.0)
    }

    /// All keys but those of deduplication, in the order expected by scripts:
    ///
    /// - `ready`: sorted set, job that can start once it is due -> that time; of a group only the first job.
    /// - `groups`: sorted set, group and job -> 0.
    /// - `leased`: sorted set, leased job -> expiry of the lease.
    /// - `unfinished`: sorted set, waiting or leased job -> acceptance.
    /// - `completed`, `dead`: sorted sets, job -> its end.
    /// - `jobs`: hash, job ID -> record.
    /// - `payloads`: hash, job ID -> payload.
    /// - `state`: hash, last sequence number, size of all payloads, rate bucket, pause, counters.
    #[must_use]
    pub fn all(self) -> [Key; 9] {
        let names = ["ready", "groups", "leased", "unfinished", "completed", "dead", "jobs", "payloads", "state"];
        names.map(|name| self.named(name).into())
    }

    /// String, expires: ID of the first job with this deduplication key, and its acceptance.
    #[must_use]
    pub fn deduplication(self, key: &DeduplicationKey) -> String {
        let digest = key.digest();
        let hex = digest.iter().take(DIGEST_BYTES).fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        });
        self.named(&format!("dedup:{hex}"))
    }
}

#[cfg(test)]
mod tests {
    use vestibule_core::jobs::{JobId, NewJob, Payload};

    use super::*;

    #[test]
    fn key_names_are_stable() {
        let job_queue: JobQueueId = "orders.fifo".parse().unwrap();
        let names = JobKeys::of(&job_queue).all().map(|key| key.into_string().unwrap());
        assert_eq!(
            names,
            [
                "vestibule:{jobs:orders.fifo}:ready",
                "vestibule:{jobs:orders.fifo}:groups",
                "vestibule:{jobs:orders.fifo}:leased",
                "vestibule:{jobs:orders.fifo}:unfinished",
                "vestibule:{jobs:orders.fifo}:completed",
                "vestibule:{jobs:orders.fifo}:dead",
                "vestibule:{jobs:orders.fifo}:jobs",
                "vestibule:{jobs:orders.fifo}:payloads",
                "vestibule:{jobs:orders.fifo}:state",
            ]
        );
        let job = NewJob {
            id: JobId::from_bytes([0; JobId::SIZE]),
            group: Some("user-17".parse().unwrap()),
            deduplication_id: Some("change-4711".parse().unwrap()),
            delay_seconds: 0,
            user_id: None,
            payload: Payload { content_type: String::new(), bytes: Vec::new() },
        };
        let key = JobKeys::of(&job_queue).deduplication(&job.deduplication_key().unwrap());
        // printf 'user-17\0\1change-4711' | sha256sum
        assert_eq!(key, "vestibule:{jobs:orders.fifo}:dedup:fe4670dacd783880024eeecdab0597d5");
    }
}
