//! Configuration that all programs share.

use std::sync::Arc;
use std::time::Duration;

use vestibule_core::jobs::JobBackend;
use vestibule_core::settings::TrustedHeaders;
use vestibule_core::{KeyError, KeyList, SaleKeys, Store, SystemClock};
use vestibule_jobs_sqs::{SqsJobs, SqsPrefixError};
use vestibule_records::RecordStore;
use vestibule_store_memory::{MemoryJobs, MemoryRecords, MemoryStore};
use vestibule_store_redis::{AddressError, JobRegistry, RedisJobs, RedisOptions, RedisStore};

use crate::env::{EnvError, StoreConfig, number, parsed, variable};
use crate::job_queues::JobQueues;

/// The address of the memory store.
const MEMORY: &str = "memory";
/// How the address of jobs begins that SQS carries.
const SQS: &str = "sqs://";

/// Why a process cannot start. The message names the variable or flag.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The address of the store is invalid.
    #[error("{variable}: {reason}")]
    Store {
        /// Variable or flag.
        variable: &'static str,
        /// Why it is invalid.
        reason: String,
    },
    /// The address of the jobs is invalid.
    #[error("{variable} {reason}")]
    Jobs {
        /// Variable or flag.
        variable: &'static str,
        /// What it must be, as the rest of a sentence that begins with the variable.
        reason: String,
    },
    /// The keys are invalid.
    #[error("{variable}: {reason}")]
    Keys {
        /// Variable or flag.
        variable: &'static str,
        /// Why it is invalid.
        reason: KeyError,
    },
}

/// A store for the lines, and one for records.
pub type Stores = (Arc<dyn Store>, Arc<dyn RecordStore>);

/// Opens the store at `address` (`VESTIBULE_REDIS_URL`, `--store`), with the records. A Redis that is unavailable is connected
/// later. In memory, both end with the process.
///
/// # Errors
/// The address is invalid.
pub fn open_store_and_records(variable: &'static str, address: &str, timeout: Duration) -> Result<Stores, ConfigError> {
    if is_memory(address) {
        let records = MemoryRecords::new(SystemClock::new());
        return Ok((Arc::new(MemoryStore::new(SystemClock::new())), Arc::new(records)));
    }
    let redis = RedisStore::connect(address, options(timeout, 0)).map_err(invalid_store(variable))?;
    let redis = Arc::new(redis);
    Ok((redis.clone(), redis))
}

fn options(timeout: Duration, min_replicas: u8) -> RedisOptions {
    RedisOptions { timeout, min_replicas, ..RedisOptions::default() }
}

fn invalid_store(variable: &'static str) -> impl Fn(AddressError) -> ConfigError {
    move |error| ConfigError::Store { variable, reason: error.to_string() }
}

/// Whether this address is that of the memory of the process.
pub fn is_memory(address: &str) -> bool {
    address == MEMORY
}

/// Whether SQS carries the jobs at this address, so that only the function `worker` runs them.
pub fn are_jobs_in_sqs(address: &str) -> bool {
    address.starts_with(SQS)
}

/// Opens the backend of job queues at `address` (`VESTIBULE_JOBS_URL`, `--jobs`), beside the store at `store`. In memory, the jobs
/// end with the process. In Redis, a job is stored once `min_replicas` replicas have it.
///
/// # Errors
/// The address is invalid, or replicas are wanted of a process that has none.
pub fn open_jobs(
    variable: &'static str,
    address: &str,
    store: &str,
    timeout: Duration,
    min_replicas: u8,
) -> Result<Arc<dyn JobBackend>, ConfigError> {
    if are_jobs_in_sqs(address) {
        return Ok(Arc::new(open_sqs_jobs(variable, address, store, timeout, min_replicas)?));
    }
    if is_memory(address) {
        if min_replicas > 0 {
            let reason = "memory has no replicas: set VESTIBULE_JOBS_MIN_REPLICAS to 0, or use a Redis".to_owned();
            return Err(ConfigError::Store { variable, reason });
        }
        return Ok(Arc::new(MemoryJobs::new(SystemClock::new())));
    }
    Ok(Arc::new(connect_jobs(variable, address, timeout, min_replicas)?))
}

fn connect_jobs(
    variable: &'static str,
    address: &str,
    timeout: Duration,
    min_replicas: u8,
) -> Result<RedisJobs, ConfigError> {
    RedisJobs::connect(address, options(timeout, min_replicas)).map_err(invalid_store(variable))
}

/// The variable with the address of a function's jobs.
const JOBS: &str = "VESTIBULE_JOBS_URL";
/// The variable with the number of replicas that must have a job.
const JOBS_MIN_REPLICAS: &str = "VESTIBULE_JOBS_MIN_REPLICAS";

/// Where the jobs of a function's job queues are.
#[derive(Debug, Clone)]
pub struct JobsConfig {
    /// `VESTIBULE_JOBS_URL`. May hold a password.
    pub url: String,
    /// `VESTIBULE_JOBS_MIN_REPLICAS`: 0 to 5, 0 if it is not set.
    pub min_replicas: u8,
}

impl JobsConfig {
    /// Reads the variables; `None` if the first is not set: the function then has no job queues.
    ///
    /// # Errors
    /// The jobs would be in the memory of the function, or the number is out of its range.
    pub fn from_env() -> Result<Option<Self>, EnvError> {
        let Some(url) = variable(JOBS) else { return Ok(None) };
        if is_memory(&url) {
            let reason = "must be the address of a Redis or of SQS: the memory of a function ends with it, and no worker sees it";
            return Err(EnvError::new(JOBS, reason));
        }
        let min_replicas = number(JOBS_MIN_REPLICAS, 0..=5, 0)? as u8;
        Ok(Some(Self { url, min_replicas }))
    }

    /// Opens the job queues, whose settings are in `stores`.
    ///
    /// # Errors
    /// The address is invalid.
    pub fn open(&self, store: &StoreConfig, stores: &Stores) -> Result<Arc<JobQueues>, ConfigError> {
        let backend = open_jobs(JOBS, &self.url, &store.url, store.timeout, self.min_replicas)?;
        Ok(Arc::new(JobQueues::new(stores.1.clone(), stores.0.clone(), backend)))
    }

    /// Opens the job queues for a function that only reads their statistics. These are in Redis, also if SQS carries the jobs, so
    /// that the function needs nothing of SQS.
    ///
    /// # Errors
    /// The address is invalid.
    pub fn open_statistics(&self, store: &StoreConfig, stores: &Stores) -> Result<Arc<JobQueues>, ConfigError> {
        let backend = if are_jobs_in_sqs(&self.url) {
            // A reader that does not know of the messages would end the pause of a job queue, as the messages see it.
            let registry = JobRegistry::connect(&store.url, options(store.timeout, 0));
            registry.map_err(invalid_store(JOBS))?.into_jobs()
        } else {
            connect_jobs(JOBS, &self.url, store.timeout, self.min_replicas)?
        };
        Ok(Arc::new(JobQueues::new(stores.1.clone(), stores.0.clone(), Arc::new(backend))))
    }

    /// Opens the jobs that SQS carries, for the function that runs them.
    ///
    /// # Errors
    /// The address is not one of SQS.
    pub fn open_sqs(&self, store: &StoreConfig) -> Result<SqsJobs, ConfigError> {
        open_sqs_jobs(JOBS, &self.url, &store.url, store.timeout, self.min_replicas)
    }

    /// Reads the variables of a function that needs them.
    ///
    /// # Errors
    /// The first is not set, or [`Self::from_env`] fails.
    pub fn required() -> Result<Self, EnvError> {
        Self::from_env()?
            .ok_or_else(|| EnvError::new(JOBS, "is not set; it must be sqs:// and the prefix of the SQS queues"))
    }
}

/// Opens the backend whose jobs SQS carries, at `address`. Their state is in the Redis of the store at `store`.
///
/// # Errors
/// The address is not one of SQS, or the store is no Redis.
fn open_sqs_jobs(
    variable: &'static str,
    address: &str,
    store: &str,
    timeout: Duration,
    min_replicas: u8,
) -> Result<SqsJobs, ConfigError> {
    let prefix =
        address.parse().map_err(|error: SqsPrefixError| ConfigError::Jobs { variable, reason: error.to_string() })?;
    if is_memory(store) {
        let reason = "names SQS, which needs a Redis for the state of its jobs: set the store to the URL of a Redis";
        return Err(ConfigError::Jobs { variable, reason: reason.to_owned() });
    }
    SqsJobs::connect(prefix, None, store, options(timeout, min_replicas))
        .map_err(|error| ConfigError::Jobs { variable, reason: format!("needs the Redis of the store: {error}") })
}

/// The variable with the sale keys of gate and backoffice.
const SALE_KEYS: &str = "VESTIBULE_SALE_KEYS";

/// Reads the sale keys of a function (`VESTIBULE_SALE_KEYS`). Without the variable there are none, and no event can have a draw.
///
/// # Errors
/// The list of keys is invalid. The message contains no secret.
pub fn sale_keys_from_env() -> Result<SaleKeys, ConfigError> {
    variable(SALE_KEYS).map_or_else(|| Ok(SaleKeys::default()), |text| parse_sale_keys(SALE_KEYS, &text))
}

/// Parses sale keys.
///
/// # Errors
/// The list of keys is invalid. The message contains no secret.
pub fn parse_sale_keys(variable: &'static str, text: &str) -> Result<SaleKeys, ConfigError> {
    SaleKeys::new(&parse_keys(variable, text)?).map_err(|reason| ConfigError::Keys { variable, reason })
}

/// The variable with the headers that only trusted proxies may send, of gate and backoffice.
const TRUSTED_HEADERS: &str = "VESTIBULE_TRUSTED_HEADERS";

/// Reads the headers that only trusted proxies may send (`VESTIBULE_TRUSTED_HEADERS`); none without the variable.
///
/// # Errors
/// An entry is neither the name of a header nor a prefix.
pub fn trusted_headers_from_env() -> Result<TrustedHeaders, EnvError> {
    Ok(parsed(TRUSTED_HEADERS)?.unwrap_or_default())
}

/// Parses keys (`VESTIBULE_TICKET_KEYS`, `VESTIBULE_PASS_KEYS`, `VESTIBULE_SALE_KEYS`).
///
/// # Errors
/// The list of keys is invalid. The message contains no secret.
pub fn parse_keys(variable: &'static str, text: &str) -> Result<KeyList, ConfigError> {
    text.parse().map_err(|reason| ConfigError::Keys { variable, reason })
}
