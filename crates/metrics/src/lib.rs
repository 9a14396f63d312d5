//! The metrics: every queue as Prometheus reads it.
//!
//! Its one idea: whatever is counted, the store counts, so that any process can answer a scrape and none has to
//! remember anything.
