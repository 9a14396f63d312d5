//! Job queues.

mod backends;
mod faults;
mod functions;
pub(crate) mod held_orders;
mod order_faults;
mod order_pace;
mod order_storage;
mod order_workers;
mod visitors;
mod void_tickets;
mod webhooks;
mod worker;
mod worker_function;
