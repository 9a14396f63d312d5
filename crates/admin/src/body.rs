//! The body, the query and the path of a request.

use std::convert::Infallible;

use axum::body::Bytes;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use http::request::Parts;
use http::{HeaderMap, Uri, header};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use vestibule_core::Message;
use vestibule_core::content_type::{self, JSON};
use vestibule_core::fields::{FieldError, Object, Reader, Reading};

use crate::codes::Code;
use crate::describe::describe;
use crate::problem::Problem;

/// Maximum size of a body in bytes.
pub(crate) const BODY_MAX: usize = 256 * 1024;
/// Maximum size of a body with the settings of all queues, in bytes.
const DOCUMENT_MAX: usize = 8 * 1024 * 1024;

/// A JSON object of at most `MAX` bytes.
pub(crate) struct JsonBody<const MAX: usize = BODY_MAX>(pub(crate) Map<String, Value>);

impl<S: Send + Sync, const MAX: usize> FromRequest<S> for JsonBody<MAX> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let bytes = read_json(request, MAX).await?;
        match serde_json::from_slice(&bytes).map_err(|error| not_json(&error))? {
            Value::Object(map) => Ok(Self(map)),
            _ => Err(Problem::InvalidBody(Code::NotAnObject.into())),
        }
    }
}

/// A body that is read after authorization, as it can be large.
pub(crate) struct UnreadBody(Request);

impl<S: Send + Sync> FromRequest<S> for UnreadBody {
    type Rejection = Infallible;

    async fn from_request(request: Request, _: &S) -> Result<Self, Infallible> {
        Ok(Self(request))
    }
}

impl UnreadBody {
    /// The bytes of a JSON document of at most [`DOCUMENT_MAX`] bytes.
    pub(crate) async fn bytes(self) -> Result<Bytes, Problem> {
        read_json(self.0, DOCUMENT_MAX).await
    }

    /// A JSON object with the fields of `T`, of at most [`DOCUMENT_MAX`] bytes.
    pub(crate) async fn read<T: Object>(self) -> Result<T, Problem> {
        Body::<T, DOCUMENT_MAX>::from_request(self.0, &()).await.map(|Body(read)| read)
    }

    /// A JSON object of at most [`DOCUMENT_MAX`] bytes.
    pub(crate) async fn object(self) -> Result<Map<String, Value>, Problem> {
        JsonBody::<DOCUMENT_MAX>::from_request(self.0, &()).await.map(|JsonBody(map)| map)
    }
}

/// The bytes of a body whose content type is JSON.
async fn read_json(request: Request, max: usize) -> Result<Bytes, Problem> {
    if !is_json(request.headers()) {
        return Err(Problem::WrongContentType(JSON));
    }
    axum::body::to_bytes(request.into_body(), max).await.map_err(|_| Problem::TooLarge(max))
}

/// The problem that a body is not JSON.
pub(crate) fn not_json(error: &serde_json::Error) -> Problem {
    Problem::InvalidBody(Code::NotJson.with("cause", error.to_string()))
}

/// A JSON object with the fields of `T`.
pub(crate) struct Body<T, const MAX: usize = BODY_MAX>(pub(crate) T);

impl<S: Send + Sync, T: Object, const MAX: usize> FromRequest<S> for Body<T, MAX> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let JsonBody(map) = JsonBody::<MAX>::from_request(request, state).await?;
        T::from_json(&Value::Object(map)).map(Self).map_err(Problem::ValidationFailed)
    }
}

/// The parameters of a query, each at most once.
pub(crate) struct Query<T>(pub(crate) T);

impl<S: Send + Sync, T: Object> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let map = query_parameters(&parts.uri)?;
        Reader::read(&Value::Object(map), Reading::Query).map(Self).map_err(Problem::ValidationFailed)
    }
}

/// The parameters of a query by name.
pub(crate) fn query_parameters(uri: &Uri) -> Result<Map<String, Value>, Problem> {
    let pairs = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(uri);
    let mut map = Map::new();
    for (name, value) in pairs.map_err(|_| wrong("query", Code::Unreadable))?.0 {
        if map.insert(name.clone(), Value::String(value)).is_some() {
            return Err(wrong(&name, Code::RepeatedParameter));
        }
    }
    Ok(map)
}

/// The variable segments of a path.
pub(crate) struct Segments<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Segments<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let found: Result<Path<T>, PathRejection> = Path::from_request_parts(parts, state).await;
        found.map(|Path(segments)| Self(segments)).map_err(|_| Problem::RouteNotFound)
    }
}

/// `application/json`, or a media type based on it such as `application/merge-patch+json`.
fn is_json(headers: &HeaderMap) -> bool {
    let media_type = media_type(headers);
    media_type == JSON || (media_type.starts_with("application/") && media_type.ends_with("+json"))
}

/// The media type of a body; empty if it is missing.
pub(crate) fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    content_type::media_type(value)
}

/// The problem that one field is invalid.
pub(crate) fn wrong(field: &str, fault: impl Into<Message>) -> Problem {
    Problem::ValidationFailed(vec![FieldError::new(field, fault)])
}

vestibule_core::fields! {
    /// Whether a request is only validated.
    pub(crate) struct ValidateQuery {
        /// Validate only; nothing is written.
        pub(crate) validate: vestibule_core::fields::Flag = false,
    }
}
describe!(query ValidateQuery);
