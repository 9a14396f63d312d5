//! Job queues.

mod backends;
