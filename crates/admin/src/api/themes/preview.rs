use axum::extract::State;
use axum::response::Response;
use serde_json::Value;
use vestibule_core::VisitorState;
use vestibule_themes::{Language, VersionId};

use crate::access::Principal;
use crate::api::themes::list::STATES;
use crate::codes::Code;
use crate::problem::Problem;
use crate::query::{Query, Segments, one_of, parsed};
use crate::state::Admin;
use crate::themes::{find_visible, preview_page};

/// Preview a theme
///
/// Returns the page with sample data for an iframe. The page runs no script and has no access to the backoffice. For a
/// theme that does not exist it is the built-in page in the colors of the tenant.
#[utoipa::path(get, path = "/themes/{theme}/preview", tag = "themes",
    params(("theme" = String, Path, description = "ID of the theme"),
        ("version" = Option<String>, Query, description = "ID of the version; the active version by default"),
        ("state" = Option<String>, Query, description = "Visitor state; `waiting` by default", pattern = "^(waiting|admitted|paused|closed|unavailable)$"),
        ("language" = Option<String>, Query, description = "Visitor language; `en` by default", pattern = "^(en|de|fr|es|nl|cy)$")),
    responses(
        (status = 200, description = "The page", content_type = "text/html", body = String),
        (status = 409, description = "Theme storage is not configured"),
        (status = 422, description = "A parameter or the theme is invalid; `errors` lists all problems"),
    ))]
pub(crate) async fn preview_theme(
    State(admin): State<Admin>,
    principal: Principal,
    query: Query,
    Segments(id): Segments<String>,
) -> Result<Response, Problem> {
    let (version, state, language) = query.read(|fields| {
        let (states, languages) = (STATES.map(VisitorState::as_str), Language::ALL.map(Language::code));
        let version = parsed::<VersionId>(fields, "version", Code::VersionId);
        let state = fields.or("state", VisitorState::Waiting, one_of(&states), state);
        (version, state, fields.or("language", Language::ALL[0], one_of(&languages), language))
    })?;
    let theme = find_visible(&admin, &principal, &id).await?;
    preview_page(&admin, &theme, version, state, language).await
}

pub(super) fn state(value: &Value) -> Option<VisitorState> {
    STATES.into_iter().find(|state| Some(state.as_str()) == value.as_str())
}

pub(super) fn language(value: &Value) -> Option<Language> {
    Language::ALL.into_iter().find(|language| Some(language.code()) == value.as_str())
}
