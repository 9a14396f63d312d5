use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;
use vestibule_core::QueueId;
use vestibule_themes::Draft;

use crate::access::Caller;
use crate::api::themes::ThemeVersionView;
use crate::audit::AuditEventBuilder;
use crate::problem::Problem;
use crate::query::{Query, Segments, flag};
use crate::state::Admin;
use crate::themes::{OwnedTheme, ThemeUpload, Upload, ZipArchive, operated, publisher};

/// What was checked, and not kept.
#[derive(Serialize, ToSchema)]
pub(crate) struct ThemeCheck {
    /// How many files it has.
    files: usize,
    /// How many bytes they have together.
    bytes: usize,
}

/// Upload a theme version
///
/// Keeps the files as the theme's newest version, once every page of it was drawn in all states and languages. Visitors see
/// it when it is published. A theme that is broken is refused, each fault by file and line. At most 16 MB as a ZIP
/// archive or base64 (1 MB through a load balancer that calls a function), 64 MB unpacked in 1000 files, 2 MB a file,
/// 256 KB a template. With `validate=true` nothing is kept.
#[utoipa::path(post, path = "/themes/{theme}/versions", tag = "themes",
    request_body(content((ThemeUpload = "application/json"), (ZipArchive = "application/zip"))),
    params(("theme" = String, Path, description = "ID of the theme: a tenant's id, alone or with `-` and more behind it"),
        ("validate" = Option<bool>, Query, description = "Only say whether it works")),
    responses(
        (status = 200, description = "It works, and was not kept", body = ThemeCheck),
        (status = 201, description = "The new version", body = ThemeVersionView),
        (status = 409, description = "Somebody else does the same at this moment, or themes are kept nowhere"),
        (status = 422, description = "It is broken; `errors` names all that is, `field` as file and line"),
    ))]
pub(crate) async fn upload_theme(
    State(admin): State<Admin>,
    caller: Caller,
    query: Query,
    Segments(id): Segments<String>,
    upload: Upload,
) -> Result<Response, Problem> {
    let only_validate = query.read(|fields| flag(fields, "validate"))?;
    let theme = operated(&admin, &caller, &id).await?;
    let files = upload.files(&admin.unpacking).await?;
    let draft =
        Draft::check_for(files, queues_of(&admin, &theme)).await.map_err(|faults| Problem::broken_theme(&faults))?;
    if only_validate {
        let bytes = draft.files().values().map(bytes::Bytes::len).sum();
        return Ok(Json(ThemeCheck { files: draft.files().len(), bytes }).into_response());
    }
    let now = admin.now().await?;
    let version = publisher(&admin)?.stage(&theme.id, &draft, &caller.operator.to_string(), now).await?;
    let event = AuditEventBuilder::of(&caller, "theme.upload").theme(&theme).with("version", version.id.to_string());
    event.with("files", version.files).with("bytes", version.bytes).log(&admin).await;
    Ok((StatusCode::CREATED, Json(ThemeVersionView::from(version))).into_response())
}

/// The queues that have the theme, or whose tenant has it.
fn queues_of(admin: &Admin, theme: &OwnedTheme) -> Vec<QueueId> {
    let mut queues = admin.directory.queues();
    let tenant = theme.tenant.as_ref().map(|tenant| &tenant.id);
    queues.retain(|queue| queue.settings.theme.as_ref() == Some(&theme.id) || tenant == Some(&queue.settings.tenant));
    queues.iter().map(|queue| queue.settings.id.clone()).collect()
}
