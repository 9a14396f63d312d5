//! What the gate answers to a request of any path.

mod joining;
mod rules;
mod waiting;
