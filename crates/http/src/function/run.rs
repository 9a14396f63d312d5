//! The runtime that a function's process lives in.

use std::process::ExitCode;

use axum::Router;
use lambda_runtime::{Diagnostic, Error, LambdaEvent, Runtime, service_fn};
use tracing::error;

use super::event::{Event, ForeignEvent};
use super::service::{Function, Invocation};
use crate::environment::{VariableError, variable};

/// Where the runtime finds its calls; Lambda sets it.
const RUNTIME_API: &str = "AWS_LAMBDA_RUNTIME_API";

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

/// Ends a function's program: a failure is one line in the log, and Lambda sees that the process ended by itself.
pub fn exit_code(outcome: Result<(), Error>) -> ExitCode {
    let Err(reason) = outcome else { return ExitCode::SUCCESS };
    if tracing::dispatcher::has_been_set() {
        error!("{reason}");
    } else {
        eprintln!("{reason}");
    }
    ExitCode::FAILURE
}
