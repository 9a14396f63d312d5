//! The store and the jobs, as the commands name them that work with both.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use vestibule_core::{PassSigner, Store};
use vestibule_records::RecordStore;
use vestibule_runtime::{JobQueues, are_jobs_in_sqs, open_jobs};
use vestibule_worker::{PublicUrl, Worker};

use crate::arguments::whole;

#[derive(Args, Clone)]
pub(crate) struct StoreOptions {
    /// Store URL: memory, redis://.., rediss://.., redis-cluster://.. or redis-sentinel://..
    #[arg(long, env = "VESTIBULE_REDIS_URL", default_value = "memory", hide_env_values = true, value_name = "URL")]
    pub(crate) store: String,

    /// Where the jobs of job queues are: memory, which loses them when the process ends, the URL of a Redis as for --store, or
    /// sqs://.. with the prefix of the SQS queues of a deployment on AWS, whose jobs the function worker runs
    /// [default: the store]
    #[arg(long, env = "VESTIBULE_JOBS_URL", hide_env_values = true, value_name = "URL")]
    pub(crate) jobs: Option<String>,

    /// How many replicas of the Redis of the jobs must have a job before it counts as stored (0 to 5)
    #[arg(long, env = "VESTIBULE_JOBS_MIN_REPLICAS", default_value_t = 0, value_parser = whole::<u8>(0..=5), value_name = "REPLICAS")]
    pub(crate) jobs_min_replicas: u8,

    /// Timeout of a store operation, in milliseconds (10 to 10000)
    #[arg(long, env = "VESTIBULE_STORE_TIMEOUT_MS", default_value_t = 250, value_parser = whole::<u64>(10..=10_000), value_name = "MS")]
    pub(crate) store_timeout_ms: u64,
}

impl StoreOptions {
    /// Timeout of a store operation.
    pub(crate) const fn timeout(&self) -> Duration {
        Duration::from_millis(self.store_timeout_ms)
    }

    /// Where the jobs are.
    pub(crate) fn jobs_address(&self) -> &str {
        self.jobs.as_ref().unwrap_or(&self.store)
    }

    /// Whether SQS carries the jobs, so that only the function `worker` runs them.
    pub(crate) fn are_jobs_in_sqs(&self) -> bool {
        are_jobs_in_sqs(self.jobs_address())
    }

    /// The job queues: their settings are in the store, and their jobs where `--jobs` says.
    pub(crate) fn job_queues(
        &self,
        records: &Arc<dyn RecordStore>,
        store: &Arc<dyn Store>,
    ) -> anyhow::Result<Arc<JobQueues>> {
        let flag = if self.jobs.is_some() { "--jobs" } else { "--store" };
        let backend = open_jobs(flag, self.jobs_address(), &self.store, self.timeout(), self.jobs_min_replicas)?;
        Ok(Arc::new(JobQueues::new(records.clone(), store.clone(), backend)))
    }
}

#[derive(Args, Clone)]
pub(crate) struct WorkerOptions {
    /// Maximum number of jobs that run at a time in this process, all job queues together (1 to 10000)
    #[arg(long, env = "VESTIBULE_WORKER_CONCURRENCY", default_value_t = vestibule_worker::CONCURRENCY,
        value_parser = whole::<usize>(1..=10_000), value_name = "JOBS")]
    pub(crate) worker_concurrency: usize,

    /// Scheme, host and port at which handlers of job queues reach the gate, to report progress
    #[arg(long, env = "VESTIBULE_PUBLIC_URL", value_name = "URL")]
    pub(crate) public_url: Option<PublicUrl>,
}

impl WorkerOptions {
    /// The worker of a process.
    pub(crate) fn worker(&self, job_queues: Arc<JobQueues>, passes: PassSigner) -> Worker {
        Worker::new(job_queues, self.worker_concurrency, passes, self.public_url.as_ref())
    }
}

/// The URL of a store without its password, for messages.
pub(crate) fn shown(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let server = rest.rsplit_once('@').map_or(rest, |(_, server)| server);
    format!("{scheme}://{}", server.split(['?', '#']).next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn password_of_a_store_is_not_shown() {
        for (url, shown_url) in [
            ("redis://127.0.0.1:6379", "redis://127.0.0.1:6379"),
            ("rediss://:p@ss@a.example:6380/1", "rediss://a.example:6380/1"),
            ("redis-sentinel://user:secret@a:1,b:2?sentinelServiceName=main", "redis-sentinel://a:1,b:2"),
        ] {
            assert_eq!(shown(url), shown_url);
        }
    }
}
