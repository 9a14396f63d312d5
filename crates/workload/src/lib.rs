#![doc = include_str!("../README.md")]

mod arrivals;
pub mod checks;
mod faults;
mod histogram;
mod hostile;
mod http;
mod load_test;
mod observe;
mod origin_log;
pub mod report;
mod request_stats;
mod rng;
mod sim_time;
pub mod simulation;
mod summary;
mod timer_queue;
pub mod visitor;
mod visitor_kind;
mod visitors;
mod workload;

pub use arrivals::{ARRIVALS_EXPECTED, Arrivals, Curve, CurveError};
pub use faults::{Fault, FaultError, InjectedFault, parse_faults};
pub use histogram::Histogram;
pub use hostile::{
    HOSTILE_MAX, Hostile, HostileError, HostileKind, MeasuredRun, ProofPolicy, ReplayedToken, add_hostile_figures,
};
pub use http::{LobbyError, Target, TargetCheckError, TargetError, wait_for_lobby};
pub use load_test::{EndReason, LoadTest, Progress, RunResult};
pub use observe::{MetricsAddress, Observation, ObserveError, Observer, RedisServer};
pub use origin_log::{OriginCounts, read_origin_log};
pub use request_stats::{RequestStats, StreamStats};
pub use sim_time::SimTime;
pub use summary::{RunSummary, summarize};
pub use visitor_kind::{VISITORS_MAX, VisitorKind};
pub use workload::{Behavior, SHOPPING_EXPECTED, Shopping, Workload};
