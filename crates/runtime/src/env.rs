//! Configuration of a function by environment variables. The stand-alone program has a flag for each of them.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use crate::telemetry::{DEFAULT_LEVELS, LogFormat, init_telemetry};

/// Default timeout of a store operation.
pub const STORE_TIMEOUT: Duration = Duration::from_millis(250);
/// Bounds of `VESTIBULE_STORE_TIMEOUT_MS`.
const STORE_TIMEOUT_MS: std::ops::RangeInclusive<u64> = 10..=10_000;

/// A variable is missing or has an invalid value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} {takes}")]
pub struct EnvError {
    /// The variable.
    pub name: &'static str,
    /// What is wrong and what is valid, as the rest of a sentence that begins with the name.
    pub takes: String,
}

impl EnvError {
    /// An error of a variable.
    pub fn new(name: &'static str, takes: impl Into<String>) -> Self {
        Self { name, takes: takes.into() }
    }
}

/// A variable's value; `None` if it is not set or empty.
pub fn variable(name: &'static str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// The parsed value of a variable; `None` if it is not set.
///
/// # Errors
/// The value is invalid.
pub fn parsed<T: FromStr<Err: Display>>(name: &'static str) -> Result<Option<T>, EnvError> {
    let value = variable(name).map(|text| text.parse::<T>()).transpose();
    value.map_err(|error: T::Err| EnvError::new(name, error.to_string()))
}

/// The value of a required variable.
///
/// # Errors
/// It is not set, or empty.
pub fn required(name: &'static str, takes: &str) -> Result<String, EnvError> {
    variable(name).ok_or_else(|| EnvError::new(name, format!("is not set; it must be {takes}")))
}

/// A number from a variable; `default` if it is not set.
///
/// # Errors
/// The value is not a whole number in `range`.
pub fn number(name: &'static str, range: std::ops::RangeInclusive<u64>, default: u64) -> Result<u64, EnvError> {
    let Some(text) = variable(name) else { return Ok(default) };
    let number = text.trim().parse().ok().filter(|number| range.contains(number));
    number
        .ok_or_else(|| EnvError::new(name, format!("must be a whole number from {} to {}", range.start(), range.end())))
}

/// The store and its timeout.
#[derive(Debug, Clone)]
pub struct StoreConfig {
    /// `VESTIBULE_REDIS_URL`: `redis://..`, `rediss://..`, `redis-cluster://..` or `redis-sentinel://..`. May hold a password.
    pub url: String,
    /// `VESTIBULE_STORE_TIMEOUT_MS`, 250 if it is not set.
    pub timeout: Duration,
}

impl StoreConfig {
    /// Reads the variables.
    ///
    /// # Errors
    /// The address is missing, or the time is out of its range.
    pub fn from_env() -> Result<Self, EnvError> {
        let url = required("VESTIBULE_REDIS_URL", "the address of a Redis, such as rediss://user:password@host:6379")?;
        let timeout = number("VESTIBULE_STORE_TIMEOUT_MS", STORE_TIMEOUT_MS, STORE_TIMEOUT.as_millis() as u64)?;
        Ok(Self { url, timeout: Duration::from_millis(timeout) })
    }
}

/// Starts logging as set by `VESTIBULE_LOG` and `VESTIBULE_LOG_FORMAT`. The default format is json, because programs read the
/// log of a function.
///
/// # Errors
/// The levels or the format are invalid.
pub fn init_telemetry_from_env() -> Result<(), EnvError> {
    let levels = variable("VESTIBULE_LOG").unwrap_or_else(|| DEFAULT_LEVELS.to_owned());
    let format = parsed("VESTIBULE_LOG_FORMAT")?.unwrap_or(LogFormat::Json);
    init_telemetry(&levels, format).map_err(|takes| EnvError::new("VESTIBULE_LOG", takes))
}
