//! Finds the events that webhooks tell of.

mod comparison;
mod job_events;
#[cfg(test)]
mod tests;
mod watcher;

pub(crate) use job_events::JobEvents;
pub(crate) use watcher::{Queues, Watcher};
