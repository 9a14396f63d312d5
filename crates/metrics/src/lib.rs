//! Prometheus metrics of every queue, the store and the last purge.
//!
//! The store counts everything that happens in a queue, so any process can answer a scrape and none keeps counters of
//! its own. A scrape reads all queues concurrently over one connection. A queue that cannot be read, or a store that is
//! unavailable, lowers `vestibule_up` and is no error of the scrape.
//!
//! The same [`router`] runs in a Lambda function and in the stand-alone program, which adds metrics of its own requests
//! ([`RequestMetrics`]). `docs/metrics.md` explains every metric.
//!
//! ```
//! # use std::sync::Arc;
//! # use vestibule_core::SystemClock;
//! # use vestibule_store_memory::MemoryStore;
//! # use vestibule_metrics::{Metrics, RequestMetrics, router};
//! let store = Arc::new(MemoryStore::new(SystemClock::new()));
//! let requests = RequestMetrics::new();
//! let gate = requests.around(axum::Router::new());
//! let token = "a-token-of-16-characters-or-more".parse().unwrap();
//! let admin = router(Metrics::new(store).with_requests(requests), token);
//! # let _: (axum::Router, axum::Router) = (gate, admin);
//! ```
//!
//! Try it: `cargo test -p vestibule-metrics`; `curl -H "Authorization: Bearer $TOKEN" localhost:9090/metrics`.

mod answer;
mod catalog;
mod connections;
mod family;
mod job_queues;
mod render;
mod requests;
mod scrape;
mod state;
mod token;

use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use tower_http::compression::CompressionLayer;

pub use catalog::{CATALOG, Metric};
pub use job_queues::CallMetrics;
pub use requests::{LATENCY_BUCKETS, RequestMetrics};
pub use state::Metrics;
pub use token::{MetricsToken, TOKEN_MAX, TokenError};

use crate::state::MetricsState;

/// Path of the metrics behind a load balancer that a site shares with the gate: `/metrics` may be a path of the site.
pub const METRICS_PATH: &str = "/_vestibule/metrics";

/// `GET /metrics` and [`METRICS_PATH`]; both require the token.
pub fn router(metrics: Metrics, token: MetricsToken) -> Router {
    let state = MetricsState { metrics: Arc::new(metrics), token };
    let routes = Router::new().route("/metrics", get(answer::metrics)).route(METRICS_PATH, get(answer::metrics));
    // A thousand queues are 4 MB of text, a twentieth of that compressed; a function behind a load balancer can answer 1 MB.
    routes.layer(CompressionLayer::new()).with_state(state)
}
