use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::Caller;
use crate::api::themes::ThemeVersionView;
use crate::problem::Problem;
use crate::query::Segments;
use crate::state::Admin;
use crate::themes::{publisher, seen};

/// The versions of a theme.
#[derive(Serialize, ToSchema)]
pub(crate) struct ThemeVersions {
    /// The versions, the newest first.
    versions: Vec<ThemeVersionView>,
}

/// List theme versions
///
/// The newest first; the last 50 are kept, and the live one. What was put there by hand becomes one with the first upload.
#[utoipa::path(get, path = "/themes/{theme}/versions", tag = "themes",
    params(("theme" = String, Path, description = "ID of the theme")),
    responses(
        (status = 200, description = "The versions", body = ThemeVersions),
        (status = 409, description = "Theme storage is not configured"),
    ))]
pub(crate) async fn list_theme_versions(
    State(admin): State<Admin>,
    caller: Caller,
    Segments(id): Segments<String>,
) -> Result<Json<ThemeVersions>, Problem> {
    let theme = seen(&admin, &caller, &id).await?;
    let versions = publisher(&admin)?.versions(&theme.id).await?;
    Ok(Json(ThemeVersions { versions: versions.into_iter().map(ThemeVersionView::from).collect() }))
}
