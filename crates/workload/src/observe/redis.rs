//! Reads `INFO` of Redis.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use vestibule_store_redis::{RedisOptions, RedisStore};

use super::{ObserveError, Sample};

/// Timeout of a sample.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

/// A server whose `INFO` is sampled.
#[derive(Clone)]
pub struct RedisServer(Arc<RedisStore>);

impl fmt::Debug for RedisServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisServer").finish_non_exhaustive()
    }
}

impl RedisServer {
    /// The server at this address. Connects in the background; must be called within a Tokio runtime.
    ///
    /// # Errors
    /// The address is invalid, or that of a cluster: each of its nodes has figures of its own.
    pub fn connect(url: &str) -> Result<Self, ObserveError> {
        if url.starts_with("redis-cluster:") || url.starts_with("rediss-cluster:") {
            return Err(ObserveError::Cluster);
        }
        let options = RedisOptions { timeout: REQUEST_TIMEOUT, ..RedisOptions::default() };
        Ok(Self(Arc::new(RedisStore::connect(url, options)?)))
    }

    /// Reads the memory, the number of script calls and the CPU time.
    pub(super) async fn sample(&self) -> Result<Sample, String> {
        let info = self.0.server_info(&["memory", "commandstats", "cpu"]).await;
        let info = info.map_err(|error| format!("Redis: {error}"))?;
        let memory = field(&info, "used_memory:").and_then(|text| text.parse().ok());
        let calls = field(&info, "cmdstat_fcall:calls=");
        let commands = calls.and_then(|text| text.split(',').next()?.parse().ok()).unwrap_or(0);
        let seconds = |name| field(&info, name).and_then(|text| text.parse::<f64>().ok());
        let cpu = seconds("used_cpu_user:").zip(seconds("used_cpu_sys:"));
        let cpu_us = cpu.map(|(user, system)| ((user + system) * 1e6) as u64);
        Ok(Sample { memory, commands: Some(commands), cpu_us, ..Sample::default() })
    }
}

fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(name))
}
