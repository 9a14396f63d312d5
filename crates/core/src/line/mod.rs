//! The rules of a line, as plain functions of (state, now, operation): no clock, no random, no I/O.
//!
//! Every store keeps these very rules. A session is in the pool and in exactly one of line and places; how many wait,
//! how many are let in and who stands where are derived from that, so nothing can drift.

mod admit;
mod counters;
mod drain;
mod pace;
mod presence;
mod rate;
mod recovery;
mod restore;
mod rules;
mod snapshot;
mod state;
mod types;

pub use counters::{Counters, WAIT_BUCKETS, Waits};
pub use pace::{Observed, PACE_WINDOW, Pace, StayCounts};
pub use presence::{ACTIVE_REFRESH_SHARE, WAITING_REFRESH_SHARE};
pub use rate::{ADMISSION_COST, Bucket, RATE_MAX};
pub use recovery::{CLOCK_GRAIN, GAP_MIN};
pub use rules::{LineRules, Mode};
pub use snapshot::LineSnapshot;
pub use state::Line;
pub use types::{
    Census, Flow, LineEntry, LinePage, LocatedSession, PurgeReport, Removed, SessionLocation, SessionState, Stats,
    Visit, VisitAnswer, VisitKind, Witness,
};

/// Most sessions that advance in one go, so that a store is never blocked for long.
pub const ADVANCE_BATCH: usize = 128;
/// Most expired sessions that an operation removes on its way.
pub const REAP_BATCH: usize = 32;
/// Most expired sessions that one purge removes.
pub const PURGE_BATCH: usize = 500;
/// Most sessions that one release admits; a larger one is asked for again.
pub const RELEASE_BATCH: usize = 500;
/// Most entries of one page of the line.
pub const PAGE_MAX: usize = 200;
