use axum::extract::State;
use http::StatusCode;

use crate::access::Principal;
use crate::audit::AuditEventBuilder;
use crate::body::Segments;
use crate::merge_patch::FieldChange;
use crate::problem::Problem;
use crate::state::Admin;
use crate::themes::{find_editable, find_existing, publisher};

/// Deactivate a theme
///
/// Visitors of its queues see the theme `default` or the built-in page within seconds. Versions are kept; files that
/// were copied into the folder become a version. Needs no confirmation, because activating a version undoes it. Has no
/// effect on an inactive theme.
#[utoipa::path(post, path = "/themes/{theme}/deactivate", tag = "themes",
    params(("theme" = String, Path, description = "ID of the theme")),
    responses(
        (status = 204, description = "Deactivated"),
        (status = 409, description = "Someone else is changing the theme, or theme storage is not configured"),
        (status = 422, description = "The files in the folder cannot be stored as a version; `errors` lists all problems"),
    ))]
pub(crate) async fn deactivate_theme(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
) -> Result<StatusCode, Problem> {
    let theme = find_editable(&admin, &principal, &id).await?;
    find_existing(&admin, &theme).await?;
    let live = publisher(&admin)?.deactivate(&theme.id, admin.now().await?).await?;
    if let Some(live) = live {
        let change =
            FieldChange { field: "live".to_owned(), from: live.id.to_string().into(), to: serde_json::Value::Null };
        AuditEventBuilder::of(&principal, "theme.deactivate").theme(&theme).changes(vec![change]).log(&admin).await;
    }
    Ok(StatusCode::NO_CONTENT)
}
