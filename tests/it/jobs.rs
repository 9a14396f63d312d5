//! Job queues.

mod backends;
mod held_orders;
mod order_faults;
mod visitors;
mod webhooks;
mod worker;
