use axum::Json;
use axum::extract::State;
use vestibule_themes::VersionId;

use crate::access::Caller;
use crate::api::themes::ThemeVersionView;
use crate::audit::AuditEventBuilder;
use crate::codes::Code;
use crate::merge_patch::FieldChange;
use crate::problem::Problem;
use crate::query::Segments;
use crate::state::Admin;
use crate::themes::{operated, publisher};

/// Activate a theme version
///
/// Makes a version what visitors see, the newest or an older one, once it was checked anew. Gates notice it within
/// seconds. It is undone by publishing the one before, so it asks for no confirmation.
#[utoipa::path(post, path = "/themes/{theme}/versions/{version}/activate", tag = "themes",
    params(("theme" = String, Path, description = "ID of the theme"), ("version" = String, Path, description = "ID of the version")),
    responses(
        (status = 200, description = "The version, which is live", body = ThemeVersionView),
        (status = 409, description = "Somebody else does the same at this moment, or themes are kept nowhere"),
        (status = 422, description = "It does not work any more; `errors` names all that is wrong"),
    ))]
pub(crate) async fn activate_theme_version(
    State(admin): State<Admin>,
    caller: Caller,
    Segments((id, version)): Segments<(String, String)>,
) -> Result<Json<ThemeVersionView>, Problem> {
    let theme = operated(&admin, &caller, &id).await?;
    let version: VersionId = version.parse().map_err(|_| Problem::NotFound(Code::AVersion))?;
    let publisher = publisher(&admin)?;
    let before = publisher.versions(&theme.id).await?.into_iter().find(|version| version.live);
    let live = publisher.roll_back(&theme.id, &version, admin.now().await?).await?;
    let id = |version: &VersionId| version.to_string().into();
    let (from, to) = (before.map_or_else(Default::default, |before| id(&before.id)), id(&live.id));
    let changes = vec![FieldChange { field: "live".to_owned(), from, to }];
    AuditEventBuilder::of(&caller, "theme.activate").theme(&theme).changes(changes).log(&admin).await;
    Ok(Json(live.into()))
}
