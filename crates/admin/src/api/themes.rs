//! Themes: versions, uploads, previews and activation.

mod activation;
mod download;
mod list;
mod preview;
mod preview_draft;
mod remove;
mod upload;
mod version_view;
mod versions;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

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
