//! Opens the themes that a process is configured with.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::address::{ThemesAddress, ThemesAddressError};
use crate::themes::Themes;
use crate::versions::ThemeVersions;

/// Range of `VESTIBULE_THEMES_RECHECK`, in seconds.
pub const THEMES_RECHECK: RangeInclusive<u64> = 1..=3600;

/// Where themes are stored, and how often they are checked for changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThemesConfig {
    /// `VESTIBULE_THEMES`, `--themes`: a folder or `s3://bucket/prefix`. `None` for the built-in theme only.
    pub address: Option<String>,
    /// `VESTIBULE_THEMES_RECHECK`, 1 to 3600 seconds: how long a theme is used before it is checked again. By default 1
    /// second for a folder and 10 for a bucket.
    pub recheck: Option<Duration>,
}

/// The address of the themes is invalid.
#[derive(Debug, thiserror::Error)]
#[error("{variable}: {address} {reason}")]
pub struct ThemesConfigError {
    /// Variable or flag.
    pub variable: &'static str,
    /// The configured address.
    pub address: String,
    /// Why it is invalid.
    pub reason: String,
}

impl ThemesConfig {
    /// Opens the themes to show them. `variable` is the name of the variable or flag in error messages. A bucket is connected in
    /// the background, so this must be called within a Tokio runtime.
    ///
    /// # Errors
    /// The address is invalid, or the folder does not exist.
    pub fn open(&self, variable: &'static str) -> Result<Themes, ThemesConfigError> {
        Ok(match self.address(variable)? {
            Some(address) => Themes::at(address, self.recheck),
            None => Themes::built_in(),
        })
    }

    /// Opens the same storage to manage versions; `None` if only the built-in theme is configured. Nothing is read yet.
    ///
    /// # Errors
    /// The address is invalid, or the folder does not exist.
    pub fn open_versions(&self, variable: &'static str) -> Result<Option<ThemeVersions>, ThemesConfigError> {
        Ok(self.address(variable)?.map(ThemeVersions::at))
    }

    fn address(&self, variable: &'static str) -> Result<Option<ThemesAddress>, ThemesConfigError> {
        let Some(text) = &self.address else { return Ok(None) };
        let invalid = |reason: String| ThemesConfigError { variable, address: text.clone(), reason };
        let address = text.parse().map_err(|error: ThemesAddressError| invalid(error.to_string()))?;
        if let ThemesAddress::Folder(folder) = &address
            && !folder.is_dir()
        {
            return Err(invalid("is not a folder: use a folder of themes or s3://bucket/prefix".to_owned()));
        }
        Ok(Some(address))
    }
}
