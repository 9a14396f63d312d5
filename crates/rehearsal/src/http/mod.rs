//! Real requests: the target, the connections that visitors share, and how an answer is read.

mod answer;
mod connection;
mod fetch;
mod jar;
mod target;

pub(crate) use connection::AGENT;
pub use connection::PoolError;
pub(crate) use connection::{Exchange, Job, Pool};
pub(crate) use fetch::fetch;
pub(crate) use jar::Jar;
pub use target::{Target, TargetError};
