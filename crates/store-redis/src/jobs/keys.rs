//! Names of the keys of job queues.

use fred::types::Key;
use vestibule_core::TenantId;
use vestibule_core::jobs::{JobQueueId, JobQueueSettings};

/// Builds the names of the keys of a job queue. They name its tenant, too, so that nobody meets what a removed job queue of another
/// tenant has left. Neither ID contains `{`, `}` or `:`, so they can't change the hash tag; the tag of a queue contains no `:`, so the
/// keys of both differ.
#[derive(Debug, Clone, Copy)]
pub struct JobKeys<'a> {
    tenant: &'a TenantId,
    job_queue: &'a JobQueueId,
}

impl<'a> JobKeys<'a> {
    /// The keys of this job queue.
    pub const fn of(settings: &'a JobQueueSettings) -> Self {
        Self { tenant: &settings.tenant, job_queue: &settings.id }
    }

    fn named(self, name: &str) -> String {
        format!("vestibule:{{jobs:{}:{}}}:{name}", self.tenant, self.job_queue)
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
        let (tenant, job_queue) = (&"acme".parse().unwrap(), &"orders.fifo".parse().unwrap());
        let names = JobKeys { tenant, job_queue }.all().map(|key| key.into_string().unwrap());
        assert_eq!(
            names,
            [
                "vestibule:{jobs:acme:orders.fifo}:ready",
                "vestibule:{jobs:acme:orders.fifo}:groups",
                "vestibule:{jobs:acme:orders.fifo}:leased",
                "vestibule:{jobs:acme:orders.fifo}:unfinished",
                "vestibule:{jobs:acme:orders.fifo}:completed",
                "vestibule:{jobs:acme:orders.fifo}:dead",
                "vestibule:{jobs:acme:orders.fifo}:jobs",
                "vestibule:{jobs:acme:orders.fifo}:payloads",
                "vestibule:{jobs:acme:orders.fifo}:state",
                "vestibule:{jobs:acme:orders.fifo}:progress",
                "vestibule:{jobs:acme:orders.fifo}:delivered",
            ]
        );
    }
}
