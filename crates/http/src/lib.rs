//! What the HTTP roles share: how a process is configured, where it finds queues by host, the store's time, how errors
//! become answers, who a request comes from, and logging.
//!
//! Its one idea: whatever more than one role needs is decided here once, so that gate, admin, metrics and purge behave
//! alike whether they run as Lambdas or in the stand-alone program.
//!
//! - [`open_store`], [`open_themes`], [`parse_keys`]: a process' configuration, checked at the start, with the name of
//!   the flag or variable in the message.
//! - [`StoreConfig`], [`variable`]: what a function reads from its environment.
//! - [`Directory`]: which queues stand in front of a host. A copy of the settings that costs a request nothing: it is
//!   compared with the store's index every few seconds beside the requests, and loaded anew when an answer of the store
//!   names a revision that is not the one held.
//! - [`StoreClock`]: the store's time between two answers of the store.
//! - [`Decision`]: what a gate decided on a request, for the log and the metrics around it.
//! - [`log_requests`]: one line a request, and the request's name in every other line.
//! - [`run_function`], [`Function`]: a router as a Lambda function.
//! - [`ApiError`]: the one table of errors, `{"error":{"code","message","field"}}`.
//! - [`request_origin`]: the visitor's address and scheme, as far as trusted proxies say so.
//! - [`init_telemetry`]: logging, with levels per module.
//!
//! Try it: `cargo test -p vestibule-http`.

mod clock;
mod config;
mod decision;
mod directory;
mod environment;
mod error;
mod function;
mod log_line;
mod origin_of_request;
mod problem;
mod request_log;
mod telemetry;

pub use clock::StoreClock;
pub use config::{
    ConfigError, STORE_TIMEOUT, Stores, THEMES_RECHECK, ThemesConfig, open_publisher, open_store,
    open_store_and_records, open_themes, parse_keys,
};
pub use decision::{Decision, Outcome};
pub use directory::{Directory, Queue};
pub use environment::{StoreConfig, VariableError, init_telemetry_from_env, number, required, variable};
pub use error::ApiError;
pub use function::{
    AnswerLimit, Deadline, Event, FUNCTION_ANSWER_MAX, ForeignEvent, Function, FunctionAnswer, Invocation,
    LOAD_BALANCER_ANSWER_MAX, NoAnswer, function_main, run_function,
};
pub use origin_of_request::{RequestOrigin, TRUSTED_PROXIES_MAX, request_origin};
pub use problem::Problem;
pub use request_log::{RequestId, log_requests};
pub use telemetry::{DEFAULT_LEVELS, LogFormat, init_telemetry};
