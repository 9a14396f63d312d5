//! A router as a function: events become requests, responses become answers.
//!
//! `lambda_http` 1.3.2 is not used for this, because path, query and body would not reach an origin unchanged: it returns
//! query parameters in a random order and in another spelling, normalizes paths, re-encodes bodies of text, and decodes a
//! body without a content type as text. Its router does not fit `run_concurrent` either, which needs `Sync`.

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
pub use self::run::{function_main, run_function};
pub use self::service::{Deadline, Function, Invocation};
