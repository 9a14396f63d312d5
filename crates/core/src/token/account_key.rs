//! The keys of a ticket key for accounts.

use super::keys::Key;
use super::mac::Mac;

/// Purpose of the key of sessions.
const SESSION_LABEL: &str = "vestibule account 1";
/// Purpose of the key of fingerprints.
const FINGERPRINT_LABEL: &str = "vestibule identity 1";

/// The keys of one ticket key for accounts.
pub(super) struct AccountKey {
    pub(super) kid: String,
    pub(super) sessions: Mac,
    pub(super) fingerprints: Mac,
}

impl AccountKey {
    pub(super) fn of(key: &Key) -> Self {
        Self {
            kid: key.kid.clone(),
            sessions: Mac::labeled(&key.secret, SESSION_LABEL),
            fingerprints: Mac::labeled(&key.secret, FINGERPRINT_LABEL),
        }
    }
}
