//! The store's time, as far as this process knows it.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use vestibule_core::{Clock, Micros, SystemClock};

/// Follows the store's clock between answers. A ticket's age is only ever taken by the store's time: hosts disagree.
pub struct StoreClock {
    local: SystemClock,
    offset: AtomicI64,
    answers: AtomicU64,
}

impl Default for StoreClock {
    fn default() -> Self {
        Self { local: SystemClock::new(), offset: AtomicI64::new(0), answers: AtomicU64::new(0) }
    }
}

impl StoreClock {
    /// Takes note of the store's clock as an answer carried it.
    pub fn observe(&self, store_now: Micros) {
        let offset = store_now.0.cast_signed() - self.local.now().0.cast_signed();
        self.offset.store(offset, Ordering::Relaxed);
        self.answers.fetch_add(1, Ordering::Relaxed);
    }

    /// The store's time; this machine's while the store has not answered yet.
    #[must_use]
    pub fn now(&self) -> Micros {
        Micros(self.local.now().0.saturating_add_signed(self.offset.load(Ordering::Relaxed)))
    }

    /// Whether the store has ever answered this process.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.answers.load(Ordering::Relaxed) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_s_time_is_followed_though_the_machine_s_differs() {
        let clock = StoreClock::default();
        assert!(!clock.is_known());
        let store = Micros(clock.now().0 + 3_600_000_000);
        clock.observe(store);
        assert!(clock.now().since(store) < 5_000_000 && clock.now() >= store);
    }
}
