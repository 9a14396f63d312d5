#![doc = include_str!("../README.md")]
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
