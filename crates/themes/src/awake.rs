//! Time that counts only while the process runs.
//!
//! A function is frozen between two requests, and what it does beside them with it. By an ordinary timer, whatever was
//! under way has then taken too long as soon as the next request wakes it, although the answer lies in the socket.

use std::time::Duration;

/// The most of a freeze that counts.
const SLICE: Duration = Duration::from_millis(50);

/// Sleeps in slices, so that a freeze costs one of them at most.
pub(crate) async fn sleep_awake(duration: Duration) {
    let mut left = duration;
    while !left.is_zero() {
        let slice = left.min(SLICE);
        tokio::time::sleep(slice).await;
        left -= slice;
    }
}

/// What `work` comes to, unless it takes longer than `limit`.
pub(crate) async fn within<T>(limit: Duration, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        done = work => Some(done),
        () = sleep_awake(limit) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::{advance, timeout};

    const LIMIT: Duration = Duration::from_millis(500);

    #[tokio::test(start_paused = true)]
    async fn a_freeze_is_not_counted() {
        let sleeping = tokio::spawn(sleep_awake(LIMIT));
        tokio::task::yield_now().await;
        advance(Duration::from_hours(1)).await;
        tokio::task::yield_now().await;
        assert!(!sleeping.is_finished(), "an hour of a freeze was counted");
        assert!(timeout(LIMIT, sleeping).await.is_ok(), "the time awake was not counted");
    }

    #[tokio::test(start_paused = true)]
    async fn what_takes_too_long_is_given_up() {
        assert_eq!(within(LIMIT, async { 7 }).await, Some(7));
        assert_eq!(within(LIMIT, tokio::time::sleep(LIMIT * 2)).await, None);
        assert_eq!(within(LIMIT, std::future::pending::<()>()).await, None);
    }
}
