//! The sources of a scrape.

use std::sync::Arc;

use prometheus::proto::MetricFamily;
use vestibule_core::{SaleKeys, Store};
use vestibule_records::RecordStore;
use vestibule_runtime::{ConnectionCounts, JobQueues};

use crate::job_queues::CallMetrics;
use crate::requests::RequestMetrics;
use crate::scrape::Scraper;
use crate::token::MetricsToken;
use crate::{connections, render};

/// The sources of a scrape.
pub struct Metrics {
    scraper: Scraper,
    requests: Option<RequestMetrics>,
    connections: Option<Arc<ConnectionCounts>>,
    calls: Option<CallMetrics>,
}

impl Metrics {
    /// All queues of this store, with its records.
    pub fn new(store: Arc<dyn Store>, records: Arc<dyn RecordStore>) -> Self {
        Self { scraper: Scraper::new(store, records), requests: None, connections: None, calls: None }
    }

    /// Adds the metrics of this process' own requests.
    #[must_use]
    pub fn with_requests(self, requests: RequestMetrics) -> Self {
        Self { requests: Some(requests), ..self }
    }

    /// Adds the metrics of the connections to this process.
    #[must_use]
    pub fn with_connections(self, counts: Arc<ConnectionCounts>) -> Self {
        Self { connections: Some(counts), ..self }
    }

    /// Adds the job queues, and the calls of this process' worker.
    #[must_use]
    pub fn with_job_queues(mut self, job_queues: Arc<JobQueues>, calls: CallMetrics) -> Self {
        self.scraper.job_queues = Some(job_queues);
        Self { calls: Some(calls), ..self }
    }

    /// Adds whether this process' gate knows the sale keys of the draws.
    #[must_use]
    pub fn with_sale_keys(self, sale_keys: &SaleKeys) -> Self {
        self.with_sale_key_ids(sale_keys.ids().map(str::to_owned))
    }

    /// Adds whether the gates, which have the sale keys with these IDs, know those of the draws.
    #[must_use]
    pub fn with_sale_key_ids(mut self, ids: impl IntoIterator<Item = String>) -> Self {
        self.scraper.sale_key_ids = Some(ids.into_iter().collect());
        self
    }

    pub(crate) async fn families(&self) -> Vec<MetricFamily> {
        let scrape = self.scraper.scrape().await;
        if let (Some(calls), Some(job_queues)) = (&self.calls, scrape.job_queues.as_ref().filter(|it| it.is_complete)) {
            calls.keep_only(job_queues);
        }
        let mut families = render::families(&scrape);
        families.extend(self.requests.iter().flat_map(RequestMetrics::families));
        families.extend(self.connections.iter().flat_map(|counts| connections::families(counts)));
        families.extend(self.calls.iter().flat_map(CallMetrics::families));
        families
    }
}

/// What the handlers of a router share.
#[derive(Clone)]
pub(crate) struct MetricsState {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) token: MetricsToken,
}
