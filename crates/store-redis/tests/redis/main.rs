//! The Redis store against a real server, which every test starts for itself.
//!
//! `VESTIBULE_TEST_REDIS_SERVER` names another binary than `redis-server`.

// With the attribute, clippy grants the helpers what it grants the tests: to unwrap.
#[cfg(test)]
mod batching;
#[cfg(test)]
mod edge_cases;
#[cfg(test)]
mod frozen_process;
#[cfg(test)]
mod frozen_process_cluster;
#[cfg(test)]
mod outages;
#[cfg(test)]
mod process;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod server;
#[cfg(test)]
#[path = "../../../../tests/harness/tcp_proxy.rs"]
#[expect(dead_code, unreachable_pub, reason = "the harness of the workspace uses all of it")]
mod tcp_proxy;
#[cfg(test)]
mod tls;
#[cfg(test)]
mod tools;
