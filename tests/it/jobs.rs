//! Job queues.

mod backends;
mod held_orders;
mod visitors;
mod worker;
