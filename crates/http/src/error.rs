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
}

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
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, code, field) = self.table();
        let body = json!({ "error": { "code": code, "message": self.to_string(), "field": field } });
        let no_store = (header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        (status, [no_store], Json(body)).into_response()
    }
}
