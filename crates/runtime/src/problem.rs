//! Errors as problem details (RFC 9457).

use std::borrow::Cow;

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};

/// An error body: `application/problem+json` with `type`, `title`, `status`, `detail`, a stable `code` and, where they
/// help, `params` and `errors`. Never cached.
#[derive(Debug, Clone)]
pub struct Problem {
    status: StatusCode,
    code: &'static str,
    detail: String,
    params: Option<Value>,
    field: Option<Cow<'static, str>>,
}

impl Problem {
    /// A problem with this code. `detail` is a sentence for people.
    pub fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self { status, code, detail: detail.into(), params: None, field: None }
    }

    /// Adds values that the detail mentions.
    #[must_use]
    pub fn with_params(self, params: Value) -> Self {
        Self { params: Some(params), ..self }
    }

    /// Names the invalid parameter or header.
    #[must_use]
    pub fn with_field(self, field: impl Into<Cow<'static, str>>) -> Self {
        Self { field: Some(field.into()), ..self }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let title = self.status.canonical_reason().unwrap_or_default();
        let mut body = json!({
            "type": "about:blank", "title": title, "status": self.status.as_u16(), "detail": self.detail, "code": self.code,
        });
        if let Some(params) = self.params {
            body["params"] = params;
        }
        if let Some(field) = self.field {
            body["errors"] = json!([{ "field": field, "code": self.code, "detail": self.detail }]);
        }
        let mut response = (self.status, Json(body)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}
