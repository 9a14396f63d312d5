//! Passes: proof for the origin that a session is admitted. JWTs signed with Ed25519, so any origin
//! can verify them with the public keys at `/_vestibule/jwks.json` and without a shared secret.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::jws::{self, ED25519_LEN, Parts, TokenKey};
use super::keys::{KeyError, KeyList};
use crate::identity::AccountCode;
use crate::jobs::JobId;
use crate::time::Micros;
use crate::{QueueId, SessionId};

/// Maximum length of a pass, in bytes.
const PASS_MAX: usize = 1024;
/// Issuer of every pass.
const PASS_ISSUER: &str = "vestibule";
/// Lifetime of a pass, in seconds.
pub const PASS_TTL: u64 = 60;

/// The claims of a pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassClaims {
    /// Always `vestibule`.
    pub iss: String,
    /// The session.
    pub sub: SessionId,
    /// The queue that admitted it.
    pub queue: QueueId,
    /// When it was signed, in seconds since 1970 by the store's clock.
    pub iat: u64,
    /// When it expires, in seconds since 1970.
    pub exp: u64,
    /// The account of the session (rule 24).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acct: Option<AccountCode>,
    /// The job of a held order; such a pass is for one request (H7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<JobId>,
}

struct PassKey {
    kid: String,
    token: TokenKey<SigningKey>,
}

/// Signs passes.
pub struct PassSigner {
    keys: Vec<PassKey>,
}

impl PassSigner {
    /// A signer with these keys; the first one signs, and all are published.
    ///
    /// # Errors
    /// Returns an error for a key of the wrong length.
    pub fn new(keys: &KeyList) -> Result<Self, KeyError> {
        let keys = keys.for_passes()?.iter().map(|key| {
            let seed = key.secret.as_slice().try_into().map_err(|_| KeyError::Length(key.kid.clone()))?;
            Ok(PassKey { kid: key.kid.clone(), token: TokenKey::new(&key.kid, SigningKey::from_bytes(seed)) })
        });
        Ok(Self { keys: keys.collect::<Result<_, KeyError>>()? })
    }

    /// Creates a pass for this session, and its account if it has one, valid for `ttl` seconds from `now` by the store's clock.
    ///
    /// Returns `None` if the claims can't be serialized, which does not happen.
    pub fn sign(
        &self,
        queue: &QueueId,
        session: SessionId,
        account: Option<AccountCode>,
        now: Micros,
        ttl: u64,
    ) -> Option<String> {
        self.sign_claims(&claims(queue, session, account, now, ttl))
    }

    /// Creates a pass for the request of a held order, valid for [`PASS_TTL`] (H7).
    ///
    /// Returns `None` if the claims can't be serialized, which does not happen.
    pub fn sign_for_job(
        &self,
        queue: &QueueId,
        session: SessionId,
        account: Option<AccountCode>,
        job: JobId,
        now: Micros,
    ) -> Option<String> {
        self.sign_claims(&PassClaims { job: Some(job), ..claims(queue, session, account, now, PASS_TTL) })
    }

    fn sign_claims(&self, claims: &PassClaims) -> Option<String> {
        self.keys.first()?.token.sign(claims, PASS_MAX)
    }

    /// The public keys as a JSON Web Key Set (RFC 7517, RFC 8037).
    pub fn jwks(&self) -> Value {
        let key = |key: &PassKey| {
            json!({
                "kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig",
                "kid": key.kid, "x": URL_SAFE_NO_PAD.encode(key.token.algorithm.verifying_key().as_bytes()),
            })
        };
        json!({ "keys": self.keys.iter().map(key).collect::<Vec<_>>() })
    }
}

fn claims(queue: &QueueId, session: SessionId, account: Option<AccountCode>, now: Micros, ttl: u64) -> PassClaims {
    let iat = now.seconds();
    let (iss, queue) = (PASS_ISSUER.to_owned(), queue.clone());
    PassClaims { iss, sub: session, queue, iat, exp: iat + ttl, acct: account, job: None }
}

/// Verifies a pass against a key set, as an origin does: for tests, tools and examples.
///
/// # Errors
/// Returns the reason why the pass is not valid.
pub fn verify_pass(jwks: &Value, token: &str, now: Micros) -> Result<PassClaims, String> {
    let (mut header, mut claims, mut signature) = ([0; PASS_MAX], [0; PASS_MAX], [0; ED25519_LEN]);
    let parts = Parts::of(token).ok_or("not a signed token")?;
    let header = jws::decode(parts.header, &mut header).ok_or("the header is not base64url")?;
    let header: Value = serde_json::from_slice(header).map_err(|error| error.to_string())?;
    if header["alg"] != "EdDSA" {
        return Err(format!("the algorithm is {}, not EdDSA", header["alg"]));
    }
    let keys = jwks["keys"].as_array().ok_or("not a key set")?;
    let key = keys.iter().find(|key| key["kid"] == header["kid"]).ok_or("unknown key")?;
    let public = URL_SAFE_NO_PAD.decode(key["x"].as_str().unwrap_or_default()).map_err(|error| error.to_string())?;
    let public: &[u8; 32] = public.as_slice().try_into().map_err(|_| "the public key has another length")?;
    let public = VerifyingKey::from_bytes(public).map_err(|error| error.to_string())?;
    let signature = jws::decode(parts.signature, &mut signature).ok_or("the signature is not base64url")?;
    if !jws::verify_ed25519(&public, parts.message.as_bytes(), signature) {
        return Err("bad signature".to_owned());
    }
    let claims = jws::decode(parts.claims, &mut claims).ok_or("the claims are not base64url")?;
    let claims: PassClaims = serde_json::from_slice(claims).map_err(|error| error.to_string())?;
    match claims {
        _ if claims.iss != PASS_ISSUER => Err(format!("issued by {}", claims.iss)),
        _ if claims.exp <= now.seconds() => Err("expired".to_owned()),
        claims => Ok(claims),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_verify_passes_with_public_keys_only() {
        let signer = PassSigner::new(&KeyList::of_bytes("p1", [9; 32])).unwrap();
        let queue: QueueId = "acme".parse().unwrap();
        let session = SessionId::from_bytes([1; 14]);
        let now = Micros(1_700_000_000_000_000);
        let pass = signer.sign(&queue, session, None, now, PASS_TTL).unwrap();
        let claims = verify_pass(&signer.jwks(), &pass, now).unwrap();
        assert_eq!((claims.sub, claims.queue), (session, queue));
        assert!(verify_pass(&signer.jwks(), &pass, now.add_seconds(60)).is_err(), "a pass ends");
        let other = PassSigner::new(&KeyList::of_bytes("p1", [8; 32])).unwrap();
        assert!(verify_pass(&other.jwks(), &pass, now).is_err(), "another key does not do");
        let text = signer.jwks().to_string();
        assert!(!text.contains("\"d\""), "the private half stays here");
    }

    #[test]
    fn pass_of_a_job_names_it_and_expires_after_a_minute() {
        let signer = PassSigner::new(&KeyList::of_bytes("p1", [9; 32])).unwrap();
        let (job, now) = (JobId::from_bytes([2; JobId::SIZE]), Micros(1_700_000_000_000_000));
        let pass =
            signer.sign_for_job(&"acme".parse().unwrap(), SessionId::from_bytes([1; 14]), None, job, now).unwrap();
        let claims = verify_pass(&signer.jwks(), &pass, now.add_seconds(59)).unwrap();
        assert_eq!((claims.job, claims.exp - claims.iat), (Some(job), 60));
        assert!(verify_pass(&signer.jwks(), &pass, now.add_seconds(60)).is_err());
    }

    /// Origins verify passes with other libraries.
    #[test]
    fn another_library_verifies_passes() {
        use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};

        let signer = PassSigner::new(&KeyList::of_bytes("p1", [9; 32])).unwrap();
        let now = Micros(4_000_000_000_000_000);
        let session = SessionId::from_bytes([1; 14]);
        let pass = signer.sign(&"acme".parse().unwrap(), session, None, now, PASS_TTL).unwrap();
        assert_eq!(decode_header(&pass).unwrap().kid.as_deref(), Some("p1"));
        let jwks = signer.jwks();
        let key = DecodingKey::from_ed_components(jwks["keys"][0]["x"].as_str().unwrap()).unwrap();
        let mut validation = Validation::new(Algorithm::EdDSA);
        validation.set_issuer(&[PASS_ISSUER]);
        let claims = decode::<PassClaims>(&pass, &key, &validation).unwrap().claims;
        assert_eq!((claims.sub, claims.exp - claims.iat), (session, PASS_TTL));
        let altered = pass.replacen('.', ".e", 1);
        assert!(decode::<PassClaims>(&altered, &key, &validation).is_err());
    }
}
