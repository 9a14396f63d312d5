//! The purge as a Lambda function that runs on a schedule. The event is ignored.

use std::process::ExitCode;

use lambda_runtime::{Error, LambdaEvent, service_fn};
use serde_json::Value;
use vestibule_core::SystemClock;
use vestibule_lambda::function_main;
use vestibule_purge::Function;
use vestibule_runtime::{EnvError, StoreConfig, init_telemetry_from_env, open_store_and_records, variable};

fn main() -> ExitCode {
    function_main(run())
}

/// The address of the Lambda runtime API; set by Lambda.
const RUNTIME_API: &str = "AWS_LAMBDA_RUNTIME_API";

async fn run() -> Result<(), Error> {
    init_telemetry_from_env()?;
    let store = StoreConfig::from_env()?;
    let (store, records) = open_store_and_records("VESTIBULE_REDIS_URL", &store.url, store.timeout)?;
    let function =
        &Function::new(store, records, SystemClock::new()).with_budget_from_env()?.with_queue_metrics_from_env()?;
    if variable(RUNTIME_API).is_none() {
        let reason = "is not set: this program runs in AWS Lambda; vestibule serve has its own purge";
        return Err(EnvError::new(RUNTIME_API, reason).into());
    }
    let handler = async |event: LambdaEvent<Value>| function.call(event.context.deadline).await;
    lambda_runtime::run(service_fn(handler)).await
}
