//! Load tests and capacity plans: virtual visitors, the checks on what they experienced, and reports.
//!
//! A [`Workload`] describes how many visitors arrive, when, and how they behave: they wait, close tabs, let phones sleep,
//! reload pages, shop, and leave. [`LoadTest::run`] runs it against a gate over HTTP in real time;
//! [`simulate`](simulation::simulate) runs it against the rules of the line in virtual time. Both step the same state
//! machine, [`visitor::Visitor`].
//!
//! The result is a [`Report`](report::Report): figures measured from the requests and responses of the visitors, not from
//! what the gate reports about itself, each checked against a limit. The checks allow for what cannot be observed from
//! outside, so a correct gate never fails them; one that over-admits, admits out of order or loses a position does.
//!
//! ```sh
//! vestibule serve --origin http://127.0.0.1:3000 --quota 100
//! vestibule rehearse http://127.0.0.1:8080/ --visitors 2000 --quota 100 --shopping lognormal:30
//! vestibule plan --visitors 100000 --quota 500,1000,2000 --shopping lognormal:180
//! ```

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
pub use observe::{MetricsAddress, Observation, ObserveError, Observer, RedisAddress};
pub use origin_log::{OriginCounts, read_origin_log};
pub use request_stats::{RequestStats, StreamStats};
pub use sim_time::SimTime;
pub use summary::{RunSummary, summarize};
pub use visitor_kind::{VISITORS_MAX, VisitorKind};
pub use workload::{Behavior, SHOPPING_EXPECTED, Shopping, Workload};
