//! Configuration that all programs share.

use std::sync::Arc;
use std::time::Duration;

use vestibule_core::jobs::JobBackend;
use vestibule_core::settings::{InvalidTrustedHeaders, TrustedHeaders};
use vestibule_core::{KeyError, KeyList, SaleKeys, Store, SystemClock};
use vestibule_records::RecordStore;
use vestibule_store_memory::{MemoryJobs, MemoryRecords, MemoryStore};
use vestibule_store_redis::{AddressError, RedisJobs, RedisOptions, RedisStore};

use crate::env::{EnvError, variable};

/// The address of the memory store.
const MEMORY: &str = "memory";

/// Why a process cannot start. The message names the variable or flag.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The address of the store is invalid.
    #[error("{variable} must be memory or the address of a Redis: {reason}")]
    Store {
        /// Variable or flag.
        variable: &'static str,
        /// Why it is invalid.
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

/// Opens the store at `address` (`VESTIBULE_REDIS_URL`, `--store`). A Redis that is unavailable is connected later.
///
/// # Errors
/// The address is invalid.
pub fn open_store(variable: &'static str, address: &str, timeout: Duration) -> Result<Arc<dyn Store>, ConfigError> {
    if address == MEMORY {
        return Ok(Arc::new(MemoryStore::new(SystemClock::new())));
    }
    Ok(Arc::new(connect(variable, address, timeout)?))
}

/// A store for the lines, and one for records.
pub type Stores = (Arc<dyn Store>, Arc<dyn RecordStore>);

/// Opens the store at `address` as [`open_store`] does, with the records. In memory, both end with the process.
///
/// # Errors
/// The address is invalid.
pub fn open_store_and_records(variable: &'static str, address: &str, timeout: Duration) -> Result<Stores, ConfigError> {
    if address == MEMORY {
        let records = MemoryRecords::new(SystemClock::new());
        return Ok((Arc::new(MemoryStore::new(SystemClock::new())), Arc::new(records)));
    }
    let redis = Arc::new(connect(variable, address, timeout)?);
    Ok((redis.clone(), redis))
}

/// Opens the backend of job queues at `address` (`VESTIBULE_JOBS_URL`, `--jobs`). In memory, the jobs end with the process. In Redis,
/// a job is stored once `min_replicas` replicas have it.
///
/// # Errors
/// The address is invalid, or replicas are wanted of a process that has none.
pub fn open_jobs(
    variable: &'static str,
    address: &str,
    timeout: Duration,
    min_replicas: u8,
) -> Result<Arc<dyn JobBackend>, ConfigError> {
    if address == MEMORY {
        if min_replicas > 0 {
            let reason = "memory has no replicas: set VESTIBULE_JOBS_MIN_REPLICAS to 0, or use a Redis".to_owned();
            return Err(ConfigError::Store { variable, reason });
        }
        return Ok(Arc::new(MemoryJobs::new(SystemClock::new())));
    }
    let options = RedisOptions { timeout, min_replicas, ..RedisOptions::default() };
    let invalid = |error: AddressError| ConfigError::Store { variable, reason: error.to_string() };
    Ok(Arc::new(RedisJobs::connect(address, options).map_err(invalid)?))
}

fn connect(variable: &'static str, address: &str, timeout: Duration) -> Result<RedisStore, ConfigError> {
    let invalid = |error: AddressError| ConfigError::Store { variable, reason: error.to_string() };
    let options = RedisOptions { timeout, ..RedisOptions::default() };
    RedisStore::connect(address, options).map_err(invalid)
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
    let parsed = variable(TRUSTED_HEADERS).map(|text| text.parse()).transpose();
    let parsed = parsed.map_err(|error: InvalidTrustedHeaders| EnvError::new(TRUSTED_HEADERS, error.to_string()))?;
    Ok(parsed.unwrap_or_default())
}

/// Parses keys (`VESTIBULE_TICKET_KEYS`, `VESTIBULE_PASS_KEYS`, `VESTIBULE_SALE_KEYS`).
///
/// # Errors
/// The list of keys is invalid. The message contains no secret.
pub fn parse_keys(variable: &'static str, text: &str) -> Result<KeyList, ConfigError> {
    text.parse().map_err(|reason| ConfigError::Keys { variable, reason })
}
