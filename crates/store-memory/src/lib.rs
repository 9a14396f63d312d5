#![doc = include_str!("../README.md")]

mod jobs;
mod records;
mod store;

pub use jobs::MemoryJobs;
pub use records::MemoryRecords;
pub use store::{MemorySnapshot, MemoryStore};
