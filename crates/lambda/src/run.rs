//! Runs a function in the Lambda runtime.

use std::process::ExitCode;

use axum::Router;
use lambda_runtime::{Diagnostic, Error, LambdaEvent, Runtime, service_fn};
use tokio::runtime::{Builder, RuntimeFlavor};
use tracing::error;
use vestibule_runtime::{EnvError, variable};

use crate::event::{Event, UnsupportedEvent};
use crate::service::{Function, Invocation};

/// The address of the Lambda runtime API; set by Lambda.
const RUNTIME_API: &str = "AWS_LAMBDA_RUNTIME_API";
/// The number of concurrent requests per process; set by Lambda if it is more than one.
const MAX_CONCURRENCY: &str = "AWS_LAMBDA_MAX_CONCURRENCY";

/// The `main` of a function: runs it and logs the error if it fails. Uses one thread for one request at a time, and a
/// thread per processor for concurrent requests.
pub fn function_main(run: impl Future<Output = Result<(), Error>>) -> ExitCode {
    let concurrency = variable(MAX_CONCURRENCY).and_then(|text| text.trim().parse().ok());
    let mut builder = match flavor(concurrency) {
        RuntimeFlavor::CurrentThread => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    let outcome = builder.enable_all().build().map_err(Error::from).and_then(|runtime| runtime.block_on(run));
    exit_code(outcome)
}

fn flavor(concurrency: Option<u32>) -> RuntimeFlavor {
    if concurrency.is_some_and(|at_once| at_once > 1) {
        RuntimeFlavor::MultiThread
    } else {
        RuntimeFlavor::CurrentThread
    }
}

/// Serves invocations until the process ends: one at a time, or `AWS_LAMBDA_MAX_CONCURRENCY` concurrently.
///
/// # Errors
/// The process does not run in Lambda.
pub async fn run_function(router: Router) -> Result<(), Error> {
    if variable(RUNTIME_API).is_none() {
        let reason = "is not set: this program runs in AWS Lambda; use vestibule serve elsewhere";
        return Err(EnvError::new(RUNTIME_API, reason).into());
    }
    let function = Function::new(router);
    let handler = move |event: LambdaEvent<Event>| {
        let function = function.clone();
        async move { function.call(event.payload, Invocation::of(event.context)).await }
    };
    Runtime::new(service_fn(handler)).run_concurrent().await
}

impl From<UnsupportedEvent> for Diagnostic {
    fn from(event: UnsupportedEvent) -> Self {
        Self { error_type: "UnsupportedEvent".to_owned(), error_message: event.to_string() }
    }
}

/// Logs a failure in one line and ends the process with an error.
fn exit_code(outcome: Result<(), Error>) -> ExitCode {
    let Err(reason) = outcome else { return ExitCode::SUCCESS };
    if tracing::dispatcher::has_been_set() {
        error!("{reason}");
    } else {
        eprintln!("{reason}");
    }
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn concurrent_requests_get_several_threads() {
        assert_eq!(flavor(None), RuntimeFlavor::CurrentThread);
        assert_eq!(flavor(Some(1)), RuntimeFlavor::CurrentThread);
        assert_eq!(flavor(Some(64)), RuntimeFlavor::MultiThread);
    }
}
