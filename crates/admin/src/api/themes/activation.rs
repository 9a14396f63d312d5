use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::ETAG;
use http::{HeaderMap, StatusCode};
use serde_json::Value;
use vestibule_core::settings::FieldChange;
use vestibule_themes::{LiveChange, VersionId};

use crate::access::Principal;
use crate::api::queues::service::IfMatch;
use crate::api::themes::version_view::ThemeVersionView;
use crate::audit::AuditEventBuilder;
use crate::body::Segments;
use crate::codes::Code;
use crate::problem::Problem;
use crate::queue_settings::etag;
use crate::state::Admin;
use crate::themes::{OwnedTheme, find_editable, must_exist, theme_versions};

/// Activate a theme version
///
/// Validates a version, the newest or an older one, and shows it to visitors within seconds. Needs no confirmation,
/// because activating the previous version undoes it. If the theme was activated or deactivated since the revision in
/// `If-Match`, nothing is changed.
#[utoipa::path(post, path = "/themes/{theme}/versions/{version}/activate", tag = "themes",
    params(("If-Match" = String, Header, description = "The `ETag` of the versions, or `*` for any")),
    responses(
        (status = 200, description = "The active version", body = ThemeVersionView, headers(("ETag" = String))),
        (status = 409, description = "Theme storage is not configured"),
        (status = 412, description = "Changed by someone else"),
        (status = 422, description = "The version is no longer valid; `errors` lists all problems"),
        (status = 428, description = "`If-Match` is missing"),
    ))]
pub(crate) async fn activate_theme_version(
    State(admin): State<Admin>,
    principal: Principal,
    headers: HeaderMap,
    Segments((id, version)): Segments<(String, String)>,
) -> Result<Response, Problem> {
    let theme = find_editable(&admin, &principal, &id).await?;
    let version: VersionId = version.parse().map_err(|_| Problem::NotFound(Code::AVersion))?;
    let (expected, by) = (IfMatch::of(&headers)?.revision(), principal.operator.to_string());
    let versions = theme_versions(&admin)?;
    // It is validated again. The semaphore is never closed.
    let permit = admin.theme_work.renders.acquire().await;
    let activated = versions.activate(&theme.id, &version, expected, &by, admin.now().await?).await;
    drop(permit);
    let (live, change) = match activated {
        Ok(activated) => activated,
        Err(error) => {
            let event = AuditEventBuilder::of(&principal, "theme.activate").theme(&theme);
            let event = event.changes(vec![live_change(None, Some(&version))]);
            return Err(event.failed(&admin, error.into()).await);
        }
    };
    log(&admin, &principal, "theme.activate", &theme, &change, Some(&version)).await;
    Ok(([(ETAG, etag(change.revision))], Json(ThemeVersionView::from(live))).into_response())
}

/// Deactivate a theme
///
/// Visitors of its queues see the theme `default` or the built-in page within seconds. Versions are kept, and so are
/// files that were copied into the folder, which visitors do not see either. Needs no confirmation, because activating a
/// version undoes it. Has no effect on an inactive theme.
#[utoipa::path(post, path = "/themes/{theme}/deactivate", tag = "themes",
    params(("If-Match" = String, Header, description = "The `ETag` of the versions, or `*` for any")),
    responses(
        (status = 204, description = "Deactivated", headers(("ETag" = String))),
        (status = 409, description = "Theme storage is not configured"),
        (status = 412, description = "Changed by someone else"),
        (status = 428, description = "`If-Match` is missing"),
    ))]
pub(crate) async fn deactivate_theme(
    State(admin): State<Admin>,
    principal: Principal,
    headers: HeaderMap,
    Segments(id): Segments<String>,
) -> Result<Response, Problem> {
    let theme = find_editable(&admin, &principal, &id).await?;
    must_exist(&admin, &theme).await?;
    let (expected, by) = (IfMatch::of(&headers)?.revision(), principal.operator.to_string());
    let change = match theme_versions(&admin)?.deactivate(&theme.id, expected, &by, admin.now().await?).await {
        Ok(change) => change,
        Err(error) => {
            let event = AuditEventBuilder::of(&principal, "theme.deactivate").theme(&theme);
            return Err(event.failed(&admin, error.into()).await);
        }
    };
    log(&admin, &principal, "theme.deactivate", &theme, &change, None).await;
    Ok((StatusCode::NO_CONTENT, [(ETAG, etag(change.revision))]).into_response())
}

/// Writes the event of a change, if something changed.
async fn log(
    admin: &Admin,
    principal: &Principal,
    action: &str,
    theme: &OwnedTheme,
    change: &LiveChange,
    live: Option<&VersionId>,
) {
    if !change.is_changed {
        return;
    }
    let live = live_change(change.before.as_ref(), live);
    let event = AuditEventBuilder::of(principal, action).theme(theme).changes(vec![live]);
    event.revision(change.revision).log(admin).await;
}

/// The change of the live version; `None` is no version.
fn live_change(before: Option<&VersionId>, after: Option<&VersionId>) -> FieldChange {
    let value = |version: Option<&VersionId>| version.map_or(Value::Null, |version| version.as_str().into());
    FieldChange { field: "live".to_owned(), from: value(before), to: value(after) }
}
