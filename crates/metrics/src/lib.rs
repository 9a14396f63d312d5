#![doc = include_str!("../README.md")]

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
