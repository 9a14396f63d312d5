use axum::extract::State;
use axum::response::Response;

use crate::access::Caller;
use crate::api::themes::download::archived;
use crate::codes::Code;
use crate::problem::Problem;
use crate::query::Segments;
use crate::state::Admin;
use crate::themes::{publisher, seen};

/// Download the active theme
///
/// The files of a theme as gates find them now, published here or put there by hand, as a ZIP archive that can be uploaded.
#[utoipa::path(get, path = "/themes/{theme}/download", tag = "themes",
    params(("theme" = String, Path, description = "ID of the theme")),
    responses(
        (status = 200, description = "The archive", content_type = "application/zip", body = crate::themes::ZipArchive),
        (status = 409, description = "Theme storage is not configured"),
    ))]
pub(crate) async fn download_live_theme(
    State(admin): State<Admin>,
    caller: Caller,
    Segments(id): Segments<String>,
) -> Result<Response, Problem> {
    let theme = seen(&admin, &caller, &id).await?;
    let files = publisher(&admin)?.live(&theme.id).await?.ok_or(Problem::NotFound(Code::ATheme))?;
    archived(&theme.id, files).await
}
