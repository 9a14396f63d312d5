//! Verification of identities: JWTs that a site, or a load balancer in front of it, signed.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Account, KeySet};
use crate::settings::{Identity, IdentityKind};
use crate::time::{MICROS_PER_SECOND, Micros};

/// Maximum length of a token in bytes.
pub const TOKEN_MAX: usize = 4096;
/// Seconds by which the clock of whoever signed the token may differ.
pub const LEEWAY: u64 = 60;
/// Maximum length of the name of an account in bytes.
const SUBJECT_MAX: usize = 256;

/// base64url with or without padding: load balancers pad the parts of their tokens.
const PADDED: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Why a token names no account. It says nothing of the token's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// Longer than [`TOKEN_MAX`].
    #[error("the token is longer than {TOKEN_MAX} bytes")]
    TooLong,
    /// Not a signed JWT.
    #[error("not a signed JWT")]
    NotAToken,
    /// Neither RS256 nor ES256 nor `EdDSA`, or not the algorithm of the key.
    #[error("the algorithm is not that of the key")]
    WrongAlgorithm,
    /// No key has the token's key ID.
    #[error("no key has the key ID of the token")]
    UnknownKey,
    /// The signature is not valid.
    #[error("invalid signature")]
    BadSignature,
    /// Expired, or without an expiry.
    #[error("the token has expired, or has no expiry")]
    Expired,
    /// Not valid yet.
    #[error("the token is not valid yet")]
    NotYetValid,
    /// Of another issuer.
    #[error("the token is of another issuer")]
    WrongIssuer,
    /// For another audience, or signed by another load balancer.
    #[error("the token is for another audience, or signed by another load balancer")]
    WrongAudience,
    /// The claim with the account is missing, too long or not a text.
    #[error("the token has no account in the claim of the settings")]
    NoAccount,
}

/// The header of a token.
#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    /// The ARN of the load balancer that signed the token.
    signer: Option<String>,
    crit: Option<Value>,
}

/// A token that was read and not verified.
pub struct IdentityToken<'a> {
    /// The signed part.
    message: &'a str,
    signature: &'a str,
    header: Header,
    claims: Map<String, Value>,
}

impl<'a> IdentityToken<'a> {
    /// Reads a token.
    ///
    /// # Errors
    /// Returns why it is not one.
    pub fn read(token: &'a [u8], kind: IdentityKind) -> Result<Self, IdentityError> {
        if token.len() > TOKEN_MAX {
            return Err(IdentityError::TooLong);
        }
        let token = std::str::from_utf8(token).map_err(|_| IdentityError::NotAToken)?;
        let mut parts = token.split('.');
        let (Some(header), Some(claims), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(IdentityError::NotAToken);
        };
        let decode = |part: &str| match kind {
            IdentityKind::Jwt => URL_SAFE_NO_PAD.decode(part),
            IdentityKind::Alb => PADDED.decode(part),
        };
        let header = decode(header).ok().and_then(|json| serde_json::from_slice::<Header>(&json).ok());
        let claims = decode(claims).ok().and_then(|json| serde_json::from_slice(&json).ok());
        let (header, claims) = header.zip(claims).ok_or(IdentityError::NotAToken)?;
        // An extension that must be understood is not.
        if header.crit.is_some() {
            return Err(IdentityError::NotAToken);
        }
        let message = &token[..token.len() - signature.len() - 1];
        Ok(Self { message, signature, header, claims })
    }

    /// Whose token it claims to be: its issuer, if it names one, and its subject. Nothing of that is verified.
    pub fn claimed_bearer(&self) -> Option<(Option<&Value>, &Value)> {
        Some((self.claims.get("iss"), self.claims.get("sub")?))
    }

    /// The ID of the key that signed the token, if it says so.
    pub fn key_id(&self) -> Option<&str> {
        self.header.kid.as_deref()
    }

    /// The account of the token by everything but its signature, which costs most: times at `now`, issuer, audience.
    ///
    /// # Errors
    /// Returns why the token cannot be valid.
    pub fn check(&self, identity: &Identity, now: Micros) -> Result<Account, IdentityError> {
        let seconds = |name: &str| self.claims.get(name).and_then(Value::as_f64);
        let is_known = match identity.kind {
            IdentityKind::Jwt => matches!(self.header.alg.as_str(), "RS256" | "ES256" | "EdDSA"),
            IdentityKind::Alb => self.header.alg == "ES256",
        };
        if !is_known {
            return Err(IdentityError::WrongAlgorithm);
        }
        let expires = seconds("exp").filter(|expires| *expires >= 0.0).ok_or(IdentityError::Expired)?;
        // A number beyond the range is the end of it.
        let expires_at = Micros((expires as u64).saturating_mul(MICROS_PER_SECOND));
        if now >= Micros(expires_at.0.saturating_add(LEEWAY * MICROS_PER_SECOND)) {
            return Err(IdentityError::Expired);
        }
        let not_before = seconds("nbf").map_or(0, |time| time.max(0.0) as u64);
        if now.seconds().saturating_add(LEEWAY) < not_before {
            return Err(IdentityError::NotYetValid);
        }
        if self.claims.get("iss").and_then(Value::as_str) != Some(identity.issuer.as_str()) {
            return Err(IdentityError::WrongIssuer);
        }
        if !self.is_for(identity) {
            return Err(IdentityError::WrongAudience);
        }
        let subject = match self.claims.get(&identity.claim) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) if number.is_u64() => number.to_string(),
            _ => return Err(IdentityError::NoAccount),
        };
        // A zero byte separates the parts of what derives from the account.
        if subject.is_empty() || subject.len() > SUBJECT_MAX || subject.contains('\0') {
            return Err(IdentityError::NoAccount);
        }
        Ok(Account { issuer: identity.issuer.clone(), subject, expires_at })
    }

    /// Whether the token is for an audience of the settings, or one of their load balancers signed it.
    fn is_for(&self, identity: &Identity) -> bool {
        let is_listed = |audience: &str| identity.audience.iter().any(|listed| listed == audience);
        match identity.kind {
            IdentityKind::Alb => self.header.signer.as_deref().is_some_and(is_listed),
            IdentityKind::Jwt => match self.claims.get("aud") {
                Some(Value::String(audience)) => is_listed(audience),
                Some(Value::Array(audiences)) => audiences.iter().filter_map(Value::as_str).any(is_listed),
                _ => false,
            },
        }
    }

    /// Verifies the signature with the key that the token names.
    ///
    /// # Errors
    /// Returns why the signature proves nothing.
    pub fn verify(&self, keys: &KeySet) -> Result<(), IdentityError> {
        let key = keys.find(self.key_id(), &self.header.alg).ok_or(IdentityError::UnknownKey)?;
        // The key decides on the algorithm, not the token.
        if self.header.alg != key.algorithm_name() {
            return Err(IdentityError::WrongAlgorithm);
        }
        let signature = PADDED.decode(self.signature).map_err(|_| IdentityError::BadSignature)?;
        if key.has_signed(self.message.as_bytes(), &signature) { Ok(()) } else { Err(IdentityError::BadSignature) }
    }
}
