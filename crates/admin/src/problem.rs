//! Errors as responses: the status, code and text of each.

use std::fmt;

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use serde_json::{Map, Value};
use tracing::warn;
use utoipa::ToSchema;
use vestibule_core::jobs::JobBackendError;
use vestibule_core::settings::{FieldError, Settings};
use vestibule_core::{Message, StoreError, Timestamp};
use vestibule_runtime::StorageError;

use crate::codes::Code;
use crate::job_refusal::JobRefusal;
use crate::message;
use crate::message::MessageView;
use crate::queue_settings::QueueSettings;

/// Media type of error responses.
pub(crate) const PROBLEM_JSON: &str = "application/problem+json";
/// Seconds after which to try again while a service is unavailable, or has no place for another request.
const SOON: u64 = 1;

/// Why a request failed.
#[derive(Debug)]
pub(crate) enum Problem {
    /// A problem without more than this status and code.
    Plain(StatusCode, Code),
    NotSignedIn,
    CredentialInvalid,
    /// The password must be confirmed.
    PasswordRequired,
    /// The operator must sign in again at the identity provider, as they have no password.
    SignInAgain,
    /// Seconds until the next attempt is accepted.
    RateLimited(u64),
    /// An operator reached the limit of changes in a day, of which these seconds are left.
    TooManyChanges {
        most: u64,
        seconds: u64,
    },
    /// What the request requires.
    PermissionDenied(Code),
    /// The kind of the missing object.
    NotFound(Code),
    RouteNotFound,
    MethodNotAllowed,
    InvalidBody(Message),
    /// The limit in bytes.
    TooLarge(usize),
    WrongContentType(&'static str),
    ValidationFailed(Vec<FieldError>),
    /// Fields of an event that its phase has fixed.
    EventLocked(Vec<FieldError>),
    /// The sale key of a batch of invitations, which is not known here.
    InvitationKeyMissing(String),
    /// The event has no beacon, or is suspended.
    NoBeacon,
    /// The round that the event names, and the time in which it can be recorded.
    BeaconRound {
        round: u64,
        at: Timestamp,
        ends_at: Timestamp,
    },
    /// Seconds until the draw of an event is complete and visitors can be admitted.
    DrawInProgress(u64),
    RoutingConflict(Vec<FieldError>),
    /// Values of a tenant's queues that its new lists do not allow, by queue and field.
    QueuesOutside(Vec<FieldError>),
    /// What is used by another object.
    AlreadyExists(Code),
    /// The queues that a tenant still has.
    NotEmpty(String),
    /// The job queues that a tenant still has.
    NotEmptyOfJobs(String),
    /// The themes that a tenant still has.
    NotEmptyOfThemes(String),
    /// The queues that use a theme.
    ThemeInUse(String),
    LastSuperuser(String),
    LimitReached(usize),
    ConcurrentChange,
    RevisionConflict(Box<RevisionConflict>),
    /// The current revision of a theme or a job queue.
    OtherRevision(u64),
    ConfirmationRequired(Box<Confirmation>),
    TooManyStreams,
    TooManyReceives,
    ThemeInvalid(Vec<FieldError>),
    ThemeStorageUnavailable(String),
    Store(StoreError),
    /// A request for jobs.
    Job(JobRefusal),
    /// The store, or the backend of the jobs, stopped responding during a write, which may have been applied.
    OutcomeUnknown(StorageError),
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::UnknownQueue(_) => Self::NotFound(Code::AQueue),
            other => Self::Store(other),
        }
    }
}

impl From<JobBackendError> for Problem {
    fn from(error: JobBackendError) -> Self {
        Self::Job(JobRefusal::Unavailable(error))
    }
}

impl From<StorageError> for Problem {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Store(error) => error.into(),
            StorageError::JobBackend(error) => error.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field_errors() {
            [] => self.response().1.fmt(f),
            [one] => one.fmt(f),
            [first, rest @ ..] => write!(f, "{first} (and {} more)", rest.len()),
        }
    }
}

/// The body of every error response: problem details (RFC 9457).
#[derive(Serialize, ToSchema)]
pub(crate) struct ProblemDetails {
    /// Always `about:blank`; `code` identifies the problem.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The name of the HTTP status.
    title: &'static str,
    /// The HTTP status code.
    status: u16,
    /// What happened and what to do, in English.
    detail: String,
    #[schema(schema_with = message::code)]
    code: &'static str,
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schema(schema_with = message::params, required = false)]
    params: Map<String, Value>,
    /// All invalid fields.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    errors: Vec<FieldProblem>,
    /// The current settings of a queue, for the code `revision_conflict`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    conflict: Option<Box<RevisionConflict>>,
    /// What to confirm, for the code `confirmation_required`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    confirmation: Option<Box<Confirmation>>,
}

/// What to confirm.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Confirmation {
    /// Send it in the header `X-Vestibule-Confirm`; valid for one request.
    pub(crate) token: String,
    /// Seconds until the token expires.
    pub(crate) expires_in: u64,
    /// What will happen, in English.
    pub(crate) consequence: String,
    /// The code and parameters of `consequence`, for other languages.
    pub(crate) message: MessageView,
}

/// The current settings where `If-Match` names an older revision. The client knows the revision that it started from and
/// can compare all three.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RevisionConflict {
    /// The current revision.
    pub(crate) revision: u64,
    /// The current settings.
    current: QueueSettings,
}

impl RevisionConflict {
    pub(crate) fn with(current: &Settings) -> Self {
        Self { revision: current.line.revision, current: QueueSettings(current.clone()) }
    }
}

/// An invalid field.
#[derive(Serialize, ToSchema)]
pub(crate) struct FieldProblem {
    /// Path of the field, such as `rules[1].path`, a query parameter, a header, or file and line of a theme.
    field: String,
    #[schema(schema_with = message::code)]
    code: &'static str,
    /// What is wrong, as the rest of a sentence that begins with the field.
    detail: String,
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schema(schema_with = message::params, required = false)]
    params: Map<String, Value>,
}

impl FieldProblem {
    pub(crate) fn of(error: &FieldError) -> Self {
        let FieldError { field, fault } = error;
        Self { field: field.clone(), code: fault.code(), detail: fault.to_string(), params: fault.params() }
    }
}

impl Problem {
    /// The problem of fields with these errors, if there are any.
    pub(crate) fn unless_valid(errors: Vec<FieldError>) -> Result<(), Self> {
        if errors.is_empty() { Ok(()) } else { Err(Self::ValidationFailed(errors)) }
    }

    /// The problem of a write that failed: a store or backend that did not respond in time may have carried it out.
    pub(crate) fn of_write(error: impl Into<StorageError>) -> Self {
        match error.into() {
            error @ (StorageError::Store(StoreError::Unavailable(_))
            | StorageError::JobBackend(JobBackendError::Unavailable(_) | JobBackendError::Corrupt(_))) => {
                Self::OutcomeUnknown(error)
            }
            error => error.into(),
        }
    }

    /// The status and the message; its code is that of the problem.
    fn response(&self) -> (StatusCode, Message) {
        match self {
            Self::Plain(status, code) => (*status, (*code).into()),
            Self::NotSignedIn => (StatusCode::UNAUTHORIZED, Code::NotSignedIn.into()),
            Self::CredentialInvalid => (StatusCode::UNAUTHORIZED, Code::CredentialInvalid.into()),
            Self::PasswordRequired => (StatusCode::FORBIDDEN, Code::PasswordRequired.into()),
            Self::SignInAgain => (StatusCode::FORBIDDEN, Code::SignInAgain.into()),
            Self::RateLimited(seconds) => (StatusCode::TOO_MANY_REQUESTS, Code::RateLimited.with("seconds", *seconds)),
            Self::TooManyChanges { most, .. } => {
                (StatusCode::TOO_MANY_REQUESTS, Code::TooManyChanges.with("most", *most))
            }
            Self::PermissionDenied(who) => (StatusCode::FORBIDDEN, Code::PermissionDenied.with("who", *who)),
            Self::NotFound(what) => (StatusCode::NOT_FOUND, Code::NotFound.with("what", *what)),
            Self::RouteNotFound => (StatusCode::NOT_FOUND, Code::RouteNotFound.into()),
            Self::MethodNotAllowed => (StatusCode::METHOD_NOT_ALLOWED, Code::MethodNotAllowed.into()),
            Self::InvalidBody(cause) => (StatusCode::BAD_REQUEST, Code::InvalidBody.with("cause", cause.clone())),
            Self::TooLarge(most) => (StatusCode::PAYLOAD_TOO_LARGE, Code::TooLarge.with("most", *most)),
            Self::WrongContentType(takes) => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, Code::WrongContentType.with("takes", *takes))
            }
            Self::ValidationFailed(_) => (StatusCode::UNPROCESSABLE_ENTITY, Code::ValidationFailed.into()),
            Self::EventLocked(_) => (StatusCode::UNPROCESSABLE_ENTITY, Code::EventLocked.into()),
            Self::InvitationKeyMissing(key) => {
                (StatusCode::CONFLICT, Code::InvitationKeyMissing.with("key", key.as_str()))
            }
            Self::NoBeacon => (StatusCode::CONFLICT, Code::NoBeacon.into()),
            Self::BeaconRound { round, at, ends_at } => {
                let named = Code::BeaconRound.with("round", *round).with("at", at.to_string());
                (StatusCode::UNPROCESSABLE_ENTITY, named.with("ends_at", ends_at.to_string()))
            }
            Self::DrawInProgress(seconds) => (StatusCode::CONFLICT, Code::DrawInProgress.with("seconds", *seconds)),
            Self::RoutingConflict(_) => (StatusCode::CONFLICT, Code::RoutingConflict.into()),
            Self::QueuesOutside(_) => (StatusCode::CONFLICT, Code::QueuesOutside.into()),
            Self::AlreadyExists(what) => (StatusCode::CONFLICT, Code::AlreadyExists.with("what", *what)),
            Self::NotEmpty(queues) => (StatusCode::CONFLICT, Code::NotEmpty.with("queues", queues.as_str())),
            Self::NotEmptyOfJobs(ids) => (StatusCode::CONFLICT, Code::HasJobQueues.with("job_queues", ids.as_str())),
            Self::NotEmptyOfThemes(themes) => (StatusCode::CONFLICT, Code::HasThemes.with("themes", themes.as_str())),
            Self::ThemeInUse(queues) => (StatusCode::CONFLICT, Code::ThemeInUse.with("queues", queues.as_str())),
            Self::LastSuperuser(name) => (StatusCode::CONFLICT, Code::LastSuperuser.with("name", name.as_str())),
            Self::LimitReached(most) => (StatusCode::CONFLICT, Code::LimitReached.with("most", *most)),
            Self::ConcurrentChange => (StatusCode::CONFLICT, Code::ConcurrentChange.into()),
            Self::OtherRevision(revision) => {
                (StatusCode::PRECONDITION_FAILED, Code::RevisionConflict.with("revision", *revision))
            }
            Self::RevisionConflict(found) => {
                (StatusCode::PRECONDITION_FAILED, Code::RevisionConflict.with("revision", found.revision))
            }
            Self::ConfirmationRequired(wanted) => (
                StatusCode::PRECONDITION_REQUIRED,
                Code::ConfirmationRequired.with("consequence", wanted.message.0.clone()),
            ),
            Self::TooManyStreams => (StatusCode::SERVICE_UNAVAILABLE, Code::TooManyStreams.into()),
            Self::TooManyReceives => (StatusCode::TOO_MANY_REQUESTS, Code::TooManyReceives.into()),
            Self::ThemeInvalid(_) => (StatusCode::UNPROCESSABLE_ENTITY, Code::ThemeInvalid.into()),
            Self::ThemeStorageUnavailable(_) => (StatusCode::SERVICE_UNAVAILABLE, Code::ThemeStorageUnavailable.into()),
            Self::Store(StoreError::Corrupt(_)) => (StatusCode::INTERNAL_SERVER_ERROR, Code::DataUnreadable.into()),
            Self::Store(_) => (StatusCode::SERVICE_UNAVAILABLE, Code::StoreUnavailable.into()),
            Self::Job(refusal) => refusal.response(),
            // Not 503, after which clients repeat a request by themselves.
            Self::OutcomeUnknown(_) => (StatusCode::GATEWAY_TIMEOUT, Code::OutcomeUnknown.into()),
        }
    }

    /// All invalid fields.
    fn field_errors(&self) -> &[FieldError] {
        match self {
            Self::ValidationFailed(wrong)
            | Self::EventLocked(wrong)
            | Self::RoutingConflict(wrong)
            | Self::QueuesOutside(wrong)
            | Self::ThemeInvalid(wrong) => wrong,
            _ => &[],
        }
    }

    fn retry_after(&self) -> Option<u64> {
        match self {
            Self::RateLimited(seconds) | Self::TooManyChanges { seconds, .. } => Some(*seconds),
            Self::Store(StoreError::Corrupt(_)) => None,
            Self::Store(_) | Self::ThemeStorageUnavailable(_) | Self::TooManyStreams | Self::TooManyReceives => {
                Some(SOON)
            }
            Self::Job(refusal) if refusal.response().0 == StatusCode::SERVICE_UNAVAILABLE => Some(SOON),
            _ => None,
        }
    }

    fn details(self) -> ProblemDetails {
        let ((status, message), detail) = (self.response(), self.to_string());
        let errors = self.field_errors().iter().map(FieldProblem::of).collect();
        let (mut conflict, mut confirmation) = (None, None);
        match self {
            Self::RevisionConflict(found) => conflict = Some(found),
            Self::ConfirmationRequired(wanted) => confirmation = Some(wanted),
            _ => {}
        }
        ProblemDetails {
            kind: "about:blank",
            title: status.canonical_reason().unwrap_or_default(),
            status: status.as_u16(),
            detail,
            code: message.code(),
            params: message.params(),
            errors,
            conflict,
            confirmation,
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        match &self {
            Self::Store(error @ StoreError::Corrupt(_)) => warn!(%error, "data in the store cannot be read"),
            Self::Store(error) => warn!(%error, "the store is unavailable"),
            _ => {}
        }
        if let Self::Job(refusal) = &self
            && let Some(error) = refusal.cause()
        {
            warn!(%error, "the backend of the job queues is unavailable");
        }
        if let Self::OutcomeUnknown(error) = &self {
            warn!(%error, "a write was not confirmed; it may or may not have been applied");
        }
        if let Self::ThemeStorageUnavailable(cause) = &self {
            warn!(cause, "theme storage is unavailable");
        }
        let retry_after = self.retry_after();
        let status = self.response().0;
        let mut response = (status, [(header::CONTENT_TYPE, PROBLEM_JSON)], Json(self.details())).into_response();
        if let Some(seconds) = retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
