use axum::extract::State;
use axum::response::Response;
use serde_json::{Value, json};
use vestibule_core::fields::{Field, Omissible, Reader, one_of};
use vestibule_core::{Message, VisitorState, fields};
use vestibule_themes::{Language, VersionId};

use crate::access::Principal;
use crate::api::themes::list::STATES;
use crate::body::{Query, Segments};
use crate::codes::Code;
use crate::describe::describe;
use crate::problem::Problem;
use crate::state::Admin;
use crate::themes::{find_visible, preview_page};

/// The ID of a version.
pub(crate) struct Version;

impl Field for Version {
    type Value = VersionId;

    fn expected() -> Message {
        Code::VersionId.into()
    }

    fn schema() -> Value {
        json!({ "type": "string" })
    }

    fn parse(value: &Value, reader: &mut Reader) -> Option<VersionId> {
        reader.accept::<Self>(value, value.as_str().and_then(|text| text.parse().ok()))
    }
}

fields! {
    /// The page to preview.
    pub(crate) struct PreviewQuery {
        /// ID of the version; the active version by default.
        version: Omissible<Version>,
        /// Visitor state; `waiting` by default.
        state: PreviewState = VisitorState::Waiting,
        /// Visitor language; `en` by default.
        language: PreviewLanguage = Language::ALL[0],
    }
}

describe!(query PreviewQuery);

/// Preview a theme
///
/// Returns the page with sample data for an iframe. The page runs no script and has no access to the backoffice. For a
/// theme that does not exist it is the built-in page in the colors of the tenant.
#[utoipa::path(get, path = "/themes/{theme}/preview", tag = "themes",
    params(("theme" = String, Path, description = "ID of the theme"),
        PreviewQuery),
    responses(
        (status = 200, description = "The page", content_type = "text/html", body = String),
        (status = 409, description = "Theme storage is not configured"),
        (status = 422, description = "A parameter or the theme is invalid; `errors` lists all problems"),
    ))]
pub(crate) async fn preview_theme(
    State(admin): State<Admin>,
    principal: Principal,
    Query(PreviewQuery { version, state, language }): Query<PreviewQuery>,
    Segments(id): Segments<String>,
) -> Result<Response, Problem> {
    let theme = find_visible(&admin, &principal, &id).await?;
    preview_page(&admin, &theme, version, state, language).await
}

/// A visitor state that is previewed.
pub(super) struct PreviewState;

impl Field for PreviewState {
    type Value = VisitorState;

    fn expected() -> Message {
        one_of(STATES.map(VisitorState::as_str).into_iter())
    }

    fn schema() -> Value {
        json!({ "type": "string", "enum": STATES.map(VisitorState::as_str) })
    }

    fn parse(value: &Value, reader: &mut Reader) -> Option<VisitorState> {
        let state = STATES.into_iter().find(|state| Some(state.as_str()) == value.as_str());
        reader.accept::<Self>(value, state)
    }
}

/// A language of the queue page.
pub(super) struct PreviewLanguage;

impl Field for PreviewLanguage {
    type Value = Language;

    fn expected() -> Message {
        one_of(Language::ALL.iter().map(|language| language.code()))
    }

    fn schema() -> Value {
        json!({ "type": "string", "enum": Language::ALL.map(Language::code) })
    }

    fn parse(value: &Value, reader: &mut Reader) -> Option<Language> {
        let language = Language::ALL.into_iter().find(|language| Some(language.code()) == value.as_str());
        reader.accept::<Self>(value, language)
    }
}
