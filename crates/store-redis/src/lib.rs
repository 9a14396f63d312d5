//! The Redis store of Vestibule: the lines of all queues in one Redis, Redis Cluster, Sentinel-watched Redis or Valkey.
//!
//! Every operation is one call of a Redis function over the keys of one queue, so it is atomic, costs one round
//! trip, and applies the rules of [`vestibule_core::line`] by the server's clock. The functions are in `src/lua`, one file per
//! operation; shared code is in `queue.lua` and `presence.lua`; limits and codes are generated from Rust. The library is
//! loaded with the first call to a server that does not know it; Redis 7 or Valkey 7.2 is required.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use vestibule_core::line::Visit;
//! use vestibule_core::SessionId;
//! use vestibule_core::store::VisitStore as _;
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
//! # Data layout
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
//! # Job queues
//!
//! [`RedisJobs`] keeps the jobs of job queues by the rules of [`vestibule_core::jobs`], with the same clients, limits of time and
//! library. The keys of a job queue share a hash tag of their own: see [`JobKeys`]. The functions are in `src/lua/jobs`.
//!
//! A repeated `enqueue` answers as the first one did. `receive` is never repeated: jobs of a lost reply stay leased until their
//! leases expire. A repeated settlement finds its lease gone.
//!
//! [`JobRegistry`] does the same for jobs that a message queue carries: their state is here, and their payloads are in messages
//! until they become dead letters.
//!
//! # When Redis is unavailable
//!
//! [`RedisStore::connect`] succeeds without a server, and connects in the background and keeps reconnecting. Every operation
//! ends within [`RedisOptions::timeout`]: nothing is queued for longer, and once nothing has succeeded for a whole
//! timeout, all but a few operations fail at once. A command in flight when the connection broke is sent again only if
//! it is idempotent.
//!
//! A process may be frozen for hours, as functions are between two requests, and find its connection dead: closed, reset,
//! or dropped on the way without a word. An operation over which nothing comes back for a third of its time has another
//! connection opened beside the silent one, shared with all others that wait, and is sent once more over that within the
//! same time. A non-idempotent command follows only after a harmless one was answered.
//!
//! # When Redis loses data
//!
//! Redis must not evict keys (`maxmemory-policy noeviction`). Data that is lost anyway is restored from the visitors'
//! tickets: a state that is gone, went back in time or lost a key is in recovery (rule 7), as it is in every store.
//!
//! A failover may lose the last moments, since replication is asynchronous. Tickets of those moments
//! show that they are lost as soon as they are longer than [`GAP_MIN`](vestibule_core::line::GAP_MIN). What is lost without a ticket
//! that could show it: changed settings, a reset, or an operator's `end`.
//! A visitor who left in those moments still holds a slot, so the visitor admitted in their place may find none and waits
//! at the head of the line. `min-replicas-to-write 1` with a small `min-replicas-max-lag` keeps such moments short: a primary without
//! replicas then refuses writes, which is an outage for the gate; visitors keep their positions.
//!
//! # TLS
//!
//! With `rediss://` the public authorities are trusted, which are built in (Amazon's among them), and, outside of Lambda, those of
//! the system. If `SSL_CERT_FILE` or `SSL_CERT_DIR` names certificates, only those are.
//!
//! # Tests
//!
//! `cargo test -p vestibule-store-redis` starts its own `redis-server`; `VESTIBULE_TEST_REDIS_SERVER` names another
//! binary, such as `valkey-server`.

mod address;
mod batcher;
mod circuit_breaker;
mod client;
mod codes;
mod command;
mod connection;
mod jobs;
mod keys;
mod library;
mod records;
mod reply;
mod store;

pub use address::AddressError;
pub use jobs::{JobKeys, JobRegistry, MessageId, RedisJobs, Registered, Start};
pub use keys::Keys;
pub use store::{RedisOptions, RedisStore};
