#![doc = include_str!("../README.md")]

mod beacon;
mod client_address;
mod clock;
mod config;
mod connection_counts;
mod decision;
mod directory;
mod env;
#[cfg(test)]
mod fake_settings_store;
mod held_request;
mod job_queues;
mod job_request;
mod log_format;
mod problem;
mod progress_url;
mod request_log;
mod schedule_runs;
mod stored_settings;
mod telemetry;

pub use beacon::{RecordBeaconError, RecordedBeacon, record_beacon};
pub use client_address::{
    ClientAddressSource, InvalidClientAddressSource, PeerAddress, RequestOrigin, TRUSTED_PROXIES_MAX, client_network,
    forwarded_schemes, is_secure_scheme, request_origin,
};
pub use clock::StoreClock;
pub use config::{
    ConfigError, JobsConfig, Stores, are_jobs_in_sqs, is_memory, open_jobs, open_store_and_records, parse_keys,
    parse_sale_keys, sale_keys_from_env, trusted_headers_from_env,
};
pub use connection_counts::{ConnectionCounts, Count, CountLimits, OpenCount};
pub use decision::{Decision, Outcome};
pub use directory::{Directory, NotWritten, Queue, queues_of_host};
pub use env::{EnvError, STORE_TIMEOUT, StoreConfig, init_telemetry_from_env, number, parsed, required, variable};
pub use held_request::{HeldRequest, header_lines, headers_of_lines};
pub use job_queues::{CachedJobQueue, JobQueues, JobQueuesWritten, OrdersNotHeld, StorageError};
pub use job_request::{CONTENT_TYPE_MAX, JobRequest, JobRequestError, USER_ID_MAX, checked_payload};
pub use problem::Problem;
pub use progress_url::{is_progress_signature, progress_target};
pub use request_log::{RequestId, log_requests};
pub use schedule_runs::{last_run, schedule_key, set_last_run};
pub use stored_settings::{readable_settings, stored_settings, write_queue};
pub use telemetry::{LogFormat, init_telemetry};
