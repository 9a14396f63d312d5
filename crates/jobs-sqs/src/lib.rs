#![doc = include_str!("../README.md")]

mod address;
mod backend;
mod event;
mod in_flight;
mod message;
mod queues;

pub use address::{SqsPrefix, SqsPrefixError};
pub use backend::{MessageOutcome, SqsJobs};
pub use event::{SqsMessage, SqsMessages};
