//! The gate as a Lambda, behind a load balancer, an HTTP API or a function URL.

use std::process::ExitCode;

use vestibule_gate::{GateConfig, router};
use vestibule_lambda::{function_main, run_function};
use vestibule_runtime::{init_telemetry_from_env, log_requests};

fn main() -> ExitCode {
    function_main(run())
}

async fn run() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    init_telemetry_from_env()?;
    let gate = GateConfig::from_env()?.open().await?;
    gate.warm_up().await;
    run_function(log_requests(router(gate))).await
}
