//! Signatures of calls, as [Standard Webhooks](https://github.com/standard-webhooks/standard-webhooks) says: version `v1`.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use vestibule_core::jobs::SigningSecret;

/// A signature of `webhook-signature`: HMAC-SHA256 of `id.timestamp.body`.
pub(crate) fn signature(secret: &SigningSecret, id: &str, timestamp: u64, body: &[u8]) -> Option<String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.key()).ok()?;
    mac.update(format!("{id}.{timestamp}.").as_bytes());
    mac.update(body);
    Some(format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes())))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vestibule_core::fields::Object as _;
    use vestibule_core::jobs::JobTarget;

    use super::*;

    /// The example of the specification's libraries.
    #[test]
    fn signature_is_that_of_the_standard() {
        let target = json!({
            "kind": "http", "url": "https://crm.acme.example/jobs", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        });
        let secret = JobTarget::from_json(&target).unwrap().secret.unwrap();
        let signed = signature(&secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signed.unwrap(), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }
}
