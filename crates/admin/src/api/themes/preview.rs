use axum::extract::State;
use axum::response::Response;
use serde_json::{Value, json};
use vestibule_core::fields::{Bounded, Field, ObjectReader, Omissible, Reader, one_of};
use vestibule_core::settings::{FieldWording, Name};
use vestibule_core::{Message, Timestamp, VisitorState, fields};
use vestibule_themes::{Language, VersionId};

use crate::access::Principal;
use crate::api::themes::list::STATES;
use crate::body::{Query, Segments};
use crate::codes::Code;
use crate::describe::describe;
use crate::problem::Problem;
use crate::state::Admin;
use crate::themes::{SampleEvent, SamplePage, find_visible, preview_page};

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
        /// Name of an event that is ahead, for the states `paused` and `closed`.
        event: Omissible<Name>,
        /// When the event starts; needed with `event`.
        starts_at: Omissible<Timestamp>,
        /// Seconds until the start that the page shows.
        starts_in: Bounded<1, STARTS_IN_MAX> = STARTS_IN,
    }
    check = check_event;
}

describe!(query PreviewQuery);

/// Most seconds until the start of an event: the longest that a lobby takes.
const STARTS_IN_MAX: u64 = 86_400;
/// Default of `starts_in`.
const STARTS_IN: u64 = 900;

fn check_event(query: &mut PreviewQuery, object: &mut ObjectReader<'_>) {
    if query.event.is_some() && query.starts_at.is_none() {
        object.error("starts_at", FieldWording::Required.with("what", Timestamp::expected()));
    }
}

/// Preview a theme
///
/// Returns the page with sample data for an iframe. The page runs no script and has no access to the backoffice. For a
/// theme that does not exist it is the built-in page in the colors of the tenant. With an `event`, it counts down to it.
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
    Query(query): Query<PreviewQuery>,
    Segments(id): Segments<String>,
) -> Result<Response, Problem> {
    let theme = find_visible(&admin, &principal, &id).await?;
    let PreviewQuery { version, state, language, event, starts_at, starts_in } = query;
    let event = event.zip(starts_at).map(|(name, starts_at)| SampleEvent { name, starts_at, starts_in });
    preview_page(&admin, &theme, version, &SamplePage { state, language, event }).await
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
