//! What the gate answers to a request of any path.

mod events;
mod joining;
mod lobby;
mod readings;
mod rules;
mod waiting;
