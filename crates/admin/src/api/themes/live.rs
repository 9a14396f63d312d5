use axum::extract::State;
use axum::response::Response;

use crate::access::Caller;
use crate::api::themes::archive::archived;
use crate::problem::{ErrorBody, Problem};
use crate::query::Segments;
use crate::state::Admin;
use crate::themes::{publisher, seen};
use crate::wording::Wording;

/// Downloads what is live
///
/// The files of a theme as gates find them now, published here or put there by hand, as a ZIP archive that can be uploaded.
#[utoipa::path(get, path = "/themes/{theme}/archive", tag = "themes",
    params(("theme" = String, Path, description = "Id of the theme")),
    responses(
        (status = 200, description = "The archive", content_type = "application/zip", body = crate::themes::ZipArchive),
        (status = 409, description = "Themes are kept nowhere", body = ErrorBody),
    ))]
pub(crate) async fn download_live_theme(
    State(admin): State<Admin>,
    caller: Caller,
    Segments(id): Segments<String>,
) -> Result<Response, Problem> {
    let theme = seen(&admin, &caller, &id).await?;
    let files = publisher(&admin)?.live(&theme.id).await?.ok_or(Problem::Unknown(Wording::ATheme))?;
    archived(&theme.id, files).await
}
