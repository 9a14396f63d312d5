//! Finds the events that webhooks tell of.

mod comparison;
mod job_events;
#[cfg(test)]
mod tests;
mod watcher;

pub(crate) use job_events::JobEvents;
#[cfg(test)]
pub(crate) use job_events::WAITING_MAX;
pub(crate) use watcher::{Queues, Watcher};
