//! Runs an axum router as a Lambda function behind an Application Load Balancer, an HTTP API or a function URL.
//!
//! Events become HTTP requests and responses become events, byte for byte where the event allows it. The limits of a
//! function are extensions of the request: [`ResponseLimit`] for the size of the response, [`Deadline`] for its time.
//!
//! `lambda_http` 1.3.2 is not used, because path, query and body would not reach an origin unchanged: it returns query
//! parameters in a random order and in another spelling, normalizes paths, re-encodes text bodies, and decodes a body
//! without a content type as text. Its router does not fit `run_concurrent` either, which needs `Sync`.
//!
//! Try it: `cargo test -p vestibule-lambda`.

mod event;
mod limit;
mod response;
mod run;
mod service;
mod target;

#[cfg(test)]
mod tests;

pub use self::event::{Event, UnsupportedEvent};
pub use self::limit::{FUNCTION_RESPONSE_MAX, LOAD_BALANCER_RESPONSE_MAX, ResponseError, ResponseLimit};
pub use self::response::FunctionResponse;
pub use self::run::{function_main, run_function};
pub use self::service::{Deadline, Function, Invocation};
