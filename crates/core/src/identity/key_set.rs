//! Public keys that verify identities: a JWK set (RFC 7517).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde_json::{Value, json};

use crate::Message;
use crate::fields::{Field, Reader};
use crate::settings::FieldErrorCode as Code;

/// Maximum number of keys in a set.
pub const KEYS_MAX: usize = 32;
/// Maximum length of a key ID, and of a number of a key in base64url: 4096 bits.
const TEXT_MAX: usize = 700;
/// Length of the modulus of an RSA key in bytes: 2048 to 4096 bits.
const RSA_BYTES: std::ops::RangeInclusive<usize> = 256..=512;
/// Length of the exponent of an RSA key in bytes.
const RSA_EXPONENT_MAX: usize = 8;
/// Length of a coordinate of a P-256 key, and of an Ed25519 key, in bytes.
const COORDINATE_LEN: usize = 32;
/// What an uncompressed point begins with.
const UNCOMPRESSED_POINT: u8 = 4;
/// Members of private and symmetric keys.
const SECRET_MEMBERS: [&str; 7] = ["d", "p", "q", "dp", "dq", "qi", "k"];

/// Why a document is not a set of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidKeySet {
    /// It is not a JWK set, or has too many keys.
    #[error("not a JWK set of 1 to {KEYS_MAX} keys")]
    Form,
    /// It has no key for RS256, ES256 or `EdDSA`.
    #[error("no key for RS256 (2048 to 4096 bits), ES256 (P-256) or EdDSA (Ed25519)")]
    NoUsableKey,
    /// A key cannot be used.
    #[error("a key is not a public key for RS256 (2048 to 4096 bits), ES256 (P-256) or EdDSA (Ed25519)")]
    UnusableKey,
}

/// The numbers of a public key, without leading zeros if they are numbers of an RSA key.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Numbers {
    /// RS256.
    Rsa { n: Vec<u8>, e: Vec<u8> },
    /// ES256: an uncompressed point (SEC 1, 2.3.3).
    P256 { point: Vec<u8> },
    /// `EdDSA`.
    Ed25519 { x: Vec<u8> },
}

/// A public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IdentityKey {
    kid: Option<String>,
    numbers: Numbers,
}

impl IdentityKey {
    /// The public key of a JWK; `None` if it cannot verify identities.
    fn of(jwk: &Value) -> Option<Self> {
        let text = |name: &str| jwk[name].as_str().filter(|text| text.len() <= TEXT_MAX).map(str::to_owned);
        let is_for_signatures = jwk["use"].as_str().is_none_or(|usage| usage == "sig");
        let has_secret = SECRET_MEMBERS.iter().any(|name| jwk.get(*name).is_some());
        if !is_for_signatures || has_secret {
            return None;
        }
        let number = |name: &str| URL_SAFE_NO_PAD.decode(text(name)?).ok();
        let coordinate = |name: &str| number(name).filter(|bytes| bytes.len() == COORDINATE_LEN);
        let numbers = match (jwk["kty"].as_str()?, jwk["crv"].as_str()) {
            ("RSA", None) => {
                let (n, e) = (without_leading_zeros(number("n")?), without_leading_zeros(number("e")?));
                if !RSA_BYTES.contains(&n.len()) || e.is_empty() || e.len() > RSA_EXPONENT_MAX {
                    return None;
                }
                Numbers::Rsa { n, e }
            }
            ("EC", Some("P-256")) => {
                Numbers::P256 { point: [vec![UNCOMPRESSED_POINT], coordinate("x")?, coordinate("y")?].concat() }
            }
            ("OKP", Some("Ed25519")) => Numbers::Ed25519 { x: coordinate("x")? },
            _ => return None,
        };
        let key = Self { kid: text("kid"), numbers };
        let fits = jwk["alg"].as_str().is_none_or(|name| name == key.algorithm_name());
        fits.then_some(key)
    }

    /// The only algorithm that the key is for, as headers name it.
    pub(super) const fn algorithm_name(&self) -> &'static str {
        match self.numbers {
            Numbers::Rsa { .. } => "RS256",
            Numbers::P256 { .. } => "ES256",
            Numbers::Ed25519 { .. } => "EdDSA",
        }
    }

    /// Whether the key signed the message.
    pub(super) fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        let verified = match &self.numbers {
            Numbers::Rsa { n, e } => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
            }
            Numbers::P256 { point } => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            Numbers::Ed25519 { x } => UnparsedPublicKey::new(&ED25519, x).verify(message, signature),
        };
        verified.is_ok()
    }

    fn to_jwk(&self) -> Value {
        let encoded = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let mut jwk = match &self.numbers {
            Numbers::Rsa { n, e } => json!({ "kty": "RSA", "n": encoded(n), "e": encoded(e) }),
            Numbers::P256 { point } => {
                let (x, y) = point[1..].split_at(COORDINATE_LEN);
                json!({ "kty": "EC", "crv": "P-256", "x": encoded(x), "y": encoded(y) })
            }
            Numbers::Ed25519 { x } => json!({ "kty": "OKP", "crv": "Ed25519", "x": encoded(x) }),
        };
        if let Some(kid) = &self.kid {
            jwk["kid"] = json!(kid);
        }
        jwk
    }
}

/// Public keys of whoever signs identities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySet(Vec<IdentityKey>);

impl KeySet {
    /// Reads a set that was fetched. Keys that cannot verify identities are left out.
    ///
    /// # Errors
    /// Returns why the document is not a set with at least one key for identities.
    pub fn from_fetched(document: &Value) -> Result<Self, InvalidKeySet> {
        let keys: Vec<_> = listed(document)?.iter().filter_map(IdentityKey::of).collect();
        if keys.is_empty() { Err(InvalidKeySet::NoUsableKey) } else { Ok(Self(keys)) }
    }

    /// Reads a set of which every key must be usable.
    ///
    /// # Errors
    /// Returns what is wrong with it.
    pub fn from_settings(document: &Value) -> Result<Self, InvalidKeySet> {
        let keys: Option<Vec<_>> = listed(document)?.iter().map(IdentityKey::of).collect();
        keys.map(Self).ok_or(InvalidKeySet::UnusableKey)
    }

    /// The set with one P-256 key in PEM (RFC 7468), as load balancers publish theirs. The key gets this ID.
    ///
    /// # Errors
    /// Returns an error for anything else.
    pub fn from_p256_pem(kid: &str, pem: &str) -> Result<Self, InvalidKeySet> {
        let is_marked = |line: &&str| line.starts_with("-----");
        let marks: Vec<&str> = pem.lines().map(str::trim).filter(is_marked).collect();
        if marks != ["-----BEGIN PUBLIC KEY-----", "-----END PUBLIC KEY-----"] {
            return Err(InvalidKeySet::Form);
        }
        let encoded: String = pem.lines().map(str::trim).filter(|line| !is_marked(line)).collect();
        let der = base64::engine::general_purpose::STANDARD.decode(encoded).map_err(|_| InvalidKeySet::Form)?;
        let point = der.strip_prefix(&P256_PREFIX).ok_or(InvalidKeySet::UnusableKey)?;
        let (x, y) = point.split_at_checked(COORDINATE_LEN).ok_or(InvalidKeySet::UnusableKey)?;
        let jwk = json!({
            "kty": "EC", "crv": "P-256", "kid": kid, "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y),
        });
        IdentityKey::of(&jwk).map(|key| Self(vec![key])).ok_or(InvalidKeySet::UnusableKey)
    }

    /// The key for a token with this header: the one with its ID, or without an ID the only one for its algorithm.
    pub(super) fn find(&self, kid: Option<&str>, algorithm: &str) -> Option<&IdentityKey> {
        if kid.is_some() {
            return self.0.iter().find(|key| key.kid.as_deref() == kid);
        }
        let mut fitting = self.0.iter().filter(|key| key.algorithm_name() == algorithm);
        fitting.next().filter(|_| fitting.next().is_none())
    }

    /// The set as a document.
    pub fn to_document(&self) -> Value {
        json!({ "keys": self.0.iter().map(IdentityKey::to_jwk).collect::<Vec<_>>() })
    }
}

/// What a public key on P-256 begins with in DER (RFC 5480), up to the coordinates of its uncompressed point.
const P256_PREFIX: [u8; 27] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
];

fn without_leading_zeros(number: Vec<u8>) -> Vec<u8> {
    number.into_iter().skip_while(|byte| *byte == 0).collect()
}

fn listed(document: &Value) -> Result<&Vec<Value>, InvalidKeySet> {
    let keys = document["keys"].as_array().filter(|keys| (1..=KEYS_MAX).contains(&keys.len()));
    keys.ok_or(InvalidKeySet::Form)
}

impl Field for KeySet {
    type Value = Self;

    fn expected() -> Message {
        Code::KeySet.with("most", KEYS_MAX)
    }

    fn schema() -> Value {
        let keys = json!({ "type": "array", "minItems": 1, "maxItems": KEYS_MAX, "items": { "type": "object" } });
        json!({ "type": "object", "required": ["keys"], "properties": { "keys": keys } })
    }

    fn parse(value: &Value, reader: &mut Reader) -> Option<Self> {
        let is_stored = reader.is_stored();
        let keys = if is_stored { Self::from_fetched(value) } else { Self::from_settings(value) };
        reader.accept::<Self>(value, keys.ok())
    }

    fn to_json(value: &Self) -> Value {
        value.to_document()
    }
}
