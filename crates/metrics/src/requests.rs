//! Metrics of the requests that this process answers: count and duration by outcome, and time spent on the store.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::response::Response;
use prometheus::core::Collector as _;
use prometheus::proto::MetricFamily;
use prometheus::{Histogram, HistogramOpts, HistogramVec};
use tokio::time::Instant;
use tower::util::MapFutureLayer;
use vestibule_runtime::{Decision, Outcome};

use crate::catalog::{Metric, REQUEST_DURATION, REQUESTS, STORE_DURATION};
use crate::family::MetricFamilyBuilder;

/// Upper bounds of the buckets of both histograms, in seconds: from 0.1 ms (a visit with the memory store) to a slow
/// origin.
pub const LATENCY_BUCKETS: [f64; 15] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// The outcome of a response without a [`Decision`].
const UNHANDLED: &str = "unhandled";

/// Counts requests; clones share their counts. There is no label for the queue: the store counts what happens in a
/// queue, and the number of series does not grow with the number of queues.
#[derive(Clone)]
pub struct RequestMetrics(Arc<Meters>);

struct Meters {
    durations: HistogramVec,
    /// The histograms of [`Outcome::ALL`] in that order, so that a request needs no lookup by label.
    by_outcome: [Histogram; Outcome::ALL.len()],
    unhandled: Histogram,
    store: Histogram,
}

impl Default for RequestMetrics {
    fn default() -> Self {
        Self::new()
    }
}

impl RequestMetrics {
    /// All counts are 0.
    #[expect(
        clippy::expect_used,
        clippy::missing_panics_doc,
        reason = "names, labels and buckets are constants and covered by a test"
    )]
    pub fn new() -> Self {
        let options = |metric: &Metric| HistogramOpts::new(metric.name, metric.help).buckets(LATENCY_BUCKETS.to_vec());
        let durations = HistogramVec::new(options(&REQUEST_DURATION), REQUEST_DURATION.labels).expect("constants");
        Self(Arc::new(Meters {
            by_outcome: Outcome::ALL.map(|outcome| durations.with_label_values(&[outcome.as_str()])),
            unhandled: durations.with_label_values(&[UNHANDLED]),
            store: Histogram::with_opts(options(&STORE_DURATION)).expect("constants"),
            durations,
        }))
    }

    /// Wraps a router so that every request is counted by the [`Decision`] in its response extensions. Takes no lock.
    pub fn around(&self, router: Router) -> Router {
        let metrics = self.clone();
        router.layer(MapFutureLayer::new(move |answer| {
            let (metrics, began) = (metrics.clone(), Instant::now());
            async move {
                let answer: Result<Response, Infallible> = answer.await;
                if let Ok(response) = &answer {
                    metrics.count(response.extensions().get(), began.elapsed());
                }
                answer
            }
        }))
    }

    fn count(&self, decision: Option<&Decision>, took: Duration) {
        let meters = &self.0;
        let duration = decision.map_or(&meters.unhandled, |decision| &meters.by_outcome[decision.outcome as usize]);
        duration.observe(took.as_secs_f64());
        if let Some(time) = decision.and_then(|decision| decision.store_time) {
            meters.store.observe(time.as_secs_f64());
        }
    }

    /// The counts so far.
    pub(crate) fn families(&self) -> Vec<MetricFamily> {
        let durations = self.0.durations.collect();
        let mut requests = MetricFamilyBuilder::new(&REQUESTS);
        for sample in durations.iter().flat_map(MetricFamily::get_metric) {
            let outcome = sample.get_label().first().map_or("", prometheus::proto::LabelPair::value);
            requests.add(&[outcome], sample.get_histogram().get_sample_count() as f64);
        }
        requests.finish().into_iter().chain(durations).chain(self.0.store.collect()).collect()
    }
}
