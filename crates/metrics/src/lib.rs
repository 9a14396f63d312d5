//! The metrics: every queue as Prometheus reads it.
//!
//! Its one idea: whatever is counted of a queue, the store counts, so that any process can answer a scrape and none has
//! to remember anything. One scrape is one pass over the store: all queues are asked at once over one connection. A
//! queue that can't be read, or a store that is away, lowers `vestibule_up` and is no error of the scrape.
//!
//! The same [`router`] runs in a Lambda and in the stand-alone program, which adds what it counts of its own requests
//! ([`RequestMetrics`]). What every metric means stands in `docs/metrics.md`.
//!
//! ```
//! # use std::sync::Arc;
//! # use vestibule_core::{MemoryStore, SystemClock};
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
mod catalogue;
mod family;
mod render;
mod requests;
mod scrape;
mod token;

use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use prometheus::proto::MetricFamily;
use vestibule_core::Store;

pub use catalogue::{CATALOGUE, Metric};
pub use requests::{LATENCY_BUCKETS, RequestMetrics};
pub use scrape::SCRAPE_PARALLEL;
pub use token::{MetricsToken, TOKEN_MAX, TOKEN_MIN, TokenError};

use crate::scrape::Scraper;

/// What a scrape is answered from.
pub struct Metrics {
    scraper: Scraper,
    requests: Option<RequestMetrics>,
}

impl Metrics {
    /// All queues of this store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { scraper: Scraper::new(store), requests: None }
    }

    /// And what this process counts of its own requests.
    #[must_use]
    pub fn with_requests(self, requests: RequestMetrics) -> Self {
        Self { requests: Some(requests), ..self }
    }

    async fn families(&self) -> Vec<MetricFamily> {
        let mut families = render::families(&self.scraper.scrape().await);
        families.extend(self.requests.iter().flat_map(RequestMetrics::families));
        families
    }
}

#[derive(Clone)]
struct Endpoint {
    metrics: Arc<Metrics>,
    token: MetricsToken,
}

/// Where the metrics are behind a load balancer that a site shares with the gate: `/metrics` may be a path of the site.
pub const METRICS_PATH: &str = "/_vestibule/metrics";

/// `GET /metrics` and [`METRICS_PATH`], for whoever sends the token.
pub fn router(metrics: Metrics, token: MetricsToken) -> Router {
    let endpoint = Endpoint { metrics: Arc::new(metrics), token };
    Router::new().route("/metrics", get(answer::metrics)).route(METRICS_PATH, get(answer::metrics)).with_state(endpoint)
}
