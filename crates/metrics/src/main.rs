//! The metrics as a Lambda function: `GET /metrics` behind a load balancer, an HTTP API or a function URL.

use std::process::ExitCode;

use vestibule_core::is_key_id;
use vestibule_lambda::{function_main, run_function};
use vestibule_metrics::{CallMetrics, Metrics, MetricsToken, router};
use vestibule_runtime::{EnvError, JobsConfig, StoreConfig, init_telemetry_from_env, open_store_and_records, variable};

/// The IDs of the gates' sale keys, separated by commas. The keys themselves are not needed here.
const SALE_KEY_IDS: &str = "VESTIBULE_SALE_KEY_IDS";

fn main() -> ExitCode {
    function_main(run())
}

async fn run() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    init_telemetry_from_env()?;
    let token = MetricsToken::from_env()?;
    let store = StoreConfig::from_env()?;
    let stores = open_store_and_records("VESTIBULE_REDIS_URL", &store.url, store.timeout)?;
    let mut metrics = Metrics::new(stores.0.clone(), stores.1.clone());
    if let Some(jobs) = JobsConfig::from_env()? {
        // No job runs in this function, so it has no calls.
        metrics = metrics.with_job_queues(jobs.open_statistics(&store, &stores)?, CallMetrics::new());
    }
    if let Some(ids) = variable(SALE_KEY_IDS) {
        let ids: Vec<String> = ids.split(',').filter(|id| !id.is_empty()).map(str::to_owned).collect();
        if !ids.iter().all(|id| is_key_id(id)) {
            let expected = "must be IDs of sale keys, separated by commas".to_owned();
            return Err(EnvError::new(SALE_KEY_IDS, expected).into());
        }
        metrics = metrics.with_sale_key_ids(ids);
    }
    run_function(router(metrics, token)).await
}
