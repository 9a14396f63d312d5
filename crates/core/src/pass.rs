//! Passes: proof for the origin that a session is let in. JWTs signed with Ed25519, so that any origin verifies them
//! with the public keys at `/_vestibule/jwks.json` and shares no secret.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::SigningKey as Ed25519Key;
use ed25519_dalek::pkcs8::EncodePrivateKey as _;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::keys::{KeyError, KeyList};
use crate::time::Micros;
use crate::{QueueId, SessionId, token_crypto};

/// Issuer that every pass names.
pub const PASS_ISSUER: &str = "vestibule";
/// How long a pass in a header or an address is good, in seconds.
pub const PASS_TTL: u64 = 60;

/// What a pass says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassClaims {
    /// Always [`PASS_ISSUER`].
    pub iss: String,
    /// The session.
    pub sub: SessionId,
    /// The queue that let it in.
    pub queue: QueueId,
    /// When it was signed, in seconds since 1970 by the store's clock.
    pub iat: u64,
    /// When it is good no more.
    pub exp: u64,
}

struct PassKey {
    header: Header,
    encoding: EncodingKey,
    public: [u8; 32],
}

/// Signs passes.
pub struct PassSigner {
    keys: Vec<PassKey>,
}

impl PassSigner {
    /// A signer with these keys; the first signs, all are published.
    ///
    /// # Errors
    /// A key of the wrong length.
    pub fn new(keys: &KeyList) -> Result<Self, KeyError> {
        token_crypto::install();
        let keys = keys.for_passes()?.iter().map(|key| {
            let wrong = || KeyError::Length(key.kid.clone());
            let seed: [u8; 32] = key.secret.as_slice().try_into().map_err(|_| wrong())?;
            let pair = Ed25519Key::from_bytes(&seed);
            let der = pair.to_pkcs8_der().map_err(|_| wrong())?;
            Ok(PassKey {
                header: Header { kid: Some(key.kid.clone()), ..Header::new(Algorithm::EdDSA) },
                encoding: EncodingKey::from_ed_der(der.as_bytes()),
                public: pair.verifying_key().to_bytes(),
            })
        });
        Ok(Self { keys: keys.collect::<Result<_, KeyError>>()? })
    }

    /// A pass for this session, good for `ttl` seconds from `now` by the store's clock.
    ///
    /// Returns `None` only if the claims could not be written, which they always can.
    #[must_use]
    pub fn sign(&self, queue: &QueueId, session: SessionId, now: Micros, ttl: u64) -> Option<String> {
        let iat = now.seconds();
        let claims =
            PassClaims { iss: PASS_ISSUER.to_owned(), sub: session, queue: queue.clone(), iat, exp: iat + ttl };
        let key = self.keys.first()?;
        jsonwebtoken::encode(&key.header, &claims, &key.encoding).ok()
    }

    /// The public keys as a JSON Web Key Set (RFC 7517, RFC 8037).
    #[must_use]
    pub fn jwks(&self) -> Value {
        let key = |key: &PassKey| {
            json!({
                "kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig",
                "kid": key.header.kid, "x": URL_SAFE_NO_PAD.encode(key.public),
            })
        };
        json!({ "keys": self.keys.iter().map(key).collect::<Vec<_>>() })
    }
}

/// Verifies a pass against a key set, as an origin does: for tests, tools and examples.
///
/// # Errors
/// In plain words, why it is not good.
pub fn verify_pass(jwks: &Value, token: &str, now: Micros) -> Result<PassClaims, String> {
    token_crypto::install();
    let kid = jsonwebtoken::decode_header(token).map_err(|error| error.to_string())?.kid;
    let keys = jwks["keys"].as_array().ok_or("not a key set")?;
    let key = keys.iter().find(|key| key["kid"].as_str() == kid.as_deref()).ok_or("unknown key")?;
    let key = DecodingKey::from_ed_components(key["x"].as_str().unwrap_or_default()).map_err(|e| e.to_string())?;
    let mut validation = Validation::new(Algorithm::EdDSA);
    validation.validate_exp = false;
    validation.set_issuer(&[PASS_ISSUER]);
    let claims =
        jsonwebtoken::decode::<PassClaims>(token, &key, &validation).map_err(|error| error.to_string())?.claims;
    if claims.exp <= now.seconds() { Err("expired".to_owned()) } else { Ok(claims) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_verifies_a_pass_with_the_public_keys_alone() {
        let signer = PassSigner::new(&KeyList::of_bytes("p1", [9; 32])).unwrap();
        let queue: QueueId = "acme".parse().unwrap();
        let session = SessionId::from_bytes([1; 14]);
        let now = Micros(1_700_000_000_000_000);
        let pass = signer.sign(&queue, session, now, PASS_TTL).unwrap();
        let claims = verify_pass(&signer.jwks(), &pass, now).unwrap();
        assert_eq!((claims.sub, claims.queue), (session, queue));
        assert!(verify_pass(&signer.jwks(), &pass, now.add_seconds(60)).is_err(), "a pass ends");
        let other = PassSigner::new(&KeyList::of_bytes("p1", [8; 32])).unwrap();
        assert!(verify_pass(&other.jwks(), &pass, now).is_err(), "another key does not do");
        let text = signer.jwks().to_string();
        assert!(!text.contains("\"d\""), "the private half stays here");
    }
}
