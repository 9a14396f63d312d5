//! The runtime that a function's process lives in.

use std::process::ExitCode;

use axum::Router;
use lambda_runtime::{Diagnostic, Error, LambdaEvent, Runtime, service_fn};
use tokio::runtime::{Builder, RuntimeFlavor};
use tracing::error;

use super::event::{Event, ForeignEvent};
use super::service::{Function, Invocation};
use crate::environment::{VariableError, variable};

/// Where the runtime finds its calls; Lambda sets it.
const RUNTIME_API: &str = "AWS_LAMBDA_RUNTIME_API";
/// How many requests Lambda sends to one process at once; it sets this where that is more than one.
const MAX_CONCURRENCY: &str = "AWS_LAMBDA_MAX_CONCURRENCY";

/// A function's program: runs it, and ends with a line in the log where it fails. One request at a time needs one thread;
/// several at once get a thread for each processor.
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

/// Answers calls for as long as the process lives: one at a time, or as many as `AWS_LAMBDA_MAX_CONCURRENCY` says, which
/// Lambda sets where it sends several to one process.
///
/// # Errors
/// Nobody gives calls here.
pub async fn run_function(router: Router) -> Result<(), Error> {
    if variable(RUNTIME_API).is_none() {
        let reason = "is not set: this program is started by AWS Lambda; vestibule serve is the same without it";
        return Err(VariableError::new(RUNTIME_API, reason).into());
    }
    let function = Function::new(router);
    let handler = move |event: LambdaEvent<Event>| {
        let function = function.clone();
        async move { function.call(event.payload, Invocation::of(event.context)).await }
    };
    Runtime::new(service_fn(handler)).run_concurrent().await
}

impl From<ForeignEvent> for Diagnostic {
    fn from(event: ForeignEvent) -> Self {
        Self { error_type: "ForeignEvent".to_owned(), error_message: event.to_string() }
    }
}

/// A failure is one line in the log, and Lambda sees that the process ended by itself.
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
    fn several_requests_at_once_get_several_threads() {
        assert_eq!(flavor(None), RuntimeFlavor::CurrentThread);
        assert_eq!(flavor(Some(1)), RuntimeFlavor::CurrentThread);
        assert_eq!(flavor(Some(64)), RuntimeFlavor::MultiThread);
    }
}
