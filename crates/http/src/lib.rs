//! What the HTTP roles share: how a process is configured, where it finds queues by host, the store's time, how errors
//! become answers, who a request comes from, and logging.
//!
//! Its one idea: whatever more than one role needs is decided here once, so that gate, admin, metrics and purge behave
//! alike whether they run as Lambdas or in the stand-alone program.

mod clock;
mod config;
mod directory;
mod error;
mod origin_of_request;
mod telemetry;

pub use clock::StoreClock;
pub use config::{ConfigError, STORE_TIMEOUT, open_store, open_themes, parse_keys};
pub use directory::{Directory, Queue};
pub use error::ApiError;
pub use origin_of_request::{RequestOrigin, TRUSTED_PROXIES_MAX, request_origin};
pub use telemetry::{LogFormat, init_telemetry};
