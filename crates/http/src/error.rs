//! How an error becomes an answer: `{"error":{"code","message","field"}}`. Causes go to the log, never to the body.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::json;

/// An error as a caller sees it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// No queue stands in front of this host.
    #[error("no queue stands in front of this host")]
    UnknownHost,
    /// No queue of this id here.
    #[error("there is no queue of this id on this host; the parameter is queue=<id>")]
    UnknownQueue,
    /// The request's host is none.
    #[error("the request names no host, or none that is one")]
    NoHost,
    /// The query can't be read.
    #[error("the query can't be read: every parameter comes once, with a value it takes")]
    BadQuery,
    /// Two headers of a forward-auth request name different things.
    #[error("{0} name different things; the proxy in front sets both or drops one of them")]
    Disagreement(&'static str),
    /// No such own endpoint.
    #[error("there is nothing at this address")]
    NotFound,
    /// A page of another site asks.
    #[error("this origin may not ask that")]
    ForeignOrigin,
    /// The store gives no answer.
    #[error("the store gives no answer; try again")]
    StoreUnavailable,
    /// The store has given no answer since the process started, so nobody knows which queues there are.
    #[error("the queues are not known yet, as the store gives no answer; try again")]
    NotReady,
    /// A part of a request to a function can't be read.
    #[error("the request's {0} can't be read")]
    Unreadable(&'static str),
    /// An answer that is more than a function may give.
    #[error("the answer is larger than the {limit_mib} MB that can be passed on here")]
    AnswerTooLarge {
        /// The most that can be, in MiB.
        limit_mib: u32,
    },
    /// An answer that broke off before it was complete.
    #[error("the answer broke off")]
    AnswerBroken,
    /// No answer within a function's time.
    #[error("there is no answer in time")]
    OutOfTime,
    /// A connection that shall become another, where there is none.
    #[error("connections can't be upgraded here")]
    NoUpgrade,
}

/// Seconds after which to ask again where the queues are not known yet.
const RETRY_AFTER: u64 = 5;

impl ApiError {
    const fn table(&self) -> (StatusCode, &'static str, Option<&'static str>) {
        match self {
            Self::UnknownHost => (StatusCode::NOT_FOUND, "unknown_host", None),
            Self::UnknownQueue => (StatusCode::NOT_FOUND, "unknown_queue", Some("queue")),
            Self::NoHost => (StatusCode::BAD_REQUEST, "no_host", Some("host")),
            Self::BadQuery => (StatusCode::BAD_REQUEST, "bad_query", None),
            Self::Disagreement(headers) => (StatusCode::BAD_REQUEST, "disagreement", Some(headers)),
            Self::NotFound => (StatusCode::NOT_FOUND, "not_found", None),
            Self::ForeignOrigin => (StatusCode::FORBIDDEN, "foreign_origin", Some("origin")),
            Self::StoreUnavailable => (StatusCode::SERVICE_UNAVAILABLE, "store_unavailable", None),
            Self::NotReady => (StatusCode::TOO_MANY_REQUESTS, "store_unavailable", None),
            Self::Unreadable(_) => (StatusCode::BAD_REQUEST, "unreadable", None),
            Self::AnswerTooLarge { .. } => (StatusCode::BAD_GATEWAY, "answer_too_large", None),
            Self::AnswerBroken => (StatusCode::BAD_GATEWAY, "answer_broken", None),
            Self::OutOfTime => (StatusCode::GATEWAY_TIMEOUT, "out_of_time", None),
            Self::NoUpgrade => (StatusCode::NOT_IMPLEMENTED, "no_upgrade", None),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, code, field) = self.table();
        let body = json!({ "error": { "code": code, "message": self.to_string(), "field": field } });
        let no_store = (header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        let mut response = (status, [no_store], Json(body)).into_response();
        if matches!(self, Self::NotReady | Self::StoreUnavailable) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER));
        }
        response
    }
}
