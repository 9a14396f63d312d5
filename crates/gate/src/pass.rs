//! Passes, signed once and used again while most of their time is left: a signature costs more than all else of an
//! admitted request.

use http::HeaderValue;
use quick_cache::sync::Cache;
use vestibule_core::{Micros, PASS_TTL, PassSigner, QueueId, SessionId};

/// Most passes kept for use again.
const PASSES_KEPT: usize = 10_000;
/// How long a pass is handed out again, in seconds: at least half of its time is left then.
const REUSE: u64 = PASS_TTL / 2;

/// Signs passes and keeps the fresh ones.
pub(crate) struct PassCache {
    signer: PassSigner,
    fresh: Cache<(QueueId, SessionId), (Micros, HeaderValue)>,
}

impl PassCache {
    pub(crate) fn new(signer: PassSigner) -> Self {
        Self { signer, fresh: Cache::new(PASSES_KEPT) }
    }

    /// A pass of [`PASS_TTL`] seconds as a header's value.
    pub(crate) fn short(&self, queue: &QueueId, session: SessionId, now: Micros) -> Option<HeaderValue> {
        let key = (queue.clone(), session);
        if let Some((signed_at, pass)) = self.fresh.get(&key)
            && now >= signed_at
            && now < signed_at.plus_seconds(REUSE)
        {
            return Some(pass);
        }
        let pass = HeaderValue::try_from(self.signer.sign(queue, session, now, PASS_TTL)?).ok()?;
        self.fresh.insert(key, (now, pass.clone()));
        Some(pass)
    }

    /// A pass of `ttl` seconds, for a cookie.
    pub(crate) fn long(&self, queue: &QueueId, session: SessionId, now: Micros, ttl: u64) -> Option<String> {
        self.signer.sign(queue, session, now, ttl)
    }

    pub(crate) fn jwks(&self) -> serde_json::Value {
        self.signer.jwks()
    }
}
