//! The themes as the programs use them.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod folders;
mod pages;
mod support;
