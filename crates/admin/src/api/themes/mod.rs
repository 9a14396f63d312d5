//! Themes: versions, uploads, previews and activation.

mod activation;
mod download;
mod list;
mod preview;
mod preview_draft;
mod remove;
mod upload;
mod versions;

use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vestibule_themes::ThemeVersion;

use crate::state::Admin;

pub(crate) use preview_draft::DraftTemplate;

pub(crate) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new()
        .routes(routes!(list::list_themes))
        .routes(routes!(versions::list_theme_versions, upload::upload_theme))
        .routes(routes!(download::download_theme_version))
        .routes(routes!(activation::activate_theme_version))
        .routes(routes!(preview::preview_theme, preview_draft::preview_theme_draft))
        .routes(routes!(download::download_live_theme))
        .routes(routes!(activation::deactivate_theme))
        .routes(routes!(remove::remove_theme))
}

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
