//! The parts of the `vestibule` program that tests use as a library.

pub mod cost;
