use axum::Json;
use axum::extract::State;
use vestibule_themes::VersionId;

use crate::access::Caller;
use crate::api::themes::ThemeVersionView;
use crate::audit::Deed;
use crate::change::FieldChange;
use crate::problem::{ErrorBody, Problem};
use crate::query::Segments;
use crate::state::Admin;
use crate::themes::{operated, publisher};
use crate::wording::Wording;

/// Publishes a version
///
/// Makes a version what visitors see, the newest or an older one, once it was checked anew. Gates notice it within
/// seconds. It is undone by publishing the one before, so it asks for no confirmation.
#[utoipa::path(post, path = "/themes/{theme}/versions/{version}/publish", tag = "themes",
    params(("theme" = String, Path, description = "Id of the theme"), ("version" = String, Path, description = "Id of the version")),
    responses(
        (status = 200, description = "The version, which is live", body = ThemeVersionView),
        (status = 409, description = "Somebody else does the same at this moment, or themes are kept nowhere", body = ErrorBody),
        (status = 422, description = "It does not work any more; `errors` names all that is wrong", body = ErrorBody),
    ))]
pub(crate) async fn publish_theme(
    State(admin): State<Admin>,
    caller: Caller,
    Segments((id, version)): Segments<(String, String)>,
) -> Result<Json<ThemeVersionView>, Problem> {
    let theme = operated(&admin, &caller, &id).await?;
    let version: VersionId = version.parse().map_err(|_| Problem::Unknown(Wording::AVersion))?;
    let publisher = publisher(&admin)?;
    let before = publisher.versions(&theme.id).await?.into_iter().find(|version| version.live);
    let live = publisher.roll_back(&theme.id, &version, admin.now().await?).await?;
    let id = |version: &VersionId| version.to_string().into();
    let (from, to) = (before.map_or_else(Default::default, |before| id(&before.id)), id(&live.id));
    let changes = vec![FieldChange { field: "live".to_owned(), from, to }];
    Deed::of(&caller, "theme.publish").theme(&theme).changes(changes).log(&admin).await;
    Ok(Json(live.into()))
}
