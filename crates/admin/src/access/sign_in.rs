//! Sign-ins: the cookie of a browser and its record.

use http::{HeaderMap, HeaderValue};
use serde::{Deserialize, Serialize};
use vestibule_core::cookie::cookie_values;
use vestibule_core::{MICROS_PER_SECOND, Micros, StoreError};
use vestibule_records::{EphemeralKey, EphemeralKind, RecordStore};

use crate::access::{OperatorName, SignInMethod};
use crate::secret::{hash, new_secret};

/// Name of the cookie.
pub(crate) const COOKIE: &str = "vestibule_admin";
/// Seconds without a request after which a sign-in ends.
const IDLE_TTL: u64 = 3600;
/// Seconds after which it ends whatever happened.
const LONGEST: u64 = 12 * 3600;
/// Seconds after which a request writes down that the operator is still there.
const REFRESH_AFTER: u64 = 60;

/// An operator who signed in.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SignIn {
    pub(crate) operator: OperatorName,
    /// When the password was set that they signed in with.
    pub(crate) password_at: Micros,
    pub(crate) began_at: Micros,
    /// When the operator showed last that it is them: signed in, or gave the password again.
    #[serde(default)]
    pub(crate) proved_at: Micros,
    seen_at: Micros,
    /// How they signed in.
    #[serde(default)]
    pub(crate) method: SignInMethod,
    /// The ephemeral key: the hash of the cookie's value.
    #[serde(skip)]
    id: String,
}

impl SignIn {
    /// Signs an operator in. Returns the value of the cookie, which is kept nowhere.
    pub(crate) async fn begin(
        records: &dyn RecordStore,
        operator: OperatorName,
        password_at: Micros,
        method: SignInMethod,
        now: Micros,
    ) -> Result<String, StoreError> {
        let secret = new_secret();
        let id = hash(&secret);
        let sign_in = Self { operator, password_at, began_at: now, proved_at: now, seen_at: now, method, id };
        sign_in.keep(records).await?;
        Ok(secret)
    }

    /// The sign-in of a request's cookie.
    pub(crate) async fn find(records: &dyn RecordStore, headers: &HeaderMap) -> Result<Option<Self>, StoreError> {
        let Some(secret) = cookie_of(headers, COOKIE) else { return Ok(None) };
        let id = hash(&secret);
        let Some(text) = records.get_ephemeral(&key(&id)).await? else { return Ok(None) };
        let kept: Self = serde_json::from_str(&text).map_err(|error| StoreError::Corrupt(error.to_string()))?;
        Ok(Some(Self { id, ..kept }))
    }

    /// Writes down that the operator is there, now and then.
    pub(crate) async fn refresh(mut self, records: &dyn RecordStore, now: Micros) -> Result<(), StoreError> {
        if now < self.seen_at.add_seconds(REFRESH_AFTER) {
            return Ok(());
        }
        self.seen_at = now;
        self.keep(records).await
    }

    /// The operator has given the password again.
    pub(crate) async fn prove(mut self, records: &dyn RecordStore, now: Micros) -> Result<(), StoreError> {
        (self.proved_at, self.seen_at) = (now, now);
        self.keep(records).await
    }

    /// Ends it.
    pub(crate) async fn end(&self, records: &dyn RecordStore) -> Result<(), StoreError> {
        records.take_ephemeral(&key(&self.id)).await.map(drop)
    }

    /// When it ends at the latest.
    pub(crate) fn ends_at(&self) -> Micros {
        self.began_at.add_seconds(LONGEST)
    }

    async fn keep(&self, records: &dyn RecordStore) -> Result<(), StoreError> {
        let text = serde_json::to_string(self).map_err(|error| StoreError::Corrupt(error.to_string()))?;
        let left = self.ends_at().since(self.seen_at).div_ceil(MICROS_PER_SECOND);
        records.set_ephemeral(&key(&self.id), &text, left.min(IDLE_TTL)).await
    }
}

fn key(id: &str) -> EphemeralKey {
    EphemeralKey::new(EphemeralKind::SignIn, id)
}

/// The value of a request's cookie.
pub(crate) fn cookie_of(headers: &HeaderMap, name: &str) -> Option<String> {
    let values = headers.get_all(http::header::COOKIE).into_iter().map(HeaderValue::as_bytes);
    cookie_values(values, name)
        .find_map(|value| String::from_utf8(value.to_vec()).ok())
        .filter(|value| !value.is_empty())
}

/// The header that sets the cookie, or with `None` removes it.
pub(crate) fn set_cookie(secret: Option<&str>, https: bool) -> String {
    let secure = if https { "; Secure" } else { "" };
    let (value, lasts) = secret.map_or(("", 0), |secret| (secret, LONGEST));
    format!("{COOKIE}={value}; Path=/; Max-Age={lasts}; HttpOnly; SameSite=Strict{secure}")
}
