//! How an error becomes an answer: one table of status, code and field.

use std::fmt;

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use serde_json::{Map, Value};
use tracing::warn;
use utoipa::ToSchema;
use vestibule_core::settings::FieldError;
use vestibule_core::{Message, StoreError};

use crate::audit::CHANGES_MAX;
use crate::confirmation::Confirmation;
use crate::phrase;
use crate::queues::Conflict;
use crate::wording::{Wording, Wording as W};

/// Seconds after which to try again while the store is away.
const STORE_RETRY: u64 = 1;

/// Why something was not done.
#[derive(Debug)]
pub(crate) enum Problem {
    NotSignedIn,
    GoodNoMore,
    WrongPassword,
    /// The password is to be given again.
    PasswordRequired,
    /// The password was right; the operator has TOTP.
    CodeRequired,
    WrongCode,
    /// This sign-in may set up TOTP, and nothing else.
    TotpSetupRequired,
    TotpExists,
    NoTotpSetup,
    /// The seconds after which the next sign-in is taken.
    Slowed(u64),
    /// An operator has made as many changes within a day as one may.
    TooManyChanges,
    /// Who may.
    NotAllowed(Wording),
    NoRequestHeader,
    /// What there is none of.
    Unknown(Wording),
    NotFound,
    MethodNotAllowed,
    BadBody(Message),
    /// The most bytes.
    TooLarge(usize),
    WrongContentType(&'static str),
    WrongFields(Vec<FieldError>),
    Contradiction(Vec<FieldError>),
    /// What queues of a tenant use that its new lists leave out, by queue and field.
    QueuesOutside(Vec<FieldError>),
    /// What there is already.
    Taken(Wording),
    /// The queues that a tenant still has.
    NotEmpty(String),
    /// The queues that have a theme.
    ThemeInUse(String),
    LastSuperuser(String),
    Full(usize),
    Busy,
    ChangedMeanwhile(Box<Conflict>),
    RevisionRequired,
    ConfirmationRequired(Box<Confirmation>),
    NoStreams,
    Crowded,
    NoThemes,
    BrokenTheme(Vec<FieldError>),
    ThemesAway(String),
    Store(StoreError),
    /// A write, during which the store stopped responding: it may have been applied.
    OutcomeUnknown(StoreError),
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::UnknownQueue(_) => Self::Unknown(W::AQueue),
            other => Self::Store(other),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.wrong() {
            [] => self.phrase().fmt(f),
            [one] => one.fmt(f),
            [first, rest @ ..] => write!(f, "{first} (and {} more)", rest.len()),
        }
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
    #[schema(schema_with = phrase::code)]
    code: &'static str,
    /// A sentence for people.
    message: String,
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schema(schema_with = phrase::params, required = false)]
    params: Map<String, Value>,
    /// Path of the field that is wrong, if it is one.
    field: Option<String>,
}

impl Problem {
    /// The problem of a write that failed: a store that did not respond in time may have carried it out.
    pub(crate) fn of_write(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(_) => Self::OutcomeUnknown(error),
            other => other.into(),
        }
    }

    const fn status(&self) -> StatusCode {
        match self {
            Self::BadBody(_) => StatusCode::BAD_REQUEST,
            Self::NotSignedIn | Self::GoodNoMore | Self::WrongPassword | Self::CodeRequired | Self::WrongCode => {
                StatusCode::UNAUTHORIZED
            }
            Self::NotAllowed(_) | Self::NoRequestHeader | Self::PasswordRequired | Self::TotpSetupRequired => {
                StatusCode::FORBIDDEN
            }
            Self::Unknown(_) | Self::NotFound | Self::NoStreams => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::Contradiction(_)
            | Self::QueuesOutside(_)
            | Self::Taken(_)
            | Self::NotEmpty(_)
            | Self::ThemeInUse(_)
            | Self::LastSuperuser(_)
            | Self::Full(_)
            | Self::Busy
            | Self::TotpExists
            | Self::NoTotpSetup
            | Self::NoThemes => StatusCode::CONFLICT,
            Self::ChangedMeanwhile(_) => StatusCode::PRECONDITION_FAILED,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::WrongContentType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::WrongFields(_) | Self::BrokenTheme(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::RevisionRequired | Self::ConfirmationRequired(_) => StatusCode::PRECONDITION_REQUIRED,
            Self::Slowed(_) | Self::TooManyChanges => StatusCode::TOO_MANY_REQUESTS,
            Self::Crowded | Self::ThemesAway(_) | Self::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
            // Clients that repeat a request by themselves do so after 503, and this one must not be repeated unseen.
            Self::OutcomeUnknown(_) => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    /// The sentence, whose code is the problem's.
    fn phrase(&self) -> Message {
        match self {
            Self::NotSignedIn => W::NotSignedIn.into(),
            Self::GoodNoMore => W::GoodNoMore.into(),
            Self::WrongPassword => W::WrongPassword.into(),
            Self::PasswordRequired => W::PasswordRequired.into(),
            Self::CodeRequired => W::CodeRequired.into(),
            Self::WrongCode => W::WrongCode.into(),
            Self::TotpSetupRequired => W::TotpSetupRequired.into(),
            Self::TotpExists => W::TotpExists.into(),
            Self::NoTotpSetup => W::NoTotpSetup.into(),
            Self::Slowed(seconds) => W::Slowed.with("seconds", *seconds),
            Self::TooManyChanges => W::TooManyChanges.with("most", CHANGES_MAX),
            Self::NotAllowed(who) => W::NotAllowed.with("who", *who),
            Self::NoRequestHeader => W::NoRequestHeader.into(),
            Self::Unknown(what) => W::Unknown.with("what", *what),
            Self::NotFound => W::NotFound.into(),
            Self::MethodNotAllowed => W::MethodNotAllowed.into(),
            Self::BadBody(cause) => W::BadBody.with("cause", cause.clone()),
            Self::TooLarge(most) => W::TooLarge.with("most", *most),
            Self::WrongContentType(takes) => W::WrongContentType.with("takes", *takes),
            Self::WrongFields(_) => W::WrongFields.into(),
            Self::Contradiction(_) => W::Contradiction.into(),
            Self::QueuesOutside(_) => W::QueuesOutside.into(),
            Self::Taken(what) => W::Taken.with("what", *what),
            Self::NotEmpty(queues) => W::NotEmpty.with("queues", queues.as_str()),
            Self::ThemeInUse(queues) => W::ThemeInUse.with("queues", queues.as_str()),
            Self::LastSuperuser(name) => W::LastSuperuser.with("name", name.as_str()),
            Self::Full(most) => W::Full.with("most", *most),
            Self::Busy => W::Busy.into(),
            Self::ChangedMeanwhile(found) => W::ChangedMeanwhile.with("revision", found.revision),
            Self::RevisionRequired => W::RevisionRequired.into(),
            Self::ConfirmationRequired(wanted) => W::ConfirmationRequired.with("effect", wanted.phrase.0.clone()),
            Self::NoStreams => W::NoStreams.into(),
            Self::Crowded => W::Crowded.into(),
            Self::NoThemes => W::NoThemes.into(),
            Self::BrokenTheme(_) => W::BrokenTheme.into(),
            Self::ThemesAway(_) => W::ThemesUnavailable.into(),
            Self::Store(_) => W::StoreUnavailable.into(),
            Self::OutcomeUnknown(_) => W::OutcomeUnknown.into(),
        }
    }

    /// Every wrong field, where fields are wrong.
    fn wrong(&self) -> &[FieldError] {
        match self {
            Self::WrongFields(wrong)
            | Self::Contradiction(wrong)
            | Self::QueuesOutside(wrong)
            | Self::BrokenTheme(wrong) => wrong,
            _ => &[],
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
        let field = self.wrong().first().map(|error| error.field.clone());
        let error = detail(&self.phrase(), self.to_string(), field);
        let told = |it: &FieldError| detail(&it.fault, it.fault.to_string(), Some(it.field.clone()));
        let errors = self.wrong().iter().map(told).collect();
        let (status, mut conflict, mut confirmation) = (self.status(), None, None);
        match self {
            Self::ChangedMeanwhile(found) => conflict = Some(found),
            Self::ConfirmationRequired(wanted) => confirmation = Some(wanted),
            _ => {}
        }
        (status, ErrorBody { error, errors, conflict, confirmation })
    }
}

fn detail(phrase: &Message, message: String, field: Option<String>) -> ErrorDetail {
    ErrorDetail { code: phrase.code(), message, params: phrase.params(), field }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        if let Self::Store(error) = &self {
            warn!(%error, "the backoffice could not ask the store");
        }
        if let Self::OutcomeUnknown(error) = &self {
            warn!(%error, "the store did not respond to a write in time; it may or may not have been applied");
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
