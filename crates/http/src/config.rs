//! How a process is configured, alike for every role.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use vestibule_core::{KeyError, KeyList, MemoryStore, Store, SystemClock};
use vestibule_store_redis::{AddressError, RedisOptions, RedisStore};
use vestibule_themes::Themes;

/// How long the store may take for one operation.
pub const STORE_TIMEOUT: Duration = Duration::from_millis(250);

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
    /// The theme folder can't be used.
    #[error("{variable} takes a folder of themes, and {path} is none")]
    Themes {
        /// Variable or flag.
        variable: &'static str,
        /// What was given.
        path: PathBuf,
    },
}

/// Opens the store at `address` (`VESTIBULE_REDIS_URL`, `--store`). A Redis that is away now is tried for ever.
///
/// # Errors
/// An address that is none.
pub fn open_store(variable: &'static str, address: &str, timeout: Duration) -> Result<Arc<dyn Store>, ConfigError> {
    if address == "memory" {
        return Ok(Arc::new(MemoryStore::new(SystemClock::new())));
    }
    let refuse = |error: AddressError| ConfigError::Store { variable, reason: error.to_string() };
    let options = RedisOptions { timeout, ..RedisOptions::default() };
    Ok(Arc::new(RedisStore::connect(address, options).map_err(refuse)?))
}

/// Opens the themes at `folder` (`VESTIBULE_THEMES`, `--themes`); the built-in theme alone if there is none.
///
/// # Errors
/// A folder that is none.
pub fn open_themes(variable: &'static str, folder: Option<PathBuf>) -> Result<Themes, ConfigError> {
    match folder {
        None => Ok(Themes::built_in()),
        Some(path) if path.is_dir() => Ok(Themes::folder(path)),
        Some(path) => Err(ConfigError::Themes { variable, path }),
    }
}

/// Reads keys (`VESTIBULE_TICKET_KEYS`, `VESTIBULE_PASS_KEYS`).
///
/// # Errors
/// A list that is none; the message holds no secret.
pub fn parse_keys(variable: &'static str, text: &str) -> Result<KeyList, ConfigError> {
    text.parse().map_err(|reason| ConfigError::Keys { variable, reason })
}
