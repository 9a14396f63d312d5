//! The two algorithms that tokens are signed with: HS256 for tickets, `EdDSA` for passes, the latter by way of `jsonwebtoken`.
//!
//! Its own sets of algorithms bring RSA and two elliptic curves that nobody here signs with, which made every program
//! larger by the code of three libraries. A token of any other algorithm is refused before a key is looked at.

use std::sync::Once;

use ed25519_dalek::pkcs8::DecodePrivateKey as _;
use ed25519_dalek::{Signature, Signer as _, SigningKey, Verifier as _, VerifyingKey};
use hmac::digest::InvalidLength;
use hmac::{Hmac, KeyInit as _, Mac as _};
use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::signature::{self, Signer, Verifier};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, EncodingKey};
use sha2::Sha256;

/// Bytes of a signature by HS256.
pub(crate) const HS256_LEN: usize = 32;

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |algorithm, key| signer(*algorithm, key),
    verifier_factory: |algorithm, key| verifier(*algorithm, key),
    key_utils: KeyUtils::new_unimplemented(),
};

/// Lets this process sign and verify. To be called before either; every call but the first does nothing.
pub(crate) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // Whoever was first has chosen; no other crate of this workspace may, which `layering` tests.
        let _ = PROVIDER.install_default();
    });
}

fn signer(algorithm: Algorithm, key: &EncodingKey) -> Result<Box<dyn JwtSigner>, Error> {
    match (algorithm, key.family()) {
        (Algorithm::EdDSA, AlgorithmFamily::Ed) => {
            let pair = SigningKey::from_pkcs8_der(key.as_bytes()).map_err(|_| ErrorKind::InvalidEddsaKey)?;
            Ok(Box::new(EdDsaSigner(pair)))
        }
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    }
}

fn verifier(algorithm: Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>, Error> {
    match (algorithm, key.family()) {
        (Algorithm::EdDSA, AlgorithmFamily::Ed) => {
            let bytes = key.try_get_as_bytes()?.try_into().map_err(|_| ErrorKind::InvalidEddsaKey)?;
            let public = VerifyingKey::from_bytes(bytes).map_err(|_| ErrorKind::InvalidEddsaKey)?;
            Ok(Box::new(EdDsaVerifier(public)))
        }
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    }
}

/// HS256 with a secret: HMAC with SHA-256, before any message. Every request has a ticket verified and one signed, so the
/// secret is worked into it once.
pub(crate) struct Hs256(Hmac<Sha256>);

impl Hs256 {
    /// With this secret.
    pub(crate) fn new(secret: &[u8]) -> Result<Self, InvalidLength> {
        Hmac::new_from_slice(secret).map(Self)
    }

    pub(crate) fn sign(&self, message: &[u8]) -> [u8; HS256_LEN] {
        self.0.clone().chain_update(message).finalize().into_bytes().into()
    }

    /// In a time that tells nothing of where the signatures differ.
    pub(crate) fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        self.0.clone().chain_update(message).verify_slice(signature).is_ok()
    }
}

struct EdDsaSigner(SigningKey);

impl Signer<Vec<u8>> for EdDsaSigner {
    fn try_sign(&self, message: &[u8]) -> Result<Vec<u8>, signature::Error> {
        Ok(self.0.sign(message).to_bytes().to_vec())
    }
}

impl JwtSigner for EdDsaSigner {
    fn algorithm(&self) -> Algorithm {
        Algorithm::EdDSA
    }
}

struct EdDsaVerifier(VerifyingKey);

impl Verifier<Vec<u8>> for EdDsaVerifier {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), signature::Error> {
        let signature = Signature::from_slice(signature).map_err(|_| signature::Error::new())?;
        self.0.verify(message, &signature).map_err(|_| signature::Error::new())
    }
}

impl JwtVerifier for EdDsaVerifier {
    fn algorithm(&self) -> Algorithm {
        Algorithm::EdDSA
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use jsonwebtoken::crypto;

    use super::*;

    /// RFC 7515, appendix A.1.
    #[test]
    fn a_message_is_signed_as_the_standard_has_it() {
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
    fn a_pass_is_verified_as_the_standard_has_it() {
        install();
        let message = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
        let signature = "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
        let key = DecodingKey::from_ed_components("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo").unwrap();
        assert!(crypto::verify(signature, message.as_bytes(), &key, Algorithm::EdDSA).unwrap());
        assert!(!crypto::verify(signature, b"another", &key, Algorithm::EdDSA).unwrap());
    }

    #[test]
    fn no_key_does_for_another_algorithm() {
        install();
        let (secret, public) = (EncodingKey::from_secret(&[1; 32]), DecodingKey::from_ed_der(&[1; 32]));
        for algorithm in [Algorithm::EdDSA, Algorithm::HS256, Algorithm::HS512, Algorithm::RS256, Algorithm::ES256] {
            assert!(crypto::sign(b"message", &secret, algorithm).is_err(), "{algorithm:?}");
        }
        for algorithm in [Algorithm::HS256, Algorithm::HS512, Algorithm::PS256, Algorithm::ES384] {
            assert!(crypto::verify("c2lnbmF0dXJl", b"message", &public, algorithm).is_err(), "{algorithm:?}");
        }
    }
}
