//! The tests of the whole: real servers, real requests, one file per behavior.

// With the attribute, clippy grants the helpers what it grants the tests: to unwrap.
#[cfg(test)]
mod admin;
#[cfg(test)]
mod admission;
#[cfg(test)]
mod alerts;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod data_loss;
#[cfg(test)]
mod docs;
#[cfg(test)]
mod endpoints;
#[cfg(test)]
mod function_events;
#[cfg(test)]
mod function_process;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod functions;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod gate_fixture;
#[cfg(test)]
mod handover;
#[cfg(test)]
mod harness;
#[cfg(test)]
mod jobs;
#[cfg(test)]
mod layering;
#[cfg(test)]
mod line_fixture;
#[cfg(test)]
mod load_test;
#[cfg(test)]
mod metrics;
#[cfg(test)]
mod module_graph;
#[cfg(test)]
mod network_lists;
#[cfg(test)]
mod packaging;
#[cfg(test)]
mod phases;
#[cfg(test)]
mod program;
#[cfg(test)]
mod property;
#[cfg(test)]
mod purge;
#[cfg(test)]
mod request_log;
#[cfg(test)]
mod store_failure;
#[cfg(test)]
mod template;
#[cfg(test)]
mod theme_versions;
#[cfg(test)]
mod themes_s3;
#[cfg(test)]
mod tickets;
#[cfg(test)]
mod versions;
