//! A version of a theme as the API shows it.

use serde::Serialize;
use utoipa::ToSchema;
use vestibule_themes::ThemeVersion;

/// A version of a theme.
#[derive(Serialize, ToSchema)]
pub(crate) struct ThemeVersionView {
    /// ID of the version; IDs increase with time.
    id: String,
    /// Upload time in seconds since 1970.
    at: u64,
    /// The operator who uploaded it.
    operator: String,
    /// Number of files.
    files: u64,
    /// Total size in bytes.
    bytes: u64,
    /// Whether the version is active.
    live: bool,
}

impl From<ThemeVersion> for ThemeVersionView {
    fn from(version: ThemeVersion) -> Self {
        let ThemeVersion { id, at, by, files, bytes, live } = version;
        Self { id: id.to_string(), at: at.seconds(), operator: by, files, bytes, live }
    }
}
