use axum::extract::State;
use http::StatusCode;

use crate::access::Caller;
use crate::audit::AuditEventBuilder;
use crate::merge_patch::FieldChange;
use crate::problem::Problem;
use crate::query::Segments;
use crate::state::Admin;
use crate::themes::{operated, publisher, there};

/// Deactivate a theme
///
/// Visitors of its queues see the theme `default`, or the built-in page, within seconds. Its versions stay, what was put there
/// by hand becomes one, and publishing any of them undoes this: so it asks for no confirmation. Of a theme that is not live it
/// changes nothing.
#[utoipa::path(post, path = "/themes/{theme}/deactivate", tag = "themes",
    params(("theme" = String, Path, description = "ID of the theme")),
    responses(
        (status = 204, description = "Visitors see nothing of it"),
        (status = 409, description = "Somebody else publishes at this moment, or themes are kept nowhere"),
        (status = 422, description = "What was put there by hand can't be kept as a version; `errors` names all that is wrong"),
    ))]
pub(crate) async fn deactivate_theme(
    State(admin): State<Admin>,
    caller: Caller,
    Segments(id): Segments<String>,
) -> Result<StatusCode, Problem> {
    let theme = operated(&admin, &caller, &id).await?;
    there(&admin, &theme).await?;
    let live = publisher(&admin)?.unpublish(&theme.id, admin.now().await?).await?;
    if let Some(live) = live {
        let change =
            FieldChange { field: "live".to_owned(), from: live.id.to_string().into(), to: serde_json::Value::Null };
        AuditEventBuilder::of(&caller, "theme.deactivate").theme(&theme).changes(vec![change]).log(&admin).await;
    }
    Ok(StatusCode::NO_CONTENT)
}
