//! Job queues.

mod backends;
mod worker;
