use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::Principal;
use crate::api::themes::ThemeVersionView;
use crate::body::Segments;
use crate::problem::Problem;
use crate::state::Admin;
use crate::themes::{find_visible, publisher};

/// The versions of a theme.
#[derive(Serialize, ToSchema)]
pub(crate) struct ThemeVersions {
    /// The versions, newest first.
    versions: Vec<ThemeVersionView>,
}

/// List theme versions
///
/// Returns the versions, newest first. The last 50 and the active version are kept. Files that were copied into the
/// folder become a version with the first upload.
#[utoipa::path(get, path = "/themes/{theme}/versions", tag = "themes",
    params(("theme" = String, Path, description = "ID of the theme")),
    responses(
        (status = 200, description = "The versions", body = ThemeVersions),
        (status = 409, description = "Theme storage is not configured"),
    ))]
pub(crate) async fn list_theme_versions(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
) -> Result<Json<ThemeVersions>, Problem> {
    let theme = find_visible(&admin, &principal, &id).await?;
    let versions = publisher(&admin)?.versions(&theme.id).await?;
    Ok(Json(ThemeVersions { versions: versions.into_iter().map(ThemeVersionView::from).collect() }))
}
