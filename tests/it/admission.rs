//! What the gate answers to a request of any path.

mod joining;
mod readings;
mod rules;
mod waiting;
