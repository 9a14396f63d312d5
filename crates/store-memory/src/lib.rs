#![doc = include_str!("../README.md")]

mod records;
mod store;

pub use records::MemoryRecords;
pub use store::{MemorySnapshot, MemoryStore};
