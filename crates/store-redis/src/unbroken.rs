//! Since when nothing happened by which the store could have gone back to what it was before.

use std::sync::{Mutex, PoisonError};

use vestibule_core::Micros;

/// A failover, or a server that starts from an old file, forgets its last moments, and then it is not true any more that
/// somebody is present for as long as their ticket says. Neither happens without a break of the connection, so tickets are only
/// believed that were signed after the first answer over the present one.
#[derive(Default)]
pub(crate) struct Unbroken(Mutex<Option<Answered>>);

/// The first answer to what was sent after so many changes of the connection.
#[derive(Clone, Copy)]
struct Answered {
    changes: u64,
    at: Micros,
}

impl Unbroken {
    /// Since when, by the store's clock, as long as the connection has changed no more often than that; `None` if nothing has
    /// been answered over it.
    pub(crate) fn since(&self, changes: u64) -> Option<Micros> {
        let answered = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        answered.filter(|answered| answered.changes == changes).map(|answered| answered.at)
    }

    /// At `now` the store answered what was sent after so many changes of the connection, which has not changed since.
    pub(crate) fn answered(&self, changes: u64, now: Micros) {
        let mut answered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if answered.is_none_or(|answered| answered.changes < changes) {
            *answered = Some(Answered { changes, at: now });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_answered_before_a_break_says_nothing_of_what_is_behind_it() {
        let unbroken = Unbroken::default();
        assert_eq!(unbroken.since(1), None);
        unbroken.answered(1, Micros(10));
        unbroken.answered(1, Micros(20));
        assert_eq!((unbroken.since(1), unbroken.since(3)), (Some(Micros(10)), None));
        // It was under way when the connection broke.
        unbroken.answered(1, Micros(30));
        assert_eq!(unbroken.since(3), None);
        unbroken.answered(3, Micros(40));
        unbroken.answered(1, Micros(50));
        assert_eq!(unbroken.since(3), Some(Micros(40)));
    }
}
