//! The rules of a line, as plain functions of (state, now, operation): no clock, no randomness, no
//! I/O.
//!
//! Every store implements these rules. A session is in the pool and in exactly one of the line and
//! the active set. The numbers of waiting and active sessions and all positions are derived from
//! these sets, so they can't drift.

mod account;
mod admit;
mod attack_mode;
mod continuity;
mod counters;
mod drain;
mod ending;
mod event_windows;
mod join_distribution;
mod join_limits;
mod join_report;
mod join_work;
mod limits;
mod mode;
mod newcomer;
mod pace;
mod pacing;
mod phase;
mod pre_ticket;
mod presence;
mod rate;
mod recovery;
mod restore;
mod roster;
mod rules;
mod sessions;
mod snapshot;
mod state;
mod ticket;
mod two_step;
mod types;
mod view;
mod visit;
mod void_tickets;
mod work;

pub use attack_mode::{ATTACK_LIMIT_PART, ATTACK_MODE_MAX, ATTACK_MODE_MIN, AttackModeChange, LimitsInForce};
pub use continuity::{CLOCK_GRAIN, Census, GAP_MIN};
pub use counters::{Counters, WAIT_BUCKETS, Waits};
pub use event_windows::{EventWindows, WindowEvents};
pub use join_distribution::{
    HISTOGRAM_CELLS, JOIN_SLOT, JoinDistribution, JoinHistogram, LARGEST_NETWORKS_FROM, LARGEST_NETWORKS_MAX,
    NetworkJoins, RecentCount, WindowJoins, histogram_cell,
};
pub use join_report::{JoinState, ProtectionReport};
pub use limits::{
    ADDRESS_LIMITS_FROM, BLOCKED_RETRY, ClientAddressState, ClientDigests, JoinClient, JoinRejection, JoinTotals,
    LimitCounters, LimitStats, RATE_RETRY_MAX, RejectionReason, WindowTotals,
};
pub use mode::Mode;
pub use pace::{Observed, PACE_WINDOW, Pace, StayCounts};
pub use phase::{CurrentPhase, ENDING_MAX, Phase, phase};
pub use pre_ticket::PreTicket;
pub(crate) use pre_ticket::PreTicketClaims;
pub use presence::{ACTIVE_REFRESH_SHARE, WAITING_REFRESH_SHARE};
pub(crate) use rate::Rate;
pub use rate::{ADMISSION_COST, Bucket, CREDIT_MAX, ELAPSED_MAX, RATE_MAX, STEP_MAX};
pub use rules::{EPOCH_DEFAULT, LineRules, PRESENCE_SHARE, QUOTA_MAX};
pub use snapshot::LineSnapshot;
pub use state::Line;
pub(crate) use ticket::TicketClaims;
pub use ticket::{Ticket, TicketAccount};
pub use two_step::PreTicketLoad;
pub use types::{
    Flow, Identities, ListedSession, LobbyEntry, LocatedSession, PageStart, ProofCounts, PurgeReport, Removed,
    SessionList, SessionLocation, SessionPage, SessionState, Stats, Visit, VisitAnswer, VisitKind, Witness,
};
pub use view::{CHECKPOINTS_EXACT, Checkpoint, LineView};
pub use work::{DELAY_MAX, DELAY_PER_DIFFICULTY, DELAYED_MIN, DELAYED_SHARE, delay_of};

/// Maximum number of sessions admitted by one operation, so that a store is never blocked for long.
pub const ADVANCE_BATCH: usize = 128;
/// Maximum number of expired sessions removed by an operation other than purge.
pub const REAP_BATCH: usize = 32;
/// Maximum number of expired sessions removed by one purge.
pub const PURGE_BATCH: usize = 500;
/// Maximum number of sessions admitted by one release; callers repeat it for more.
pub const RELEASE_BATCH: usize = 500;
/// Maximum number of entries in one page of a list of sessions.
pub const PAGE_MAX: usize = 200;
/// Maximum number of entries that a page skips.
pub const PAGE_SKIP_MAX: u64 = 100_000;
