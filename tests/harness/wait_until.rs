use std::time::Duration;

use tokio::time::{Instant, sleep};

/// Between two looks at what is waited for.
const PAUSE: Duration = Duration::from_millis(20);

/// Waits until `ready` says true, and fails the test, naming `what`, if that takes longer than `limit`.
pub async fn wait_until(what: &str, limit: Duration, mut ready: impl AsyncFnMut() -> bool) {
    let start = Instant::now();
    while !ready().await {
        assert!(start.elapsed() < limit, "waited {limit:?} in vain: {what}");
        sleep(PAUSE).await;
    }
}
