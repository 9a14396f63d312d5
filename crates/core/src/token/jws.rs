//! The compact serialization of a JSON Web Signature: header, claims and signature in base64url,
//! joined by dots.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signature, SigningKey, Verifier as _, VerifyingKey};
use hmac::digest::InvalidLength;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Serialize;
use serde_json::json;
use sha2::Sha256;

/// Length of an HS256 signature, in bytes.
pub(super) const HS256_LEN: usize = 32;
/// Length of an Ed25519 signature, in bytes.
pub(super) const ED25519_LEN: usize = 64;

/// A signature algorithm with its key.
pub(super) trait Algorithm {
    /// Its name in a header (RFC 7518, RFC 8037).
    const NAME: &'static str;

    /// The type of a signature.
    type Signature: AsRef<[u8]>;

    /// The signature of the message.
    fn sign(&self, message: &[u8]) -> Self::Signature;
}

/// HMAC with SHA-256 (RFC 7518, section 3.2). The key schedule is computed once, since every
/// request verifies and signs a ticket.
pub(super) struct Hs256(Hmac<Sha256>);

impl Hs256 {
    /// Creates the algorithm with this secret.
    pub(super) fn new(secret: &[u8]) -> Result<Self, InvalidLength> {
        Hmac::new_from_slice(secret).map(Self)
    }

    /// Verifies a signature in constant time.
    pub(super) fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        self.0.clone().chain_update(message).verify_slice(signature).is_ok()
    }
}

impl Algorithm for Hs256 {
    const NAME: &'static str = "HS256";
    type Signature = [u8; HS256_LEN];

    fn sign(&self, message: &[u8]) -> [u8; HS256_LEN] {
        self.0.clone().chain_update(message).finalize().into_bytes().into()
    }
}

impl Algorithm for SigningKey {
    const NAME: &'static str = "EdDSA";
    type Signature = [u8; ED25519_LEN];

    fn sign(&self, message: &[u8]) -> [u8; ED25519_LEN] {
        ed25519_dalek::Signer::sign(self, message).to_bytes()
    }
}

/// Verifies an Ed25519 signature (RFC 8037).
pub(super) fn verify_ed25519(key: &VerifyingKey, message: &[u8], signature: &[u8]) -> bool {
    Signature::from_slice(signature).is_ok_and(|signature| key.verify(message, &signature).is_ok())
}

/// A signing key with the header shared by all of its tokens.
pub(super) struct TokenKey<A> {
    /// The encoded header.
    pub(super) header: String,
    pub(super) algorithm: A,
}

impl<A: Algorithm> TokenKey<A> {
    /// A key with this id.
    pub(super) fn new(kid: &str, algorithm: A) -> Self {
        Self::of_type("JWT", kid, algorithm)
    }

    /// A key with this id for tokens of this type.
    pub(super) fn of_type(token_type: &str, kid: &str, algorithm: A) -> Self {
        let header = json!({ "typ": token_type, "alg": A::NAME, "kid": kid });
        Self { header: URL_SAFE_NO_PAD.encode(header.to_string()), algorithm }
    }

    /// Signs the claims. `capacity` is the approximate length of the token. `None` if the claims
    /// can't be written as JSON.
    pub(super) fn sign(&self, claims: &impl Serialize, capacity: usize) -> Option<String> {
        let mut token = String::with_capacity(capacity);
        token.push_str(&self.header);
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(serde_json::to_vec(claims).ok()?, &mut token);
        let signature = self.algorithm.sign(token.as_bytes());
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(signature, &mut token);
        Some(token)
    }
}

/// An unverified token, in its encoded parts.
pub(super) struct Parts<'a> {
    /// The signed part: header and claims.
    pub(super) message: &'a str,
    pub(super) header: &'a str,
    pub(super) claims: &'a str,
    pub(super) signature: &'a str,
}

impl<'a> Parts<'a> {
    /// Splits a token; `None` if it does not have three parts.
    pub(super) fn of(token: &'a str) -> Option<Self> {
        let (message, signature) = token.rsplit_once('.')?;
        let (header, claims) = message.split_once('.')?;
        Some(Self { message, header, claims, signature })
    }
}

/// Decodes a part; `None` if it is not base64url or longer than `buffer`.
pub(super) fn decode<'a>(part: &str, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    let length = URL_SAFE_NO_PAD.decode_slice(part, buffer).ok()?;
    Some(&buffer[..length])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7515, appendix A.1.
    #[test]
    fn hs256_matches_rfc_7515() {
        let secret = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
        let message = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
        let key = Hs256::new(&URL_SAFE_NO_PAD.decode(secret).unwrap()).unwrap();
        let signature = key.sign(message.as_bytes());
        assert_eq!(URL_SAFE_NO_PAD.encode(signature), "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        assert!(key.verify(message.as_bytes(), &signature));
        assert!(!key.verify(b"another", &signature));
        assert!(!key.verify(message.as_bytes(), &signature[1..]) && !key.verify(message.as_bytes(), &[]));
    }

    /// RFC 8037, appendix A.4.
    #[test]
    fn ed25519_matches_rfc_8037() {
        let message = b"eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
        let expected = "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
        let seed = URL_SAFE_NO_PAD.decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A").unwrap();
        let key = SigningKey::from_bytes(&seed.try_into().unwrap());
        let public = URL_SAFE_NO_PAD.encode(key.verifying_key().to_bytes());
        assert_eq!(public, "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo");
        let signature = Algorithm::sign(&key, message);
        assert_eq!(URL_SAFE_NO_PAD.encode(signature), expected);
        assert!(verify_ed25519(&key.verifying_key(), message, &signature));
        assert!(!verify_ed25519(&key.verifying_key(), b"another", &signature));
        assert!(!verify_ed25519(&key.verifying_key(), message, &signature[1..]));
    }
}
