//! How an error becomes an answer: one table of status, code and field.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use tracing::warn;
use utoipa::ToSchema;
use vestibule_core::StoreError;
use vestibule_core::settings::FieldError;

use crate::confirmation::Confirmation;
use crate::conflict::Conflict;

/// Seconds after which to try again while the store is away.
const STORE_RETRY: u64 = 1;

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    #[error("nothing says who asks: sign in, or send an API token as \"Authorization: Bearer <token>\"")]
    NotSignedIn,
    #[error("this sign-in or token is good no more: it lapsed, was ended or was revoked")]
    GoodNoMore,
    #[error("name or password are wrong")]
    WrongPassword,
    #[error("sign-ins failed too often; the next is taken in {0} seconds")]
    Slowed(u64),
    #[error("this takes {0}")]
    NotAllowed(&'static str),
    #[error("a change made with the sign-in cookie needs the header \"X-Vestibule-Request: 1\"")]
    NoRequestHeader,
    #[error("there is no {0} of this name that you may see")]
    Unknown(&'static str),
    #[error("there is nothing at this address")]
    NotFound,
    #[error("this address does not take that method")]
    MethodNotAllowed,
    #[error("the body can't be read: {0}")]
    BadBody(String),
    #[error("the body is too large: it takes at most {0} bytes")]
    TooLarge(usize),
    #[error("the body takes the content type {0}")]
    WrongContentType(&'static str),
    #[error("{}", listed(.0))]
    WrongFields(Vec<FieldError>),
    #[error("{}", listed(.0))]
    Contradiction(Vec<FieldError>),
    #[error("there is a {0} of this name already")]
    Taken(&'static str),
    #[error("{0}")]
    NotEmpty(String),
    #[error("there are as many as there may be: {0}")]
    Full(usize),
    #[error("others change the same at this very moment; try again")]
    Busy,
    #[error("somebody else changed this meanwhile: it is at revision {}", .0.revision)]
    ChangedMeanwhile(Box<Conflict>),
    #[error("say which revision this is about: the ETag of the last answer as If-Match, or * for any")]
    RevisionRequired,
    #[error("{}. Ask again with the header X-Vestibule-Confirm to do it", .0.effect)]
    ConfirmationRequired(Box<Confirmation>),
    #[error("answers are not streamed here; ask for /api/v1/stats now and then")]
    NoStreams,
    #[error("too many follow the numbers; try again, or ask for /api/v1/stats now and then")]
    Crowded,
    #[error("themes are kept nowhere: VESTIBULE_THEMES names a folder or a bucket for them")]
    NoThemes,
    #[error("{}", listed(.0))]
    BrokenTheme(Vec<FieldError>),
    #[error("the place of the themes gives no answer; try again")]
    ThemesAway(String),
    #[error("the store gives no answer; try again")]
    Store(StoreError),
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::UnknownQueue(_) => Self::Unknown("queue"),
            other => Self::Store(other),
        }
    }
}

/// The first of several errors, and how many more there are.
fn listed(errors: &[FieldError]) -> String {
    match errors {
        [] => "something is wrong".to_owned(),
        [one] => one.to_string(),
        [first, rest @ ..] => format!("{first} (and {} more)", rest.len()),
    }
}

/// The body of every answer that is none of the wanted.
#[derive(Serialize, ToSchema)]
pub(crate) struct ErrorBody {
    /// What went wrong.
    error: ErrorDetail,
    /// Every wrong field, where fields are wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    errors: Vec<ErrorDetail>,
    /// What changed meanwhile, for the code `changed_meanwhile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    conflict: Option<Box<Conflict>>,
    /// What is to be confirmed, for the code `confirmation_required`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    confirmation: Option<Box<Confirmation>>,
}

/// One error.
#[derive(Serialize, ToSchema)]
pub(crate) struct ErrorDetail {
    /// A word for programs; it never changes.
    code: &'static str,
    /// A sentence for people.
    message: String,
    /// Path of the field that is wrong, if it is one.
    field: Option<String>,
}

impl Problem {
    const fn table(&self) -> (StatusCode, &'static str) {
        match self {
            Self::NotSignedIn => (StatusCode::UNAUTHORIZED, "not_signed_in"),
            Self::GoodNoMore => (StatusCode::UNAUTHORIZED, "good_no_more"),
            Self::WrongPassword => (StatusCode::UNAUTHORIZED, "wrong_password"),
            Self::Slowed(_) => (StatusCode::TOO_MANY_REQUESTS, "slowed"),
            Self::NotAllowed(_) => (StatusCode::FORBIDDEN, "not_allowed"),
            Self::NoRequestHeader => (StatusCode::FORBIDDEN, "no_request_header"),
            Self::Unknown(_) => (StatusCode::NOT_FOUND, "unknown"),
            Self::NotFound => (StatusCode::NOT_FOUND, "not_found"),
            Self::MethodNotAllowed => (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed"),
            Self::BadBody(_) => (StatusCode::BAD_REQUEST, "bad_body"),
            Self::TooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, "too_large"),
            Self::WrongContentType(_) => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "wrong_content_type"),
            Self::WrongFields(_) => (StatusCode::UNPROCESSABLE_ENTITY, "wrong_fields"),
            Self::Contradiction(_) => (StatusCode::CONFLICT, "contradiction"),
            Self::Taken(_) => (StatusCode::CONFLICT, "taken"),
            Self::NotEmpty(_) => (StatusCode::CONFLICT, "not_empty"),
            Self::Full(_) => (StatusCode::CONFLICT, "full"),
            Self::Busy => (StatusCode::CONFLICT, "busy"),
            Self::ChangedMeanwhile(_) => (StatusCode::PRECONDITION_FAILED, "changed_meanwhile"),
            Self::RevisionRequired => (StatusCode::PRECONDITION_REQUIRED, "revision_required"),
            Self::ConfirmationRequired(_) => (StatusCode::PRECONDITION_REQUIRED, "confirmation_required"),
            Self::NoStreams => (StatusCode::NOT_FOUND, "no_streams"),
            Self::Crowded => (StatusCode::SERVICE_UNAVAILABLE, "crowded"),
            Self::NoThemes => (StatusCode::CONFLICT, "no_themes"),
            Self::BrokenTheme(_) => (StatusCode::UNPROCESSABLE_ENTITY, "broken_theme"),
            Self::ThemesAway(_) => (StatusCode::SERVICE_UNAVAILABLE, "themes_unavailable"),
            Self::Store(_) => (StatusCode::SERVICE_UNAVAILABLE, "store_unavailable"),
        }
    }

    fn retry_after(&self) -> Option<u64> {
        match self {
            Self::Slowed(seconds) => Some(*seconds),
            Self::Store(_) | Self::ThemesAway(_) | Self::Crowded => Some(STORE_RETRY),
            _ => None,
        }
    }

    fn body(self) -> (StatusCode, ErrorBody) {
        let (status, code) = self.table();
        let message = self.to_string();
        let detail = |error: &FieldError| {
            let FieldError { field, message } = error.clone();
            ErrorDetail { code: "wrong_field", message, field: Some(field) }
        };
        let (mut field, mut errors, mut conflict, mut confirmation) = (None, Vec::new(), None, None);
        match self {
            Self::WrongFields(wrong) | Self::Contradiction(wrong) | Self::BrokenTheme(wrong) => {
                errors = wrong.iter().map(detail).collect();
                field = wrong.into_iter().next().map(|error| error.field);
            }
            Self::ChangedMeanwhile(found) => conflict = Some(found),
            Self::ConfirmationRequired(wanted) => confirmation = Some(wanted),
            _ => {}
        }
        (status, ErrorBody { error: ErrorDetail { code, message, field }, errors, conflict, confirmation })
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        if let Self::Store(error) = &self {
            warn!(%error, "the backoffice could not ask the store");
        }
        if let Self::ThemesAway(cause) = &self {
            warn!(cause, "the backoffice could not read or write themes");
        }
        let retry_after = self.retry_after();
        let (status, body) = self.body();
        let mut response = (status, Json(body)).into_response();
        if let Some(seconds) = retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
