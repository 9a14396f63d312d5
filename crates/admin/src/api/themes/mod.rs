//! Themes: looked at, uploaded, published.

mod activate;
mod deactivate;
mod download;
mod download_live;
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

pub(crate) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new()
        .routes(routes!(list::list_themes))
        .routes(routes!(versions::list_theme_versions, upload::upload_theme))
        .routes(routes!(download::download_theme_version))
        .routes(routes!(activate::activate_theme_version))
        .routes(routes!(preview::preview_theme, preview_draft::preview_theme_draft))
        .routes(routes!(download_live::download_live_theme))
        .routes(routes!(deactivate::deactivate_theme))
        .routes(routes!(remove::remove_theme))
}

/// A version of a theme.
#[derive(Serialize, ToSchema)]
pub(crate) struct ThemeVersionView {
    /// Its id, which grows with time.
    id: String,
    /// When it was uploaded, in seconds since 1970.
    at: u64,
    /// Who uploaded it; `null` for what was put there by hand.
    operator: Option<String>,
    /// How many files it has.
    files: u64,
    /// How many bytes they have together.
    bytes: u64,
    /// Whether it is what visitors see.
    live: bool,
}

impl From<ThemeVersion> for ThemeVersionView {
    fn from(version: ThemeVersion) -> Self {
        let ThemeVersion { id, at, by, files, bytes, live } = version;
        Self { id: id.to_string(), at: at.seconds(), operator: by, files, bytes, live }
    }
}
