//! Log lines about origins that fail: one a second for each, however many requests fail.

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use vestibule_freeze::LogRateLimiter;
use vestibule_http_client::with_causes;

/// Minimum time between two lines about one origin.
const LINES_EVERY: Duration = Duration::from_secs(1);
/// Origins that are limited separately. Beyond it, all are forgotten.
const ORIGINS_MAX: usize = 1024;

/// The limits of all origins.
#[derive(Debug, Default)]
pub(super) struct FailureLog(Mutex<HashMap<Arc<str>, LogRateLimiter>>);

impl FailureLog {
    /// Logs `what` about an origin, with the lines that were left out before.
    pub(super) fn warn(&self, origin: &Arc<str>, what: &dyn std::fmt::Display, cause: &(dyn Error + 'static)) {
        let mut origins = self.0.lock();
        if origins.len() >= ORIGINS_MAX && !origins.contains_key(origin) {
            origins.clear();
        }
        let limiter = origins.entry(origin.clone()).or_insert_with(|| LogRateLimiter::every(LINES_EVERY));
        let Some(suppressed) = limiter.allow() else { return };
        drop(origins);
        tracing::warn!(%origin, cause = with_causes(cause), suppressed, "{what}");
    }
}
