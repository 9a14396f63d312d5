//! The worker as a Lambda function: SQS hands it jobs, and a schedule calls it each minute.

use std::process::ExitCode;
use std::sync::Arc;

use lambda_runtime::{Error, LambdaEvent, service_fn};
use serde_json::Value;
use vestibule_core::PassSigner;
use vestibule_lambda::function_main;
use vestibule_runtime::{
    Directory, EnvError, JobQueues, JobsConfig, StoreConfig, init_telemetry_from_env, open_store_and_records,
    parse_keys, parsed, required, variable,
};
use vestibule_worker::{Function, PublicUrl};

fn main() -> ExitCode {
    function_main(run())
}

/// The address of the Lambda runtime API; set by Lambda.
const RUNTIME_API: &str = "AWS_LAMBDA_RUNTIME_API";
const PASS_KEYS: &str = "VESTIBULE_PASS_KEYS";
const PUBLIC_URL: &str = "VESTIBULE_PUBLIC_URL";

async fn run() -> Result<(), Error> {
    init_telemetry_from_env()?;
    let function = &function()?;
    if variable(RUNTIME_API).is_none() {
        let reason = "is not set: this program runs in AWS Lambda; use vestibule serve or vestibule work elsewhere";
        return Err(EnvError::new(RUNTIME_API, reason).into());
    }
    let handler = async |event: LambdaEvent<Value>| function.call(event.payload, event.context.deadline).await;
    lambda_runtime::run(service_fn(handler)).await
}

/// The worker as the environment describes it.
fn function() -> Result<Function, Error> {
    let config = StoreConfig::from_env()?;
    let (store, records) = open_store_and_records("VESTIBULE_REDIS_URL", &config.url, config.timeout)?;
    let jobs = Arc::new(JobsConfig::required()?.open_sqs(&config)?);
    let keys = required(PASS_KEYS, "the pass signing keys of the gates: held orders carry a pass")?;
    let passes = PassSigner::new(&parse_keys(PASS_KEYS, &keys)?)
        .map_err(|error| EnvError::new(PASS_KEYS, format!("cannot be used: {error}")))?;
    let public_url: Option<PublicUrl> = parsed(PUBLIC_URL)?;
    let job_queues = Arc::new(JobQueues::new(records, store.clone(), jobs.clone()));
    let directory = Arc::new(Directory::new(store.clone(), Vec::new(), Vec::new()));
    Ok(Function::new(job_queues, jobs, passes, public_url.as_ref(), store, directory))
}
