//! A sign-in in progress at the provider: what identifies it when the browser returns.

use http::HeaderMap;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;
use vestibule_core::StoreError;
use vestibule_records::{EphemeralKey, EphemeralKind, RecordStore};

use crate::access::{cookie_candidates, cookie_name};
use crate::secret::{hash, new_secret};

/// Seconds within which a browser must return from the provider.
pub(crate) const AUTH_REQUEST_TTL: u64 = 600;
/// Name, without the prefix that it has over https, of the cookie that ties an attempt to the browser that began it.
const COOKIE: &str = "vestibule_sign_in";

/// The secrets of one attempt. They stay here; the browser has the name of the attempt only.
#[derive(Serialize, Deserialize)]
pub(crate) struct AuthRequest {
    /// Comes back in the address that the provider sends the browser to.
    state: String,
    /// Comes back in the proof.
    pub(super) nonce: String,
    /// Proves to the provider that the code is exchanged by the client that requested it (PKCE).
    pub(super) verifier: String,
}

impl AuthRequest {
    /// Begins an attempt. Returns it with the value of its cookie, which is not stored.
    pub(crate) async fn begin(records: &dyn RecordStore) -> Result<(Self, String), StoreError> {
        let attempt = Self { state: new_secret(), nonce: new_secret(), verifier: new_secret() };
        let text = serde_json::to_string(&attempt).map_err(|error| StoreError::Corrupt(error.to_string()))?;
        let secret = new_secret();
        records.set_ephemeral(&key(&secret), &text, AUTH_REQUEST_TTL).await?;
        Ok((attempt, secret))
    }

    /// Takes the attempt of a request's cookie, which can be used once.
    pub(crate) async fn take(
        records: &dyn RecordStore,
        headers: &HeaderMap,
        https: bool,
    ) -> Result<Option<Self>, StoreError> {
        for secret in cookie_candidates(headers, COOKIE, https) {
            if let Some(text) = records.take_ephemeral(&key(&secret)).await? {
                return serde_json::from_str(&text).map(Some).map_err(|error| StoreError::Corrupt(error.to_string()));
            }
        }
        Ok(None)
    }

    #[cfg(feature = "oidc")]
    pub(super) fn state(&self) -> &str {
        &self.state
    }

    /// Whether the address that the browser returned with is that of this attempt, compared in constant time.
    pub(crate) fn has_state(&self, state: &str) -> bool {
        self.state.as_bytes().ct_eq(state.as_bytes()).into()
    }
}

fn key(secret: &str) -> EphemeralKey {
    EphemeralKey::new(EphemeralKind::SignInAttempt, hash(secret))
}

/// The header that sets the cookie, or with `None` removes it. It must be sent when the provider's page
/// leads back here, so it is `Lax` where the sign-in's own is `Strict`.
pub(crate) fn cookie(secret: Option<&str>, https: bool) -> String {
    let secure = if https { "; Secure" } else { "" };
    let (value, lasts) = secret.map_or(("", 0), |secret| (secret, AUTH_REQUEST_TTL));
    // A cookie that belongs to the host alone is for all paths.
    let path = if https { "/".to_owned() } else { format!("{}/sign-in/oidc", crate::prefix::PREFIX) };
    let name = cookie_name(COOKIE, https);
    format!("{name}={value}; Path={path}; Max-Age={lasts}; HttpOnly; SameSite=Lax{secure}")
}
