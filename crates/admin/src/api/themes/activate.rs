use axum::Json;
use axum::extract::State;
use vestibule_themes::VersionId;

use crate::access::Principal;
use crate::api::themes::ThemeVersionView;
use crate::audit::AuditEventBuilder;
use crate::body::Segments;
use crate::codes::Code;
use crate::merge_patch::FieldChange;
use crate::problem::Problem;
use crate::state::Admin;
use crate::themes::{find_editable, publisher};

/// Activate a theme version
///
/// Validates a version, the newest or an older one, and shows it to visitors within seconds. Needs no confirmation,
/// because activating the previous version undoes it.
#[utoipa::path(post, path = "/themes/{theme}/versions/{version}/activate", tag = "themes",
    params(("theme" = String, Path, description = "ID of the theme"), ("version" = String, Path, description = "ID of the version")),
    responses(
        (status = 200, description = "The active version", body = ThemeVersionView),
        (status = 409, description = "Someone else is changing the theme, or theme storage is not configured"),
        (status = 422, description = "The version is no longer valid; `errors` lists all problems"),
    ))]
pub(crate) async fn activate_theme_version(
    State(admin): State<Admin>,
    principal: Principal,
    Segments((id, version)): Segments<(String, String)>,
) -> Result<Json<ThemeVersionView>, Problem> {
    let theme = find_editable(&admin, &principal, &id).await?;
    let version: VersionId = version.parse().map_err(|_| Problem::NotFound(Code::AVersion))?;
    let publisher = publisher(&admin)?;
    let before = publisher.versions(&theme.id).await?.into_iter().find(|version| version.live);
    let live = publisher.activate(&theme.id, &version, admin.now().await?).await?;
    let id = |version: &VersionId| version.to_string().into();
    let (from, to) = (before.map_or_else(Default::default, |before| id(&before.id)), id(&live.id));
    let changes = vec![FieldChange { field: "live".to_owned(), from, to }];
    AuditEventBuilder::of(&principal, "theme.activate").theme(&theme).changes(changes).log(&admin).await;
    Ok(Json(live.into()))
}
