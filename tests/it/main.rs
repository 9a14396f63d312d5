//! The tests of the whole: real servers, real requests, one file per behaviour.

// With the attribute, clippy grants the helpers what it grants the tests: to unwrap.
#[cfg(test)]
mod admin;
#[cfg(test)]
mod alerts;
#[cfg(test)]
mod around;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod docs;
#[cfg(test)]
mod flushed;
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
mod handover;
#[cfg(test)]
mod harness;
#[cfg(test)]
mod judge;
#[cfg(test)]
mod layering;
#[cfg(test)]
mod metrics;
#[cfg(test)]
mod own_endpoints;
#[cfg(test)]
mod program;
#[cfg(test)]
mod property;
#[cfg(test)]
mod purge;
#[cfg(test)]
mod rehearsal;
#[cfg(test)]
mod request_log;
#[cfg(test)]
mod room;
#[cfg(test)]
mod scene;
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
