//! Keys that derive from a ticket key, one for each purpose.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Length of a MAC in bytes.
pub(crate) const MAC_LEN: usize = 32;

/// HMAC-SHA-256 with a key. The key schedule is computed once.
#[derive(Clone)]
pub(crate) struct Mac(Hmac<Sha256>);

impl Mac {
    /// The MAC with this key.
    #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
    pub(crate) fn new(key: &[u8]) -> Self {
        Self(Hmac::new_from_slice(key).expect("a key"))
    }

    /// The MAC of one purpose: its key is HMAC-SHA-256(`key`, `label`).
    pub(crate) fn labeled(key: &[u8], label: &str) -> Self {
        Self::new(&Self::new(key).of(&[label.as_bytes()]))
    }

    /// The MAC of these parts, joined by zero bytes.
    pub(crate) fn of(&self, parts: &[&[u8]]) -> [u8; MAC_LEN] {
        self.over(parts).finalize().into_bytes().into()
    }

    /// Whether this is the MAC of these parts, in constant time.
    pub(crate) fn verifies(&self, parts: &[&[u8]], mac: &[u8]) -> bool {
        self.over(parts).verify_slice(mac).is_ok()
    }

    fn over(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                mac.update(&[0]);
            }
            mac.update(part);
        }
        mac
    }
}
