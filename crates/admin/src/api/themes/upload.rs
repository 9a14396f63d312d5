use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::Principal;
use crate::api::themes::version_view::ThemeVersionView;
use crate::audit::AuditEventBuilder;
use crate::body::{Query, Segments, ValidateQuery};
use crate::problem::Problem;
use crate::state::Admin;
use crate::themes::{ThemeUpload, Upload, ZipArchive, find_editable, queues_of, theme_versions};

/// The result of a validation.
#[derive(Serialize, ToSchema)]
pub(crate) struct ThemeCheck {
    /// Number of files.
    files: usize,
    /// Total size in bytes.
    bytes: usize,
}

/// Upload a theme version
///
/// Validates all pages in all states and languages and stores the files as the newest version, which never changes.
/// Visitors see it after activation, so uploads need no `If-Match`. An invalid theme is rejected with file and line of each error. Limits: 16 MB as a ZIP archive or base64
/// (1 MB through a load balancer in front of a Lambda function), 64 MB unpacked, 1000 files, 2 MB per file, 256 KB per
/// template. With `validate=true` nothing is stored.
#[utoipa::path(post, path = "/themes/{theme}/versions", tag = "themes",
    request_body(content((ThemeUpload = "application/json"), (ZipArchive = "application/zip"))),
    params(("theme" = String, Path, description = "ID of the theme: the ID of a tenant, optionally followed by `-` and a suffix"),
        ValidateQuery),
    responses(
        (status = 200, description = "The theme is valid; nothing was stored", body = ThemeCheck),
        (status = 201, description = "The new version", body = ThemeVersionView),
        (status = 409, description = "Theme storage is not configured"),
        (status = 422, description = "The theme is invalid; `errors` lists all problems, with file and line as `field`"),
    ))]
pub(crate) async fn upload_theme(
    State(admin): State<Admin>,
    principal: Principal,
    Query(ValidateQuery { validate }): Query<ValidateQuery>,
    Segments(id): Segments<String>,
    upload: Upload,
) -> Result<Response, Problem> {
    let theme = find_editable(&admin, &principal, &id).await?;
    let files = upload.files(&admin.theme_work.unpacking).await?;
    let draft = admin.theme_work.checked(files, queues_of(&admin, &theme)).await?;
    if validate {
        let bytes = draft.files().values().map(bytes::Bytes::len).sum();
        return Ok(Json(ThemeCheck { files: draft.files().len(), bytes }).into_response());
    }
    let now = admin.now().await?;
    let by = principal.operator.to_string();
    let event = AuditEventBuilder::of(&principal, "theme.upload").theme(&theme);
    let version = match theme_versions(&admin)?.create(&theme.id, &draft, &by, now).await {
        Ok(version) => version,
        Err(error) => return Err(event.failed(&admin, error.into()).await),
    };
    let event = event.with("version", version.id.to_string());
    event.with("files", version.files).with("bytes", version.bytes).log(&admin).await;
    Ok((StatusCode::CREATED, Json(ThemeVersionView::from(version))).into_response())
}
