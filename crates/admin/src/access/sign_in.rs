//! Sign-ins: the cookie of a browser and its record.

use http::{HeaderMap, HeaderValue};
use serde::{Deserialize, Serialize};
use vestibule_core::cookie::cookie_values;
use vestibule_core::{MICROS_PER_SECOND, Micros, StoreError};
use vestibule_records::{EphemeralKey, EphemeralKind, RecordStore};

use crate::access::{OperatorName, SignInMethod};
use crate::secret::{hash, new_secret};

/// Name of the cookie, without the prefix that it has over https.
pub(crate) const COOKIE: &str = "vestibule_admin";
/// What the name of a cookie begins with that browsers accept only over https, from this host and for all paths.
const HOST_ONLY: &str = "__Host-";
/// Most cookies of one name that are tried.
const CANDIDATES_MAX: usize = 8;
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
        let (text, ttl) = sign_in.record()?;
        records.set_ephemeral(&key(&sign_in.id), &text, ttl).await?;
        Ok(secret)
    }

    /// The sign-in of a request's cookie.
    pub(crate) async fn find(
        records: &dyn RecordStore,
        headers: &HeaderMap,
        https: bool,
    ) -> Result<Option<Self>, StoreError> {
        for secret in cookie_candidates(headers, COOKIE, https) {
            let id = hash(&secret);
            if let Some(text) = records.get_ephemeral(&key(&id)).await? {
                let kept: Self = serde_json::from_str(&text).map_err(|error| StoreError::Corrupt(error.to_string()))?;
                return Ok(Some(Self { id, ..kept }));
            }
        }
        Ok(None)
    }

    /// Writes down that the operator is there, now and then. Returns whether the sign-in has not ended meanwhile.
    pub(crate) async fn refresh(mut self, records: &dyn RecordStore, now: Micros) -> Result<bool, StoreError> {
        if now < self.seen_at.add_seconds(REFRESH_AFTER) {
            return Ok(true);
        }
        self.seen_at = now;
        self.replace(records).await
    }

    /// The operator has given the password again. Returns whether the sign-in has not ended meanwhile.
    pub(crate) async fn prove(mut self, records: &dyn RecordStore, now: Micros) -> Result<bool, StoreError> {
        (self.proved_at, self.seen_at) = (now, now);
        self.replace(records).await
    }

    /// Ends it.
    pub(crate) async fn end(&self, records: &dyn RecordStore) -> Result<(), StoreError> {
        records.take_ephemeral(&key(&self.id)).await.map(drop)
    }

    /// When it ends at the latest.
    pub(crate) fn ends_at(&self) -> Micros {
        self.began_at.add_seconds(LONGEST)
    }

    /// Replaces the record. One that has ended stays ended: the operator may have signed out during this request.
    async fn replace(&self, records: &dyn RecordStore) -> Result<bool, StoreError> {
        let (text, ttl) = self.record()?;
        records.set_ephemeral_if_present(&key(&self.id), &text, ttl).await
    }

    /// The text of the record and its TTL in seconds.
    fn record(&self) -> Result<(String, u64), StoreError> {
        let text = serde_json::to_string(self).map_err(|error| StoreError::Corrupt(error.to_string()))?;
        let left = self.ends_at().since(self.seen_at).div_ceil(MICROS_PER_SECOND);
        Ok((text, left.min(IDLE_TTL)))
    }
}

fn key(id: &str) -> EphemeralKey {
    EphemeralKey::new(EphemeralKind::SignIn, id)
}

/// The name of a cookie. Over https no other host of the site can set or replace it.
pub(crate) fn cookie_name(name: &str, https: bool) -> String {
    if https { format!("{HOST_ONLY}{name}") } else { name.to_owned() }
}

/// The values of a request's cookies with this name. Without https, other hosts and paths of the site can add some, in any order.
pub(crate) fn cookie_candidates(headers: &HeaderMap, name: &str, https: bool) -> Vec<String> {
    let values = headers.get_all(http::header::COOKIE).into_iter().map(HeaderValue::as_bytes);
    let name = cookie_name(name, https);
    let readable = cookie_values(values, &name).filter_map(|value| String::from_utf8(value.to_vec()).ok());
    readable.filter(|value| !value.is_empty()).take(CANDIDATES_MAX).collect()
}

/// The header that sets the cookie, or with `None` removes it.
pub(crate) fn set_cookie(secret: Option<&str>, https: bool) -> String {
    let secure = if https { "; Secure" } else { "" };
    let (value, lasts) = secret.map_or(("", 0), |secret| (secret, LONGEST));
    format!("{}={value}; Path=/; Max-Age={lasts}; HttpOnly; SameSite=Strict{secure}", cookie_name(COOKIE, https))
}
