use axum::extract::State;
use http::{HeaderMap, StatusCode};
use vestibule_themes::VersionList;

use crate::access::Principal;
use crate::audit::AuditEventBuilder;
use crate::body::Segments;
use crate::codes::Code;
use crate::confirmation::confirmed;
use crate::problem::Problem;
use crate::state::Admin;
use crate::themes::{OwnedTheme, find_editable, must_exist, theme_versions};

/// Remove a theme
///
/// Removes the theme permanently with all its versions, and files that were copied into the folder. Fails while a queue uses it. Needs a confirmation.
#[utoipa::path(delete, path = "/themes/{theme}", tag = "themes",
    params(("X-Vestibule-Confirm" = Option<String>, Header, description = "The confirmation token of the first response")),
    responses(
        (status = 204, description = "Removed"),
        (status = 409, description = "Queues use the theme, or theme storage is not configured"),
    ))]
pub(crate) async fn remove_theme(
    State(admin): State<Admin>,
    principal: Principal,
    headers: HeaderMap,
    Segments(id): Segments<String>,
) -> Result<StatusCode, Problem> {
    let theme = find_editable(&admin, &principal, &id).await?;
    let stored = theme_versions(&admin)?;
    must_exist(&admin, &theme).await?;
    refuse_if_used(&admin, &theme).await?;
    let VersionList { revision, versions } = stored.list(&theme.id).await?;
    let (versions, newest) = (versions.len(), versions.first().map_or("-", |version| version.id.as_str()).to_owned());
    let effect = || match versions {
        0 => Code::WillRemoveUnversionedTheme.with("theme", theme.id.as_str()),
        _ => Code::WillRemoveTheme.with("theme", theme.id.as_str()).with("versions", versions),
    };
    let subject = format!("theme.remove {} {versions} {newest} {revision}", theme.id);
    confirmed(&admin, &principal, &headers, &subject, effect).await?;
    let event = AuditEventBuilder::of(&principal, "theme.remove").theme(&theme).with("versions", versions);
    let (by, now) = (principal.operator.to_string(), admin.now().await?);
    if let Err(error) = stored.deactivate(&theme.id, None, &by, now).await {
        return Err(event.failed(&admin, error.into()).await);
    }
    if let Err(error) = stored.remove(&theme.id, &by, now).await {
        // Visitors do not see the theme any more, and some of its files may be gone.
        event.incomplete().log(&admin).await;
        return Err(error.into());
    }
    event.log(&admin).await;
    Ok(StatusCode::NO_CONTENT)
}

/// Refuses to remove a theme that queues use. For a tenant's theme only the tenant's queues count: those of others cannot
/// keep it.
async fn refuse_if_used(admin: &Admin, theme: &OwnedTheme) -> Result<(), Problem> {
    admin.directory.refresh().await?;
    let mut queues = admin.directory.queues();
    queues.retain(|queue| queue.settings.theme.as_ref() == Some(&theme.id));
    queues.retain(|queue| theme.tenant_id().is_none_or(|owner| *owner == queue.settings.tenant));
    let names: Vec<String> = queues.iter().map(|queue| format!("\"{}\"", queue.settings.id)).collect();
    if names.is_empty() { Ok(()) } else { Err(Problem::ThemeInUse(names.join(", "))) }
}
