//! Metrics of every queue for `CloudWatch` in the embedded metric format: one line per queue on standard output. Each
//! custom metric has a monthly price, so this is off by default.

use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tracing::warn;
use vestibule_core::line::Stats;
use vestibule_core::{Micros, QueueId, Store};

/// Queues that are read concurrently.
const PARALLEL: usize = 64;
/// The namespace of the metrics.
const NAMESPACE: &str = "Vestibule";

/// Writes a line for every queue. Queues that cannot be read are left out.
pub(crate) async fn write(store: &dyn Store, now: Micros) {
    let queues = match store.queues().await {
        Ok(index) => index.into_iter().filter(|(_, revision)| *revision > 0).map(|(id, _)| id),
        Err(error) => return warn!(%error, "queue metrics could not be written"),
    };
    let lines =
        stream::iter(queues).map(async |queue| store.stats(&queue).await.map(|stats| line(&queue, &stats, now)));
    lines
        .buffer_unordered(PARALLEL)
        .for_each(async |line| match line {
            Ok(line) => println!("{line}"),
            Err(error) => warn!(%error, "metrics of a queue could not be written"),
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
