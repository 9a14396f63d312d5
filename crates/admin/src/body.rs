//! The body of a request: a JSON object of bounded size.

use axum::extract::{FromRequest, Request};
use http::{HeaderMap, header};
use serde_json::{Map, Value};
use vestibule_core::Message;
use vestibule_core::settings::{FieldError, Fields};

use crate::codes::Code;
use crate::problem::Problem;

/// Most bytes of a body.
pub(crate) const BODY_MAX: usize = 256 * 1024;
/// Most bytes of a body that holds the settings of all queues.
pub(crate) const DOCUMENT_MAX: usize = 8 * 1024 * 1024;
const CONTENT_TYPE: &str = "application/json";

/// A JSON object of at most `MAX` bytes.
pub(crate) struct JsonBody<const MAX: usize = BODY_MAX>(pub(crate) Map<String, Value>);

impl<S: Send + Sync, const MAX: usize> FromRequest<S> for JsonBody<MAX> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        if !is_json(request.headers()) {
            return Err(Problem::WrongContentType(CONTENT_TYPE));
        }
        let bytes = axum::body::to_bytes(request.into_body(), MAX).await.map_err(|_| Problem::TooLarge(MAX))?;
        match serde_json::from_slice(&bytes) {
            Ok(Value::Object(map)) => Ok(Self(map)),
            Ok(_) => Err(Problem::InvalidBody(Code::NotAnObject.into())),
            Err(error) => Err(Problem::InvalidBody(Code::NotJson.with("cause", error.to_string()))),
        }
    }
}

/// `application/json`, or a kind of it such as `application/merge-patch+json`.
fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == CONTENT_TYPE || (essence.starts_with("application/") && essence.ends_with("+json"))
}

/// Takes the fields of an object one by one; whatever is wrong or left over is named.
pub(crate) fn read<T>(map: &Map<String, Value>, read: impl FnOnce(&mut Fields<'_>) -> T) -> Result<T, Problem> {
    let mut fields = Fields::new(map, "");
    let found = read(&mut fields);
    let errors = fields.finish();
    if errors.is_empty() { Ok(found) } else { Err(Problem::ValidationFailed(errors)) }
}

/// The one error that a field is wrong.
pub(crate) fn wrong(field: &str, fault: impl Into<Message>) -> Problem {
    Problem::ValidationFailed(vec![FieldError::new(field, fault)])
}
