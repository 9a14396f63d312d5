//! Metrics of every queue for `CloudWatch` in the embedded metric format: one line per queue on standard output. Each
//! custom metric has a monthly price, so this is off by default.

use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tracing::warn;
use vestibule_core::line::Stats;
use vestibule_core::{Micros, QueueId, Store};

/// Queues that are read concurrently.
const PARALLEL: usize = 64;
/// Maximum length of the name of a namespace.
const NAMESPACE_MAX: usize = 255;

/// Whether `CloudWatch` takes metrics in a namespace of this name.
pub(crate) fn is_namespace(name: &str) -> bool {
    let is_taken = |c: char| c.is_ascii_alphanumeric() || ".-_/#:".contains(c);
    name.len() <= NAMESPACE_MAX && name.chars().all(is_taken) && !name.starts_with("AWS/") && !name.starts_with(':')
}

/// Writes a line for every queue. Queues that cannot be read are left out.
pub(crate) async fn write(store: &dyn Store, namespace: &str, now: Micros) {
    let queues = match store.queues().await {
        Ok(index) => index.into_iter().filter(|(_, revision)| *revision > 0).map(|(id, _)| id),
        Err(error) => return warn!(%error, "queue metrics could not be written"),
    };
    let lines = stream::iter(queues)
        .map(async |queue| store.stats(&queue).await.map(|stats| line(namespace, &queue, &stats, now)));
    lines
        .buffer_unordered(PARALLEL)
        .for_each(async |line| match line {
            Ok(line) => println!("{line}"),
            Err(error) => warn!(%error, "metrics of a queue could not be written"),
        })
        .await;
}

fn line(namespace: &str, queue: &QueueId, stats: &Stats, now: Micros) -> Value {
    let metrics = ["Waiting", "Active", "Quota"].map(|name| json!({ "Name": name, "Unit": "Count" }));
    json!({
        "_aws": {
            "Timestamp": now.0 / 1000,
            "CloudWatchMetrics": [{ "Namespace": namespace, "Dimensions": [["Queue"]], "Metrics": metrics }],
        },
        "Queue": queue.as_str(),
        "Waiting": stats.waiting,
        "Active": stats.active,
        "Quota": stats.rules.quota,
    })
}
