//! Idempotency keys: a repeated request is not executed again and gets the first response.

use http::HeaderMap;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tracing::warn;
use vestibule_core::StoreError;
use vestibule_core::settings::FieldErrorCode;
use vestibule_records::{EphemeralKey, EphemeralKind};

use crate::access::Principal;
use crate::body::wrong;
use crate::codes::Code;
use crate::problem::Problem;
use crate::secret::hash;
use crate::state::Admin;

/// Header that carries the key.
pub(crate) const IDEMPOTENCY_HEADER: &str = "idempotency-key";
/// Seconds for which a key is stored.
const KEPT: u64 = 86_400;
/// Maximum length of a key.
const LONGEST: usize = 128;

/// A request with a key.
pub(crate) struct Idempotency {
    key: EphemeralKey,
    /// Hash of the request: a key cannot be used for another one.
    request: String,
}

impl Idempotency {
    /// Parses the key of an operator's request; `request` describes the request completely.
    pub(crate) fn of(headers: &HeaderMap, principal: &Principal, request: &str) -> Result<Option<Self>, Problem> {
        let Some(key) = headers.get(IDEMPOTENCY_HEADER) else { return Ok(None) };
        let key = key.to_str().unwrap_or_default();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if key.is_empty() || key.len() > LONGEST || !key.bytes().all(plain) {
            return Err(wrong("Idempotency-Key", FieldErrorCode::Invalid.with("what", Code::IdempotencyKey)));
        }
        let id = hash(&format!("{} {key}", principal.operator));
        Ok(Some(Self { key: EphemeralKey::new(EphemeralKind::Idempotency, id), request: hash(request) }))
    }

    /// The response to the first request with this key; `None` if there was none. A request that is in progress or was
    /// aborted may or may not have been executed.
    pub(crate) async fn answered<T: DeserializeOwned>(&self, admin: &Admin) -> Result<Option<T>, Problem> {
        let Some(text) = admin.records.get_ephemeral(&self.key).await? else { return Ok(None) };
        let (request, answer) = text.split_once(' ').unwrap_or((&text, ""));
        if request != self.request {
            return Err(wrong("Idempotency-Key", Code::KeyUsed));
        }
        match serde_json::from_str(answer) {
            Ok(answer) => Ok(Some(answer)),
            Err(_) => Err(Problem::of_write(StoreError::Unavailable("the first request has not ended".to_owned()))),
        }
    }

    /// Reserves the key. Returns `false` if another request has it already.
    pub(crate) async fn begin(&self, admin: &Admin) -> Result<bool, Problem> {
        Ok(admin.records.set_ephemeral_if_absent(&self.key, &self.request, KEPT).await?)
    }

    /// Stores the response for repeated requests.
    pub(crate) async fn end(&self, admin: &Admin, answer: &impl Serialize) {
        let text = format!("{} {}", self.request, serde_json::json!(answer));
        if let Err(error) = admin.records.set_ephemeral(&self.key, &text, KEPT).await {
            warn!(%error, "the answer to a request with an idempotency key could not be kept");
        }
    }
}
