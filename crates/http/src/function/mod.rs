//! A router as a function: events become requests, responses become answers.
//!
//! The `lambda_http` crate was turned down for this. It decodes the query and sorts it anew, so that path and query would
//! not reach an origin unchanged (`%2B` becomes a space); it panics on a path that is no part of an address and on a body
//! that is no base64; and it writes every header of an answer twice, which counts against the limit.

mod answer;
mod event;
mod json;
mod limit;
mod run;
mod service;
mod target;

#[cfg(test)]
mod tests;

pub use self::answer::FunctionAnswer;
pub use self::event::{Event, ForeignEvent};
pub use self::limit::{AnswerLimit, FUNCTION_ANSWER_MAX, LOAD_BALANCER_ANSWER_MAX, NoAnswer};
pub use self::run::{exit_code, run_function};
pub use self::service::{Deadline, Function, Invocation};
