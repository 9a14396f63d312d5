#![doc = include_str!("../README.md")]

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
