//! The Redis store against a real server, which every test starts for itself.
//!
//! `VESTIBULE_TEST_REDIS_SERVER` names another binary than `redis-server`.

// With the attribute, clippy grants the helpers what it grants the tests: to unwrap.
#![cfg(test)]

mod batching;
mod edge_cases;
mod frozen_process;
mod frozen_process_cluster;
mod outages;
mod process;
mod reference;
mod refusals;
mod rules;
mod server;
#[path = "../../../../tests/harness/tcp_proxy.rs"]
#[expect(unreachable_pub, reason = "the harness of the workspace is a crate")]
mod tcp_proxy;
mod tls;
mod tools;
