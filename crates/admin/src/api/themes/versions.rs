use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::ETAG;
use serde::Serialize;
use utoipa::ToSchema;
use vestibule_themes::VersionList;

use crate::access::Principal;
use crate::api::themes::version_view::ThemeVersionView;
use crate::body::Segments;
use crate::problem::Problem;
use crate::queue_settings::etag;
use crate::state::Admin;
use crate::themes::{find_visible, theme_versions};

/// The versions of a theme.
#[derive(Serialize, ToSchema)]
pub(crate) struct ThemeVersions {
    /// Revision of the theme, for `If-Match`: it grows with every activation and deactivation. While it is 0, visitors see
    /// the files that were copied into the folder, if any.
    revision: u64,
    /// The versions, newest first.
    versions: Vec<ThemeVersionView>,
}

/// List theme versions
///
/// Returns the versions, newest first. The last 50 and the active version are kept. Uploads add versions and do not
/// change the revision.
#[utoipa::path(get, path = "/themes/{theme}/versions", tag = "themes",
    responses(
        (status = 200, description = "The versions", body = ThemeVersions, headers(("ETag" = String))),
        (status = 409, description = "Theme storage is not configured"),
    ))]
pub(crate) async fn list_theme_versions(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
) -> Result<Response, Problem> {
    let theme = find_visible(&admin, &principal, &id).await?;
    let VersionList { revision, versions } = theme_versions(&admin)?.list(&theme.id).await?;
    let versions = versions.into_iter().map(ThemeVersionView::from).collect();
    Ok(([(ETAG, etag(revision))], Json(ThemeVersions { revision, versions })).into_response())
}
