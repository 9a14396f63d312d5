//! The Redis store against a real server, which every test starts for itself.
//!
//! `VESTIBULE_TEST_REDIS_SERVER` names another binary than `redis-server`.

// With the attribute, clippy grants the helpers what it grants the tests: to unwrap.
#[cfg(test)]
mod corners;
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
mod thaw;
#[cfg(test)]
mod thaw_cluster;
#[cfg(test)]
mod tls;
#[cfg(test)]
mod together;
#[cfg(test)]
mod tools;
#[cfg(test)]
#[path = "../../../../tests/harness/wire.rs"]
#[expect(unreachable_pub, reason = "the harness of the whole gives it to others")]
mod wire;
