//! Tokens that were verified, and the keys for it.

use std::sync::Arc;
use std::time::Duration;

use quick_cache::sync::Cache;
use vestibule_core::identity::{AccountCode, IdentityError};
use vestibule_core::{Micros, QueueId, SessionId, TokenDigest};
use vestibule_freeze::{FreezeAwareInstant, LogRateLimiter};

use super::key_sets::KeySets;

/// Maximum number of verified tokens that are remembered.
const VERIFIED_KEPT: usize = 10_000;
/// Minimum time between two log lines about unknown key IDs.
const UNKNOWN_KEY_LINES_EVERY: Duration = Duration::from_secs(1);

/// A queue at one revision, and the digest of a token.
type TokenKey = (QueueId, u64, TokenDigest);

/// A token that was verified.
#[derive(Clone)]
pub(super) struct VerifiedToken {
    /// The sessions of the account, the one of new visits first.
    pub(super) result: Result<(Arc<[SessionId]>, AccountCode), IdentityError>,
    /// When the token expires, by the store's clock.
    pub(super) expires_at: Micros,
    pub(super) verified_at: FreezeAwareInstant,
}

/// Keys of identities, and tokens that were verified.
pub(crate) struct IdentityCheck {
    pub(crate) keys: KeySets,
    pub(super) verified: Cache<TokenKey, VerifiedToken>,
    pub(super) unknown_key_ids: LogRateLimiter,
}

impl Default for IdentityCheck {
    fn default() -> Self {
        Self {
            keys: KeySets::default(),
            verified: Cache::new(VERIFIED_KEPT),
            unknown_key_ids: LogRateLimiter::every(UNKNOWN_KEY_LINES_EVERY),
        }
    }
}
