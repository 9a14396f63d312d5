use axum::extract::State;
use http::{HeaderMap, StatusCode};

use crate::access::Principal;
use crate::audit::AuditEventBuilder;
use crate::body::Segments;
use crate::codes::Code;
use crate::confirmation::confirmed;
use crate::problem::Problem;
use crate::state::Admin;
use crate::themes::{OwnedTheme, find_editable, find_existing, publisher};

/// Remove a theme
///
/// Removes the theme permanently with all its versions. Fails while a queue uses it. Needs a confirmation.
#[utoipa::path(delete, path = "/themes/{theme}", tag = "themes",
    params(("theme" = String, Path, description = "ID of the theme"),
        ("X-Vestibule-Confirm" = Option<String>, Header, description = "The confirmation token of the first response")),
    responses(
        (status = 204, description = "Removed"),
        (status = 409, description = "Queues use the theme, someone else is changing it, or theme storage is not configured"),
        (status = 428, description = "Confirmation required"),
    ))]
pub(crate) async fn remove_theme(
    State(admin): State<Admin>,
    principal: Principal,
    headers: HeaderMap,
    Segments(id): Segments<String>,
) -> Result<StatusCode, Problem> {
    let theme = find_editable(&admin, &principal, &id).await?;
    let publisher = publisher(&admin)?;
    let known = find_existing(&admin, &theme).await?;
    refuse_if_used(&admin, &theme).await?;
    let kept = publisher.versions(&theme.id).await?;
    let (versions, newest) = (kept.len(), kept.first().map_or("-", |version| version.id.as_str()));
    let effect = || match versions {
        0 => Code::WillRemoveUnversionedTheme.with("theme", theme.id.as_str()),
        _ => Code::WillRemoveTheme.with("theme", theme.id.as_str()).with("versions", versions),
    };
    let subject = format!("theme.remove {} {versions} {newest} {}", theme.id, known.live);
    confirmed(&admin, &principal, &headers, &subject, effect).await?;
    publisher.remove(&theme.id, admin.now().await?).await?;
    AuditEventBuilder::of(&principal, "theme.remove").theme(&theme).with("versions", versions).log(&admin).await;
    Ok(StatusCode::NO_CONTENT)
}

/// Names the queues that have the theme. Of a tenant's theme only its own queues count: another tenant's can't keep it.
async fn refuse_if_used(admin: &Admin, theme: &OwnedTheme) -> Result<(), Problem> {
    admin.directory.refresh().await?;
    let mut queues = admin.directory.queues();
    queues.retain(|queue| queue.settings.theme.as_ref() == Some(&theme.id));
    queues.retain(|queue| theme.tenant_id().is_none_or(|owner| *owner == queue.settings.tenant));
    let mut names: Vec<String> = queues.iter().map(|queue| format!("\"{}\"", queue.settings.id)).collect();
    names.sort();
    if names.is_empty() { Ok(()) } else { Err(Problem::ThemeInUse(names.join(", "))) }
}
