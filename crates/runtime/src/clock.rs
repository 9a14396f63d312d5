//! The store's time between two answers of the store.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use vestibule_core::{Clock as _, Micros, SystemClock};
use vestibule_freeze::FreezeAwareInstant;

/// Follows the store's clock between answers. The age of a ticket is always measured by the store's time, because the clocks of
/// hosts differ. Time for which the process was frozen counts; otherwise an old ticket would be accepted as fresh afterwards.
pub struct StoreClock {
    base: Micros,
    began: FreezeAwareInstant,
    offset: AtomicI64,
    has_synced: AtomicBool,
}

impl Default for StoreClock {
    fn default() -> Self {
        Self {
            base: SystemClock::new().now(),
            began: FreezeAwareInstant::now(),
            offset: AtomicI64::new(0),
            has_synced: AtomicBool::new(false),
        }
    }
}

impl StoreClock {
    /// Updates the clock by the time in an answer.
    pub fn observe(&self, store_now: Micros) {
        let offset = store_now.0.cast_signed() - self.local().cast_signed();
        self.offset.store(offset, Ordering::Relaxed);
        self.has_synced.store(true, Ordering::Relaxed);
    }

    /// The store's time; the time of this machine until the store has answered.
    pub fn now(&self) -> Micros {
        Micros(self.local().saturating_add_signed(self.offset.load(Ordering::Relaxed)))
    }

    fn local(&self) -> u64 {
        self.base.0.saturating_add(self.began.elapsed().as_micros() as u64)
    }

    /// Whether the store has answered this process.
    pub fn has_synced(&self) -> bool {
        self.has_synced.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_follows_the_store() {
        let clock = StoreClock::default();
        assert!(!clock.has_synced());
        let store = Micros(clock.now().0 + 3_600_000_000);
        clock.observe(store);
        assert!(clock.now().since(store) < 5_000_000 && clock.now() >= store);
    }
}
