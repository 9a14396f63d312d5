//! The Redis store against a real server, which every test starts for itself.
//!
//! `VESTIBULE_TEST_REDIS_SERVER` names another binary than `redis-server`.

// With the attribute, clippy grants the helpers what it grants the tests: to unwrap.
#[cfg(test)]
mod corners;
#[cfg(test)]
mod outages;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod server;
#[cfg(test)]
mod tools;
