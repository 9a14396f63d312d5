//! Names of the keys of job queues.

use fred::types::Key;
use vestibule_core::jobs::JobQueueId;

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

    /// All keys but those that expire, which scripts name after these, in the order expected by scripts:
    ///
    /// - `ready`: sorted set, job that can start once it is due -> that time; of a group only the first job.
    /// - `groups`: sorted set, group and job -> 0.
    /// - `leased`: sorted set, leased job -> expiry of the lease.
    /// - `unfinished`: sorted set, waiting or leased job -> acceptance.
    /// - `completed`, `dead`: sorted sets, job -> its end.
    /// - `jobs`: hash, job ID -> record.
    /// - `payloads`: hash, job ID -> payload; of a completed job headers and body of the response.
    /// - `state`: hash, last sequence number, size of all payloads and of what is kept, rate bucket, pause, counters.
    /// - `progress`: hash, job ID and number modulo the number that is kept -> time and message.
    /// - `delivered`: sorted set, job whose response was delivered and is not removed yet -> that time.
    #[must_use]
    pub fn all(self) -> [Key; 11] {
        let names = [
            "ready",
            "groups",
            "leased",
            "unfinished",
            "completed",
            "dead",
            "jobs",
            "payloads",
            "state",
            "progress",
            "delivered",
        ];
        names.map(|name| self.named(name).into())
    }
}

#[cfg(test)]
mod tests {
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
                "vestibule:{jobs:orders.fifo}:progress",
                "vestibule:{jobs:orders.fifo}:delivered",
            ]
        );
    }
}
