//! One refresh at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Mutex, OwnedMutexGuard};
use vestibule_freeze::FreezeAwareInstant;

/// Allows one refresh at a time.
#[derive(Default)]
pub(super) struct RefreshGate {
    /// Start of the last refresh, by a clock that continues while the process is frozen.
    last: parking_lot::Mutex<Option<FreezeAwareInstant>>,
    begun: AtomicU64,
    under_way: Arc<Mutex<()>>,
}

/// A refresh in progress, until it is dropped.
pub(super) struct Refresh {
    _lock: OwnedMutexGuard<()>,
}

impl RefreshGate {
    /// Waits for the refresh in progress and prevents others from starting.
    pub(super) async fn lock(&self) -> OwnedMutexGuard<()> {
        self.under_way.clone().lock_owned().await
    }

    /// Starts a refresh if none is in progress and the last one started at least `pause` ago. Failed refreshes count, so that
    /// requests do not overload a failing store.
    pub(super) fn try_begin(&self, pause: Duration) -> Option<Refresh> {
        let last = *self.last.lock();
        if last.is_some_and(|last| last.elapsed() < pause) {
            return None;
        }
        let lock = self.under_way.clone().try_lock_owned().ok()?;
        Some(self.begin(lock))
    }

    /// Waits for the refresh in progress and starts one, unless another one started in the meantime.
    pub(super) async fn begin_unless_begun(&self) -> Option<Refresh> {
        let asked = self.begun.load(Ordering::Relaxed);
        let lock = self.lock().await;
        (self.begun.load(Ordering::Relaxed) == asked).then(|| self.begin(lock))
    }

    fn begin(&self, lock: OwnedMutexGuard<()>) -> Refresh {
        self.begun.fetch_add(1, Ordering::Relaxed);
        *self.last.lock() = Some(FreezeAwareInstant::now());
        Refresh { _lock: lock }
    }
}
