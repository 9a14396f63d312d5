//! How a process is configured, alike for every role.

use std::sync::Arc;
use std::time::Duration;

use vestibule_core::{KeyError, KeyList, Store, SystemClock};
use vestibule_records::RecordStore;
use vestibule_store_memory::{MemoryRecords, MemoryStore};
use vestibule_store_redis::{AddressError, RedisOptions, RedisStore};
use vestibule_themes::{ThemeVersions, Themes, ThemesAddress, ThemesAddressError};

use crate::env::{EnvError, number, variable};

/// How long the store may take for one operation.
pub const STORE_TIMEOUT: Duration = Duration::from_millis(250);
/// The address of a store within the process.
const MEMORY: &str = "memory";
/// Bounds of `VESTIBULE_THEMES_RECHECK`, in seconds.
pub const THEMES_RECHECK: std::ops::RangeInclusive<u64> = 1..=3600;

/// A process that can't start: which variable or flag is wrong, and what it takes.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The store's address is none.
    #[error("{variable} takes memory or a Redis; {reason}")]
    Store {
        /// Variable or flag.
        variable: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// Keys that are none.
    #[error("{variable}: {reason}")]
    Keys {
        /// Variable or flag.
        variable: &'static str,
        /// What is wrong.
        reason: KeyError,
    },
    /// The themes' address is none.
    #[error("{variable}: {address} {reason}")]
    Themes {
        /// Variable or flag.
        variable: &'static str,
        /// What was given.
        address: String,
        /// What is wrong.
        reason: String,
    },
}

/// Opens the store at `address` (`VESTIBULE_REDIS_URL`, `--store`). A Redis that is away now is tried for ever.
///
/// # Errors
/// An address that is none.
pub fn open_store(variable: &'static str, address: &str, timeout: Duration) -> Result<Arc<dyn Store>, ConfigError> {
    if address == MEMORY {
        return Ok(Arc::new(MemoryStore::new(SystemClock::new())));
    }
    Ok(Arc::new(connect(variable, address, timeout)?))
}

/// A store, and what the backoffice keeps beside the lines.
pub type Stores = (Arc<dyn Store>, Arc<dyn RecordStore>);

/// Opens the store at `address` as [`open_store`] does, with what the backoffice keeps beside the lines. In memory both
/// end with the process.
///
/// # Errors
/// An address that is none.
pub fn open_store_and_records(variable: &'static str, address: &str, timeout: Duration) -> Result<Stores, ConfigError> {
    if address == MEMORY {
        let records = MemoryRecords::new(SystemClock::new());
        return Ok((Arc::new(MemoryStore::new(SystemClock::new())), Arc::new(records)));
    }
    let redis = Arc::new(connect(variable, address, timeout)?);
    Ok((redis.clone(), redis))
}

fn connect(variable: &'static str, address: &str, timeout: Duration) -> Result<RedisStore, ConfigError> {
    let refuse = |error: AddressError| ConfigError::Store { variable, reason: error.to_string() };
    let options = RedisOptions { timeout, ..RedisOptions::default() };
    RedisStore::connect(address, options).map_err(refuse)
}

/// Where themes are, and how often they are looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThemesConfig {
    /// `VESTIBULE_THEMES`: a folder, or `s3://bucket/prefix`. The built-in theme alone without it.
    pub address: Option<String>,
    /// `VESTIBULE_THEMES_RECHECK` in seconds, 1 to 3600: how long a theme is taken to be as it was last seen. 1 of a
    /// folder and 10 of a bucket if it is not set.
    pub recheck: Option<Duration>,
}

impl ThemesConfig {
    /// Reads the variables.
    ///
    /// # Errors
    /// The time is no whole number, or out of its range.
    pub fn from_env() -> Result<Self, EnvError> {
        const RECHECK: &str = "VESTIBULE_THEMES_RECHECK";
        let seconds =
            variable(RECHECK).map(|_| number(RECHECK, THEMES_RECHECK, *THEMES_RECHECK.start())).transpose()?;
        Ok(Self { address: variable("VESTIBULE_THEMES"), recheck: seconds.map(Duration::from_secs) })
    }
}

/// Opens the themes that `VESTIBULE_THEMES` or `--themes` names. A bucket is connected to in the background from here
/// on, so this must be called within the program's runtime.
///
/// # Errors
/// An address that is none, or a folder that isn't there.
pub fn open_themes(variable: &'static str, config: &ThemesConfig) -> Result<Themes, ConfigError> {
    match address_of_themes(variable, config)? {
        Some(place) => Ok(Themes::at(place, config.recheck)),
        None => Ok(Themes::built_in()),
    }
}

/// Opens the same place to publish themes there; `None` if there is no such place. Nothing is asked of it yet.
///
/// # Errors
/// An address that is none, or a folder that isn't there.
pub fn open_publisher(variable: &'static str, config: &ThemesConfig) -> Result<Option<ThemeVersions>, ConfigError> {
    Ok(address_of_themes(variable, config)?.map(ThemeVersions::at))
}

fn address_of_themes(variable: &'static str, config: &ThemesConfig) -> Result<Option<ThemesAddress>, ConfigError> {
    let Some(address) = &config.address else { return Ok(None) };
    let refuse = |reason: String| ConfigError::Themes { variable, address: address.clone(), reason };
    let place: ThemesAddress = address.parse().map_err(|error: ThemesAddressError| refuse(error.to_string()))?;
    if let ThemesAddress::Folder(folder) = &place
        && !folder.is_dir()
    {
        return Err(refuse("is not a folder: use a folder of themes or s3://bucket/prefix".to_owned()));
    }
    Ok(Some(place))
}

/// Reads keys (`VESTIBULE_TICKET_KEYS`, `VESTIBULE_PASS_KEYS`).
///
/// # Errors
/// A list that is none; the message holds no secret.
pub fn parse_keys(variable: &'static str, text: &str) -> Result<KeyList, ConfigError> {
    text.parse().map_err(|reason| ConfigError::Keys { variable, reason })
}
