use axum::extract::State;
use axum::response::Response;
use vestibule_core::fields::{Bounded, Field as _, ObjectReader, Omissible};
use vestibule_core::settings::{FieldErrorCode, MESSAGE_MAX, Name};
use vestibule_core::{QueueId, Timestamp, VisitorState, choice_kind, fields, text_kind};
use vestibule_themes::{Language, VersionId};

use crate::access::Principal;
use crate::api::queues::service::find_visible as find_visible_queue;
use crate::api::themes::list::STATES;
use crate::body::{Query, Segments};
use crate::codes::Code;
use crate::describe::describe;
use crate::problem::Problem;
use crate::state::Admin;
use crate::themes::{SampleEvent, SamplePage, find_used, find_visible, preview_page};

text_kind! {
    /// The ID of a version.
    pub(crate) Version -> VersionId: Code::VersionId, {}, |text| text.parse().ok();
    /// A message that is not checked otherwise: it is only shown.
    pub(crate) ShownMessage: FieldErrorCode::MessageText.with("most", MESSAGE_MAX), { "maxLength": MESSAGE_MAX }, shown_message;
}

fn shown_message(text: &str) -> Option<String> {
    (text.chars().count() <= MESSAGE_MAX).then(|| text.to_owned())
}

fields! {
    /// The page to preview.
    pub(crate) struct PreviewQuery {
        /// ID of the version; the active version by default.
        version: Omissible<Version>,
        /// ID of a queue that uses the theme. The page has its name, brand and settings.
        queue: Omissible<QueueId>,
        /// Visitor state.
        state: PreviewState = VisitorState::Waiting,
        /// Visitor language.
        language: PreviewLanguage = Language::ALL[0],
        /// Name of an event that is ahead, for the states `paused` and `closed`.
        event: Omissible<Name>,
        /// When the event starts; needed with `event`.
        starts_at: Omissible<Timestamp>,
        /// Seconds until the start that the page shows.
        starts_in: Bounded<1, STARTS_IN_MAX> = STARTS_IN,
        /// The operator's message; by default a sample for the state `waiting`.
        message: Omissible<ShownMessage>,
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
        object.error("starts_at", FieldErrorCode::Required.with("what", Timestamp::expected()));
    }
}

/// Preview a theme
///
/// Returns the page with sample data for an iframe. The page runs no script and has no access to the backoffice. For a
/// theme that does not exist it is the built-in page in the colors of the tenant. With an `event`, it counts down to it.
/// With a `message`, it shows that. With a `queue`, everyone who can view the queue can view the page of the active
/// version, also of the theme `default`, which queues without a theme use, and of shared themes.
#[utoipa::path(get, path = "/themes/{theme}/preview", tag = "themes",
    params(PreviewQuery),
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
    let PreviewQuery { version, queue, state, language, event, starts_at, starts_in, message } = query;
    let queue = match queue {
        Some(queue) => Some(find_visible_queue(&admin, &principal, queue.as_str()).await?),
        None => None,
    };
    let theme = match &queue {
        // Visitors see the active version only.
        Some(queue) if version.is_none() => find_used(&admin, queue, &id).await?,
        Some(queue) => {
            find_visible(&admin, &principal, &id).await?;
            find_used(&admin, queue, &id).await?
        }
        None => find_visible(&admin, &principal, &id).await?,
    };
    let event = event.zip(starts_at).map(|(name, starts_at)| SampleEvent { name, starts_at, starts_in });
    preview_page(&admin, &theme, queue.as_ref(), version, &SamplePage { state, language, event, message }).await
}

choice_kind! {
    /// A visitor state that is previewed.
    pub(super) PreviewState -> VisitorState: "string", STATES, |state| state.as_str().into();
    /// A language of the queue page.
    pub(super) PreviewLanguage -> Language: "string", Language::ALL, |language| language.code().into();
}
