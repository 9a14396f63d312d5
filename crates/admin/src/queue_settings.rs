//! The settings of a queue in requests and responses.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, header};
use serde::{Serialize, Serializer};
use vestibule_core::settings::Settings;

use crate::describe::describe;

/// The settings of a queue as a response, with their revision as `ETag`.
#[derive(Debug)]
pub(crate) struct QueueSettings(pub(crate) Settings);
/// The settings of a new queue; absent settings have their defaults.
pub(crate) struct QueueDraft;
/// Settings that differ from the cloned queue.
pub(crate) struct QueueClone;
/// A JSON merge patch (RFC 7396): absent settings stay, `null` resets to the default.
pub(crate) struct QueuePatch;

describe! {
    QueueSettings = Settings, Response;
    QueueDraft = Settings, Request;
    QueueClone = Settings, Patch;
    QueuePatch = Settings, Patch without ["id", "tenant", "epoch", "revision"];
}

impl Serialize for QueueSettings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.to_value().serialize(serializer)
    }
}

impl IntoResponse for QueueSettings {
    fn into_response(self) -> Response {
        ([(header::ETAG, etag(self.0.line.revision))], Json(self)).into_response()
    }
}

/// The `ETag` of settings: their revision.
pub(crate) fn etag(revision: u64) -> HeaderValue {
    HeaderValue::from_str(&format!("\"{revision}\"")).unwrap_or_else(|_| HeaderValue::from_static("\"0\""))
}
