//! The backoffice as a Lambda: the API and the dashboard, behind a load balancer, an HTTP API or a function URL.

use std::process::ExitCode;

use vestibule_admin::{AdminConfig, router};
use vestibule_lambda::{function_main, run_function};
use vestibule_runtime::init_telemetry_from_env;

fn main() -> ExitCode {
    function_main(run())
}

async fn run() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    init_telemetry_from_env()?;
    let parts = AdminConfig::from_env()?.open().await?;
    run_function(router(parts)).await
}
