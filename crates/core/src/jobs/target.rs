//! Where the jobs of a job queue go.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::Message;
use crate::fields::FieldErrorCode as Code;
use crate::fields::{Field, ObjectReader, Omissible, Reader};
use crate::settings::url_kind;

/// How a written signing secret begins, as Standard Webhooks says.
const SECRET_PREFIX: &str = "whsec_";
/// Bounds of a signing secret in bytes, as Standard Webhooks says.
const SECRET_MIN: usize = 24;
const SECRET_MAX: usize = 64;
/// Bytes of a hash that tell secrets apart.
const FINGERPRINT_BYTES: usize = 4;

/// The kind of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobTargetKind {
    /// The worker calls a handler over HTTP.
    Http,
    /// Consumers receive the jobs over the API; no worker calls anything.
    Pull,
    /// The jobs are held orders: the worker sends them to the origin of their queue.
    Origin,
}

crate::word_field!(JobTargetKind { Http = "http", Pull = "pull", Origin = "origin" });

crate::fields! {
    /// Where jobs go.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct JobTarget {
        /// `http`: a handler is called. `pull`: consumers receive the jobs over the API. `origin`: held orders are sent to the
        /// origin of their queue.
        pub kind: JobTargetKind,
        /// Address of the handler; its origin must be one of the tenant's. Required for `http`, and only for it.
        pub url: Omissible<HandlerUrl>,
        /// Secret that signs calls, as Standard Webhooks says; for `http` only. Generated if it is absent.
        pub secret: Omissible<SigningSecret>,
    }
    check = check_target;
    // Without its target a job queue is nothing.
    const NEVER_IGNORED;
}

fn check_target(target: &mut JobTarget, object: &mut ObjectReader<'_>) {
    if target.kind == JobTargetKind::Http {
        if target.url.is_none() && !object.has_errors() {
            object.error("url", Code::Required.with("what", HandlerUrl::expected()));
        }
        return;
    }
    for (name, is_given) in [("url", target.url.take().is_some()), ("secret", target.secret.take().is_some())] {
        if is_given && !object.is_stored() {
            object.error(name, Code::HttpTargetOnly);
        }
    }
}

url_kind! {
    /// The address of a handler.
    HandlerUrl: Code::HandlerUrl;
}

/// The secret that signs the calls of a handler.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningSecret(Vec<u8>);

/// Tells contents apart without revealing them.
pub(super) fn fingerprint(content: &[u8]) -> String {
    format!("sha256:{}", hex::encode(&Sha256::digest(content)[..FINGERPRINT_BYTES]))
}

impl SigningSecret {
    /// Size of a generated secret in bytes.
    pub const GENERATED: usize = 32;

    /// The secret of these random bytes.
    pub fn generated(bytes: [u8; Self::GENERATED]) -> Self {
        Self(bytes.to_vec())
    }

    /// As handlers are given it: `whsec_` and the bytes in base64.
    pub fn reveal(&self) -> String {
        format!("{SECRET_PREFIX}{}", BASE64_STANDARD.encode(&self.0))
    }

    /// Tells secrets apart in plans and audit events without revealing them.
    pub fn fingerprint(&self) -> String {
        fingerprint(&self.0)
    }

    /// The key of the HMAC.
    pub fn key(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("whsec_..")
    }
}

impl Field for SigningSecret {
    type Value = Self;
    const SECRET: bool = true;

    fn expected() -> Message {
        Code::SigningSecret.into()
    }

    fn schema() -> Value {
        serde_json::json!({ "type": "string", "pattern": "^whsec_[A-Za-z0-9+/]{32,86}={0,2}$" })
    }

    fn parse(value: &Value, reader: &mut Reader) -> Option<Self> {
        let encoded = value.as_str().and_then(|text| text.strip_prefix(SECRET_PREFIX));
        let bytes = encoded.and_then(|encoded| BASE64_STANDARD.decode(encoded).ok());
        let secret = bytes.filter(|bytes| (SECRET_MIN..=SECRET_MAX).contains(&bytes.len())).map(Self);
        reader.accept::<Self>(value, secret)
    }

    fn to_json(value: &Self) -> Value {
        value.reveal().into()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fields::{Object as _, joined};

    fn target(url: &str, secret: &str) -> Result<JobTarget, String> {
        let read = JobTarget::from_json(&json!({ "kind": "http", "url": url, "secret": secret }));
        read.map_err(|errors| joined(&errors))
    }

    #[test]
    fn only_http_has_an_address_and_a_secret() {
        let read = |value: &Value| {
            let read = JobTarget::from_json(value);
            read.map_err(|errors| joined(&errors))
        };
        for (word, kind) in [("pull", JobTargetKind::Pull), ("origin", JobTargetKind::Origin)] {
            let expected = JobTarget { kind, url: None, secret: None };
            assert_eq!(read(&json!({ "kind": word })), Ok(expected.clone()));
            assert_eq!(JobTarget::to_json(&expected), json!({ "kind": word }));
            let more = json!({ "kind": word, "url": "https://crm.acme.example/", "secret": secret(32) });
            let error = read(&more).unwrap_err();
            assert_eq!(
                error,
                "url: applies to the target kind \"http\" only; secret: applies to the target kind \"http\" only"
            );
            assert_eq!(Reader::read::<JobTarget>(&more, crate::fields::Reading::Stored), Ok(expected));
        }
        assert_eq!(
            read(&json!({ "kind": "http" })).unwrap_err(),
            "url: is required: an address such as \"https://crm.example.com/jobs\""
        );
    }

    fn secret(length: usize) -> String {
        format!("whsec_{}", BASE64_STANDARD.encode(vec![7; length]))
    }

    #[test]
    fn target_round_trips() {
        for length in [24, 64] {
            let parsed = target("https://CRM.acme.example/jobs?kind=mail", &secret(length)).unwrap();
            assert_eq!(parsed.url.as_ref().unwrap().origin().to_string(), "https://crm.acme.example");
            assert_eq!(parsed.secret.as_ref().map(SigningSecret::key), Some(&*vec![7; length]));
            let expected =
                json!({ "kind": "http", "url": "https://crm.acme.example/jobs?kind=mail", "secret": secret(length) });
            assert_eq!(JobTarget::to_json(&parsed), expected);
        }
    }

    #[test]
    fn errors_never_repeat_a_secret() {
        for bad in [secret(23), secret(65), "whsec_".to_owned(), "c2VjcmV0".to_owned(), "whsec_not base64".to_owned()] {
            let error = target("https://crm.acme.example/", &bad).unwrap_err();
            assert_eq!(error, "secret: must be \"whsec_\" and 24 to 64 random bytes in base64");
        }
        let parsed = target("https://crm.acme.example/", &secret(32)).unwrap();
        assert!(!format!("{parsed:?}").contains("Bwc"), "{parsed:?}");
    }

    #[test]
    fn fingerprint_tells_secrets_apart() {
        let [one, other] = [7, 8].map(|byte| SigningSecret::generated([byte; 32]));
        assert_eq!(one.fingerprint().len(), "sha256:".len() + 8);
        assert_ne!(one.fingerprint(), other.fingerprint());
        assert_eq!(target("https://crm.acme.example/", &one.reveal()).unwrap().secret, Some(one));
    }

    #[test]
    fn address_of_a_handler_is_absolute() {
        for bad in ["/jobs", "ftp://crm.acme.example/", "https://user@crm.acme.example/", "https://", "https://x#y"] {
            assert!(target(bad, &secret(32)).unwrap_err().starts_with("url: must be an address"), "{bad}");
        }
    }
}
