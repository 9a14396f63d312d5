//! Numbers of every queue for `CloudWatch`: a line a queue in its embedded metric format, on the standard output, which a
//! function's log takes in. A metric of its own is paid for by the month, so this is off unless asked for.

use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tracing::warn;
use vestibule_core::line::Stats;
use vestibule_core::{Micros, QueueId, Store};

/// Queues that are asked at once.
const PARALLEL: usize = 64;
/// What the metrics are listed under.
const NAMESPACE: &str = "Vestibule";

/// Writes a line for every queue. One that can't be read is left out.
pub(crate) async fn write(store: &dyn Store, now: Micros) {
    let queues = match store.queues().await {
        Ok(index) => index.into_iter().filter(|(_, revision)| *revision > 0).map(|(id, _)| id),
        Err(error) => return warn!(%error, "the numbers of queues could not be written"),
    };
    let lines =
        stream::iter(queues).map(async |queue| store.stats(&queue).await.map(|stats| line(&queue, &stats, now)));
    lines
        .buffer_unordered(PARALLEL)
        .for_each(async |line| match line {
            Ok(line) => println!("{line}"),
            Err(error) => warn!(%error, "the numbers of a queue could not be written"),
        })
        .await;
}

fn line(queue: &QueueId, stats: &Stats, now: Micros) -> Value {
    let metrics = ["Waiting", "Active", "Quota"].map(|name| json!({ "Name": name, "Unit": "Count" }));
    json!({
        "_aws": {
            "Timestamp": now.0 / 1000,
            "CloudWatchMetrics": [{ "Namespace": NAMESPACE, "Dimensions": [["Queue"]], "Metrics": metrics }],
        },
        "Queue": queue.as_str(),
        "Waiting": stats.waiting,
        "Active": stats.active,
        "Quota": stats.rules.quota,
    })
}
