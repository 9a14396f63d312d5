//! Job queues.

mod backends;
mod faults;
mod held_orders;
mod order_faults;
mod visitors;
mod webhooks;
mod worker;
