//! Will it hold, and how long will people wait? Plays a crowd before the big day, and says what came of it.
//!
//! A [`Crowd`] comes to a gate by a curve of arrivals and behaves as people do: it waits, closes tabs, lets phones fall
//! asleep, loads pages anew, shops, and leaves or just goes. [`Rehearsal::play`] plays it against a running gate over
//! HTTP; [`plan`](crate::plan::plan) plays it on the rules of the line in virtual time, without a socket. Both step the
//! same small state machine, [`visitor::Visitor`], so that a plan says what a rehearsal would show.
//!
//! What came of it is a [`Report`](report::Report): figures by what the visitors themselves went through, so that
//! nothing rests on the gate's word, each held against a limit. A gate that keeps the rules is never accused; one that
//! lets in too many, out of turn, or loses a place is.
//!
//! ```sh
//! vestibule serve --origin http://127.0.0.1:3000 --quota 100
//! vestibule rehearse http://127.0.0.1:8080/ --visitors 2000 --quota 100 --shopping lognormal:30
//! vestibule plan --visitors 100000 --quota 500,1000,2000 --shopping lognormal:180
//! ```

mod arrivals;
mod cast;
mod chance;
pub mod cost;
mod crowd;
mod faults;
mod figures;
mod histogram;
mod http;
mod moment;
mod observe;
mod origin_log;
pub mod plan;
mod rehearse;
pub mod report;
mod tally;
pub mod verdict;
pub mod visitor;
mod wheel;

pub use arrivals::{ARRIVALS_TAKE, Arrivals, Curve, CurveError};
pub use crowd::{Crowd, Habits, Kind, SHOPPING_TAKES, Shopping, VISITORS_MAX};
pub use faults::{Fault, FaultError, Struck, parse_faults};
pub use figures::{Account, account_of};
pub use histogram::Histogram;
pub use http::{PoolError, Target, TargetError};
pub use moment::Moment;
pub use observe::{MetricsAddress, Observation, ObserveError, Observer, RedisAddress};
pub use origin_log::{OriginCounts, read_origin_log};
pub use rehearse::{Ended, Played, Progress, Rehearsal};
pub use tally::Tally;
