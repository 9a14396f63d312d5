//! Limits log messages that every refresh would repeat.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use vestibule_freeze::FreezeAwareInstant;

/// Time between two messages of one kind.
const INTERVAL: Duration = Duration::from_mins(1);

/// Passes one message a minute and counts the others.
#[derive(Default)]
pub(crate) struct Throttle(Mutex<(Option<FreezeAwareInstant>, u64)>);

impl Throttle {
    /// `Some` if a message may be logged: how many were suppressed since the last one.
    pub(crate) fn pass(&self) -> Option<u64> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.0.is_some_and(|at| at.elapsed() < INTERVAL) {
            last.1 += 1;
            return None;
        }
        let (_, suppressed) = std::mem::replace(&mut *last, (Some(FreezeAwareInstant::now()), 0));
        Some(suppressed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_message_a_minute_passes() {
        let throttle = Throttle::default();
        assert_eq!((throttle.pass(), throttle.pass(), throttle.pass()), (Some(0), None, None));
        tokio::time::advance(INTERVAL).await;
        assert_eq!((throttle.pass(), throttle.pass()), (Some(2), None));
    }
}
