//! Timers that do not count the time for which the process is frozen.
//!
//! A Lambda function is frozen between two requests, together with its background work. With an ordinary timer that work
//! has timed out as soon as the next request wakes the function, even if the response is already in the socket.

use std::time::Duration;

/// The most of a freeze that is counted.
const SLICE: Duration = Duration::from_millis(50);

/// Sleeps for `duration`. Of a freeze meanwhile, at most 50 ms count.
pub async fn sleep(duration: Duration) {
    let mut left = duration;
    while !left.is_zero() {
        let slice = left.min(SLICE);
        tokio::time::sleep(slice).await;
        left -= slice;
    }
}

/// The output of `work`, or `None` if it takes longer than `limit`. Of a freeze meanwhile, at most 50 ms count.
pub async fn timeout<T>(limit: Duration, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        output = work => Some(output),
        () = sleep(limit) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    const LIMIT: Duration = Duration::from_millis(500);

    #[tokio::test(start_paused = true)]
    async fn sleep_does_not_count_a_freeze() {
        let sleeping = tokio::spawn(sleep(LIMIT));
        tokio::task::yield_now().await;
        advance(Duration::from_hours(1)).await;
        tokio::task::yield_now().await;
        assert!(!sleeping.is_finished(), "an hour of a freeze was counted");
        assert!(tokio::time::timeout(LIMIT, sleeping).await.is_ok(), "the time awake was not counted");
    }

    #[tokio::test(start_paused = true)]
    async fn work_beyond_the_limit_is_canceled() {
        assert_eq!(timeout(LIMIT, async { 7 }).await, Some(7));
        assert_eq!(timeout(LIMIT, tokio::time::sleep(LIMIT * 2)).await, None);
        assert_eq!(timeout(LIMIT, std::future::pending::<()>()).await, None);
    }
}
