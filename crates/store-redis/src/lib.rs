//! The Redis store of Vestibule: the lines of all queues in one Redis, Redis Cluster, Sentinel-watched Redis or Valkey.
//!
//! Its one idea: every operation is one call of a Redis function over the keys of one queue, so it is atomic, costs one round
//! trip, and applies the rules of [`vestibule_core::line`] by the server's clock. The functions are in `src/lua`, one file an
//! operation; what they share is in `queue.lua` and `presence.lua`; limits and codes come from Rust, so nothing drifts. A server
//! that does not know the functions is given them with the first call; Redis 7 or Valkey 7.2 is required.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use vestibule_core::line::Visit;
//! use vestibule_core::{SessionId, Store};
//! use vestibule_store_redis::{RedisOptions, RedisStore};
//!
//! let store = RedisStore::connect("redis://127.0.0.1:6379", RedisOptions::default())?;
//! let visit = Visit::joining(SessionId::random());
//! let answer = store.visit(&"acme-tour".parse()?, visit).await?;
//! println!("{:?} of {}", answer.place, answer.waiting);
//! # Ok(())
//! # }
//! ```
//!
//! # Where things are
//!
//! The keys of one queue share a hash tag, so that a queue lives on one node and many queues spread over a cluster:
//! see [`Keys`]. Sessions are their 14 raw bytes; instants are scores in whole microseconds. A queue that was never
//! written has no key; an empty line has none either.
//!
//! The rules of a queue are one packed map of named fields in its settings, read leniently: versions can run side by side.
//!
//! # Batching
//!
//! Most of what a short call costs the server is entering it and reading rules and state. So concurrent visits to one queue of
//! one process share a call, up to 64 of them, in the order in which they came. A lone visit is sent at once; while two calls
//! for a queue are under way, visits collect for the next. Within a call each visit is complete before the next begins.
//!
//! # When Redis is away
//!
//! [`RedisStore::connect`] succeeds without a server, and connects in the background at once and for ever. Every operation
//! ends within [`RedisOptions::timeout`]: nothing is queued for longer, and once nothing has succeeded for a whole
//! timeout, all but a few operations fail at once. What was on its way when the connection broke is sent again only if
//! doing it twice does no harm.
//!
//! A process may be frozen for hours, as functions are between two requests, and find its connection dead: closed, reset,
//! or dropped on the way without a word. An operation over which nothing comes back for a third of its time has another
//! connection opened beside the silent one, shared with all others that wait, and is sent once more over that within the
//! same time. What must not be sent twice follows only where a harmless command was answered just before.
//!
//! # When Redis loses something
//!
//! Redis must not evict keys (`maxmemory-policy noeviction`). What it loses all the same, visitors bring back with their
//! tickets: a state that is gone, went back in time or lost a key is in recovery (rule 7), as it is in every store.
//!
//! A failover may lose the last moments, since replicas are told of a write after it is answered. Tickets of those moments
//! show that they are lost as soon as they are longer than [`GAP_MIN`](vestibule_core::line::GAP_MIN). What is lost without a ticket
//! that could show it: changed settings, a reset, or an operator's `end`.
//! Who left in those moments still holds a slot, so somebody who was admitted for them may find none and waits at the head of
//! the line. `min-replicas-to-write 1` with a small `min-replicas-max-lag` keeps such moments short: a primary that no replica
//! hears then refuses writes, which is an outage for the gate and costs nobody their position.
//!
//! # TLS
//!
//! With `rediss://` the public authorities are trusted, which are built in (Amazon's among them), and those of the system. If
//! `SSL_CERT_FILE` or `SSL_CERT_DIR` names certificates, only those are.
//!
//! # How to try it
//!
//! `cargo test -p vestibule-store-redis` starts its own `redis-server`; `VESTIBULE_TEST_REDIS_SERVER` names another
//! binary, such as `valkey-server`.

mod address;
mod codes;
mod connection;
mod health;
mod keys;
mod library;
mod link;
mod links;
mod moment;
mod records;
mod reply;
mod request;
mod store;
mod tls;
mod visits;

pub use address::AddressError;
pub use keys::Keys;
pub use moment::Moment;
pub use store::{RedisOptions, RedisStore};
