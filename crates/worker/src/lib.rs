#![doc = include_str!("../README.md")]

mod call;
mod dispatcher;
mod function;
mod leases;
mod origin;
mod permissions;
mod public_url;
mod reaper;
mod response;
mod schedules;
mod settler;
mod signature;
mod target;
#[cfg(test)]
mod tests;
mod webhooks;
mod worker;

pub use dispatcher::{CallObserver, Stopped};
pub use function::{FUNCTION_TIMEOUT_MAX, Function, FunctionError};
pub use public_url::{InvalidPublicUrl, PublicUrl};
pub use worker::{CONCURRENCY, Worker};
