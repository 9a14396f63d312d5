//! Why a request came to nothing.

use std::error::Error;

use http::StatusCode;

/// Why there is no answer of the origin to hand on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProxyError {
    /// No connection to the origin could be made.
    #[error("the origin cannot be reached")]
    Unreachable,
    /// The origin broke off before the head of its answer was complete, or sent something that is not HTTP.
    #[error("the origin gave no proper answer")]
    BadAnswer,
    /// The origin took longer than [`ProxyLimits`](super::ProxyLimits) allow.
    #[error("the origin did not answer in time")]
    Timeout,
    /// The visitor sent more than [`upload_bytes`](super::ProxyLimits::upload_bytes).
    #[error("the request's body is too large")]
    TooLarge,
    /// The visitor paused in the middle of the request's body for longer than [`read_timeout`](super::ProxyLimits::read_timeout).
    #[error("the visitor did not finish the request in time")]
    VisitorTimeout,
    /// The request cannot be forwarded: a `CONNECT`, an invalid host, or a body that broke off.
    #[error("the request cannot be forwarded")]
    BadRequest,
}

impl ProxyError {
    /// The status to answer the visitor with.
    #[must_use]
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::Unreachable | Self::BadAnswer => StatusCode::BAD_GATEWAY,
            Self::Timeout => StatusCode::GATEWAY_TIMEOUT,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::VisitorTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::BadRequest => StatusCode::BAD_REQUEST,
        }
    }

    pub(super) fn is_the_visitors(self) -> bool {
        self.status().is_client_error()
    }
}

/// A [`ProxyError`] with what is known about it, for the log alone.
pub(super) struct Failure {
    pub(super) kind: ProxyError,
    pub(super) cause: Box<dyn Error + Send + Sync>,
}

impl Failure {
    pub(super) fn new(kind: ProxyError, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { kind, cause: cause.into() }
    }
}

/// An error and its sources on one line.
pub(super) fn causes(error: &(dyn Error + 'static)) -> String {
    chain(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

pub(super) fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}
