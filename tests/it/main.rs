//! The tests of the whole: real servers, real requests, one file per behavior.

// With the attribute, clippy grants the helpers what it grants the tests: to unwrap.
#![cfg(test)]

mod admin;
mod admission;
mod alerts;
mod conformance;
mod data_loss;
mod docs;
mod endpoints;
mod function_events;
mod function_process;
#[cfg(target_os = "linux")]
mod functions;
mod fuzz;
mod gate_fixture;
mod handover;
mod harness;
mod jobs;
mod layering;
mod line_fixture;
mod load_test;
mod metrics;
mod module_graph;
mod network_lists;
mod packaging;
mod phases;
mod program;
mod property;
mod purge;
mod request_log;
mod store_failure;
mod suite;
mod template;
mod theme_versions;
mod themes_s3;
mod tickets;
mod versions;
