//! Why a request failed.

use std::error::Error;
use std::io::{self, ErrorKind};

use http::StatusCode;
use vestibule_http_client::causes;

/// Why there is no response of the origin to return.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProxyError {
    /// No connection to the origin could be made.
    #[error("cannot connect to the origin")]
    Unreachable,
    /// The origin closed the connection before the head of its response was complete, or sent something that is not HTTP.
    #[error("invalid response from the origin")]
    BadResponse,
    /// The origin exceeded a limit of [`ProxyLimits`](crate::ProxyLimits).
    #[error("the origin did not respond in time")]
    Timeout,
    /// The request body exceeds [`upload_bytes`](crate::ProxyLimits::upload_bytes).
    #[error("the request body is too large")]
    TooLarge,
    /// The request body paused for longer than [`read_timeout`](crate::ProxyLimits::read_timeout).
    #[error("the visitor did not finish the request in time")]
    VisitorTimeout,
    /// The request cannot be forwarded: a `CONNECT`, an invalid host, or an incomplete body.
    #[error("the request cannot be forwarded")]
    BadRequest,
}

impl ProxyError {
    /// The status of the response to the visitor.
    pub fn status(self) -> StatusCode {
        match self {
            Self::Unreachable | Self::BadResponse => StatusCode::BAD_GATEWAY,
            Self::Timeout => StatusCode::GATEWAY_TIMEOUT,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::VisitorTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::BadRequest => StatusCode::BAD_REQUEST,
        }
    }

    pub(super) fn is_client_error(self) -> bool {
        self.status().is_client_error()
    }
}

/// A [`ProxyError`] with its cause, which is only logged.
pub(super) struct Failure {
    pub(super) kind: ProxyError,
    pub(super) cause: Box<dyn Error + Send + Sync>,
}

impl Failure {
    pub(super) fn new(kind: ProxyError, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { kind, cause: cause.into() }
    }

    /// Whether the origin closed the connection before the head of a response was complete. Many end a TLS connection without
    /// saying so.
    pub(super) fn is_unanswered(&self) -> bool {
        use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
        let is_end = |error: &io::Error| {
            matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
        };
        let is_closed = |cause: &(dyn Error + 'static)| {
            cause.downcast_ref().is_some_and(is_end)
                || cause.downcast_ref().is_some_and(hyper::Error::is_incomplete_message)
        };
        self.kind == ProxyError::BadResponse && causes(&*self.cause).any(is_closed)
    }
}
