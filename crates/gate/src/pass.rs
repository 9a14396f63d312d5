//! A cache of passes: the signature of a pass costs more than the rest of an admitted request.

use http::HeaderValue;
use quick_cache::sync::Cache;
use vestibule_core::identity::AccountCode;
use vestibule_core::{MICROS_PER_SECOND, Micros, PASS_TTL, PassSigner, QueueId, SessionId};

/// Maximum number of cached passes.
const PASSES_KEPT: usize = 10_000;
/// A cached pass is reused while it is valid for at least this many seconds.
const REUSE: u64 = PASS_TTL / 2;

/// The slot of an active session, which a pass stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) session: SessionId,
    /// When the slot expires without a visit. No pass is valid for longer.
    pub(crate) expires_at: Micros,
    /// The account that it is the session of (rule 24).
    pub(crate) account: Option<AccountCode>,
    /// The session that its visitor had before signing in.
    pub(crate) former: Option<SessionId>,
}

/// A signed pass.
#[derive(Debug, Clone)]
pub(crate) struct Pass {
    pub(crate) token: HeaderValue,
    pub(crate) expires_at: Micros,
}

impl Pass {
    /// Seconds until it expires.
    pub(crate) fn seconds_left(&self, now: Micros) -> u64 {
        self.expires_at.since(now) / MICROS_PER_SECOND
    }
}

/// Passes that were signed, by session.
pub(crate) struct PassCache(Cache<(QueueId, SessionId, Option<AccountCode>), Pass>);

impl PassCache {
    pub(crate) fn new() -> Self {
        Self(Cache::new(PASSES_KEPT))
    }

    /// A pass of at most [`PASS_TTL`] seconds that expires no later than the slot; `None` if the slot expires now.
    pub(crate) fn of(&self, signer: &PassSigner, queue: &QueueId, slot: Slot, now: Micros) -> Option<Pass> {
        let key = (queue.clone(), slot.session, slot.account);
        if let Some(pass) = self.0.get(&key)
            && pass.expires_at <= slot.expires_at
            && pass.seconds_left(now) >= REUSE
            && pass.seconds_left(now) <= PASS_TTL
        {
            return Some(pass);
        }
        let ttl = PASS_TTL.min(slot.expires_at.since(now) / MICROS_PER_SECOND);
        if ttl == 0 {
            return None;
        }
        let token = HeaderValue::try_from(signer.sign(queue, slot.session, slot.account, now, ttl)?).ok()?;
        let pass = Pass { token, expires_at: Micros(now.seconds() * MICROS_PER_SECOND).add_seconds(ttl) };
        self.0.insert(key, pass.clone());
        Some(pass)
    }
}
