//! The Redis store of Vestibule: the lines of all queues in one Redis, Redis Cluster, Sentinel-watched Redis or Valkey.
//!
//! Its one idea: every operation is one Lua script over the keys of one queue, so it is atomic, costs one round trip, and
//! keeps the very rules of [`vestibule_core::line`] by the server's clock. The scripts stand in `src/lua`, one file an
//! operation; what they share is put in front of them, the batch limits and codes come from Rust, so nothing drifts.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use vestibule_core::line::Visit;
//! use vestibule_core::{SessionId, Store};
//! use vestibule_store_redis::{RedisOptions, RedisStore};
//!
//! let store = RedisStore::connect("redis://127.0.0.1:6379", RedisOptions::default())?;
//! let visit = Visit { ticket: None, join: Some(SessionId::random()) };
//! let answer = store.visit(&"acme-tour".parse()?, visit).await?;
//! println!("{:?} of {}", answer.place, answer.waiting);
//! # Ok(())
//! # }
//! ```
//!
//! # Where things are
//!
//! The keys of one queue share a hash tag, so that a queue lives on one node and many queues spread over a cluster:
//! see [`Keys`]. Sessions are their 16 raw bytes; instants are scores in whole microseconds. A queue that was never
//! written has no key; an empty line has none either.
//!
//! # Visits that come at once
//!
//! Most of what a short script costs the server is entering it and reading rules and state. So visits to one queue that a
//! process has under way at once share a script, up to 64 of them: one script is under way, and whoever comes meanwhile goes
//! with the next, which does not wait for the first to come back once it is full. A visit alone goes at once, as in a
//! function, which has one request at a time. Within a script those with a ticket go first and newcomers stay in the order in which
//! they came; each visit is whole before the next begins.
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
//! tickets (rule 7), and each process says along with a ticket what it was told itself: whom its own operations let in
//! within the last `claim_ttl` ([`Vouchers`](vestibule_core::Vouchers)). So who was let in and has not asked since is not
//! behind somebody who was let in later and has. With several processes each vouches for those whom it let in itself. Who
//! is vouched for by nobody goes back to the line and waits for one `waiting_ttl` once more: whom another process let in
//! than the one that they ask, as happens with functions of which several instances run; whom a process let in that has
//! ended since; and whom an operation let in whose answer was lost on the way.
//!
//! A failover may lose the last moments, since replicas are told of a write after it is answered. What holds then:
//!
//! - Nobody lapses for it. A waiting ticket says for how long its bearer is present, so that most polls need not look (rule
//!   5); one that was signed before the first answer over the present connection is not believed.
//! - Nobody is sent away: who was let in within those moments and waits by the replica's state returns to a place, by an
//!   admitted ticket or by the process's word, even where the replica finds all places taken by those who left meanwhile.
//!   Their places stand until they lapse (`active_ttl`), so for that long fewer are let in, never more.
//! - The order stands: a session that the replica never heard of returns at its own arrival. No number is given twice, as
//!   long as the clocks of the nodes differ by less than the failover takes; two equal ones would be told apart by the
//!   ids of the sessions.
//! - Who came, or came back, **and** was let in within those moments returns to a place if there is one, otherwise to the head
//!   of the line.
//! - Changed settings, a reset, or an operator's `end` of those moments are gone, and a rate may let in once more what
//!   it let in within them.
//!
//! # TLS
//!
//! With `rediss://` the public authorities are trusted, which are built in (Amazon's among them), and those of the system,
//! which are read only once they are needed. If `SSL_CERT_FILE` or `SSL_CERT_DIR` names certificates, only those are.
//!
//! # How to try it
//!
//! `cargo test -p vestibule-store-redis` starts its own `redis-server`; `VESTIBULE_TEST_REDIS_SERVER` names another
//! binary, such as `valkey-server`.

mod address;
mod batch;
mod codes;
mod connection;
mod gathering;
mod health;
mod keys;
mod link;
mod links;
mod moment;
mod packed;
mod records;
mod reply;
mod request;
mod scripts;
mod store;
mod tls;
mod unbroken;
mod visits;

pub use address::AddressError;
pub use keys::Keys;
pub use moment::Moment;
pub use store::{RedisOptions, RedisStore};
