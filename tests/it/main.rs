//! The tests of the whole: real servers, real requests, one file per behaviour.

// With the attribute, clippy grants the helpers what it grants the tests: to unwrap.
#[cfg(test)]
mod harness;
