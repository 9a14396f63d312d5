//! Keeps a fault that every look meets from being logged by every look.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Time between two lines of one kind.
const EVERY: Duration = Duration::from_mins(1);

/// Lets one line a minute through and counts the others.
#[derive(Default)]
pub(crate) struct Throttle(Mutex<(Option<Instant>, u64)>);

impl Throttle {
    /// `Some` if it is time for a line: how many were held back since the last one.
    pub(crate) fn pass(&self) -> Option<u64> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.0.is_some_and(|at| at.elapsed() < EVERY) {
            last.1 += 1;
            return None;
        }
        let (_, held_back) = std::mem::replace(&mut *last, (Some(Instant::now()), 0));
        Some(held_back)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_line_a_minute_says_how_many_there_were() {
        let throttle = Throttle::default();
        assert_eq!((throttle.pass(), throttle.pass(), throttle.pass()), (Some(0), None, None));
        tokio::time::advance(EVERY).await;
        assert_eq!((throttle.pass(), throttle.pass()), (Some(2), None));
    }
}
