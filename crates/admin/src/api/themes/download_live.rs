use axum::extract::State;
use axum::response::Response;

use crate::access::Principal;
use crate::api::themes::download::archived;
use crate::body::Segments;
use crate::codes::Code;
use crate::problem::Problem;
use crate::state::Admin;
use crate::themes::{find_visible, publisher};

/// Download the active theme
///
/// Returns the files that gates use now, whether activated here or copied into the folder, as a ZIP archive that can be
/// uploaded.
#[utoipa::path(get, path = "/themes/{theme}/download", tag = "themes",
    params(("theme" = String, Path, description = "ID of the theme")),
    responses(
        (status = 200, description = "The archive", content_type = "application/zip", body = crate::themes::ZipArchive),
        (status = 409, description = "Theme storage is not configured"),
    ))]
pub(crate) async fn download_live_theme(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
) -> Result<Response, Problem> {
    let theme = find_visible(&admin, &principal, &id).await?;
    let files = publisher(&admin)?.live(&theme.id).await?.ok_or(Problem::NotFound(Code::ATheme))?;
    archived(&theme.id, files).await
}
