//! What this process answers: requests by outcome, how long they took, and how long the store took of them.

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
use vestibule_http::{Decision, Outcome};

use crate::catalogue::{Metric, REQUEST_DURATION, REQUESTS, STORE_DURATION};
use crate::family::Family;

/// Upper bounds of the buckets of both histograms, in seconds: from a tenth of a millisecond, as a visit on the memory
/// store takes, to an origin that takes its time.
pub const LATENCY_BUCKETS: [f64; 15] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// The label of an answer that no gate decided on.
const UNDECIDED: &str = "undecided";

/// Counts requests; clones count together. Without a label for the queue: what happens in a queue is counted by the
/// store, whichever process it passes through, and so the number of series does not grow with that of the queues.
#[derive(Clone)]
pub struct RequestMetrics(Arc<Meters>);

struct Meters {
    durations: HistogramVec,
    /// Out of `durations`: those of [`Outcome::ALL`] in that order, so that none is looked up for a request.
    by_outcome: [Histogram; Outcome::ALL.len()],
    undecided: Histogram,
    store: Histogram,
}

impl Default for RequestMetrics {
    fn default() -> Self {
        Self::new()
    }
}

impl RequestMetrics {
    /// Counts from 0.
    #[must_use]
    #[expect(
        clippy::expect_used,
        clippy::missing_panics_doc,
        reason = "names, labels and buckets are constants, which a test has tried"
    )]
    pub fn new() -> Self {
        let options = |metric: &Metric| HistogramOpts::new(metric.name, metric.help).buckets(LATENCY_BUCKETS.to_vec());
        let durations = HistogramVec::new(options(&REQUEST_DURATION), REQUEST_DURATION.labels).expect("constants");
        Self(Arc::new(Meters {
            by_outcome: Outcome::ALL.map(|outcome| durations.with_label_values(&[outcome.as_str()])),
            undecided: durations.with_label_values(&[UNDECIDED]),
            store: Histogram::with_opts(options(&STORE_DURATION)).expect("constants"),
            durations,
        }))
    }

    /// The router with every request counted by the [`Decision`] among its response's extensions. Takes no lock.
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
        let duration = decision.map_or(&meters.undecided, |decision| &meters.by_outcome[decision.outcome as usize]);
        duration.observe(took.as_secs_f64());
        if let Some(time) = decision.and_then(|decision| decision.store_time) {
            meters.store.observe(time.as_secs_f64());
        }
    }

    /// The counts so far.
    pub(crate) fn families(&self) -> Vec<MetricFamily> {
        let durations = self.0.durations.collect();
        let mut requests = Family::of(&REQUESTS);
        for sample in durations.iter().flat_map(MetricFamily::get_metric) {
            let outcome = sample.get_label().first().map_or("", prometheus::proto::LabelPair::value);
            requests.add(&[outcome], sample.get_histogram().get_sample_count() as f64);
        }
        requests.finish().into_iter().chain(durations).chain(self.0.store.collect()).collect()
    }
}
