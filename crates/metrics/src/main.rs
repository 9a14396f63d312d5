//! The metrics as a Lambda function: `GET /metrics` behind a load balancer, an HTTP API or a function URL.

use std::process::ExitCode;

use vestibule_lambda::{function_main, run_function};
use vestibule_metrics::{Metrics, MetricsToken, router};
use vestibule_runtime::{StoreConfig, init_telemetry_from_env, open_store};

fn main() -> ExitCode {
    function_main(run())
}

async fn run() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    init_telemetry_from_env()?;
    let token = MetricsToken::from_env()?;
    let store = StoreConfig::from_env()?;
    let store = open_store("VESTIBULE_REDIS_URL", &store.url, store.timeout)?;
    run_function(router(Metrics::new(store), token)).await
}
