//! What S3 says when it doesn't do what it was asked, in one line.

use http::StatusCode;
use http::response::Parts;
use serde::Deserialize;

use crate::source::SourceError;

/// The code of an object that is not there; a bucket that isn't is another matter.
const NO_SUCH_KEY: &str = "NoSuchKey";
/// The answer's own name, by which AWS finds it.
const REQUEST_ID: &str = "x-amz-request-id";

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Said {
    code: Option<String>,
    message: Option<String>,
}

/// What an answer that is no success means.
pub(super) fn refused(head: &Parts, body: &[u8]) -> SourceError {
    let said: Said = quick_xml::de::from_reader(body).unwrap_or_default();
    let gone = head.status == StatusCode::NOT_FOUND && said.code.as_deref() == Some(NO_SUCH_KEY);
    // 409: two wrote at once, each on a condition.
    if gone || matches!(head.status, StatusCode::PRECONDITION_FAILED | StatusCode::CONFLICT) {
        return SourceError::Changed;
    }
    let id = head.headers.get(REQUEST_ID).and_then(|id| id.to_str().ok()).unwrap_or("unknown");
    let (code, message) = (said.code.as_deref().unwrap_or("no code"), said.message.as_deref().unwrap_or("no message"));
    SourceError::Away(format!("S3 answered {} {code}: {message} (request {id})", head.status.as_u16()))
}
