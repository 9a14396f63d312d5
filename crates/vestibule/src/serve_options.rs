//! The options of `vestibule serve`.

use std::path::PathBuf;

use clap::Args;
use vestibule_core::settings::{Origin, TrustedHeaders};
use vestibule_runtime::{ClientAddressSource, TRUSTED_PROXIES_MAX};
use vestibule_themes::THEMES_RECHECK;

use crate::arguments::{Listen, LogOptions, flag, parse_origin, whole};
use crate::provider::ProviderOptions;
use crate::store_options::{StoreOptions, WorkerOptions};

#[derive(Args, Clone)]
pub(crate) struct ServeOptions {
    /// Listen address: an address and port, or unix:PATH for a Unix socket
    #[arg(long, env = "VESTIBULE_LISTEN", default_value = "127.0.0.1:8080", value_name = "ADDR")]
    pub(crate) listen: Listen,

    /// Listen address of the backoffice, with the API reference at /api/docs and metrics at /metrics: an address and port,
    /// or unix:PATH. Off by default
    #[arg(long, env = "VESTIBULE_ADMIN_LISTEN", value_name = "ADDR")]
    pub(crate) admin_listen: Option<Listen>,

    /// Bearer token required for /metrics, 16 to 1024 characters. Metrics are off without it
    #[arg(long, env = "VESTIBULE_METRICS_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    pub(crate) metrics_token: Option<String>,

    /// Name and password of the first superuser, created if no superuser exists: name:password
    #[arg(long, env = "VESTIBULE_ADMIN_BOOTSTRAP", hide_env_values = true, value_name = "NAME:PASSWORD")]
    pub(crate) admin_bootstrap: Option<String>,

    /// Retention of the audit log, in days (1 to 3650)
    #[arg(long, env = "VESTIBULE_AUDIT_DAYS", default_value_t = vestibule_admin::AUDIT_DAYS, value_name = "DAYS",
        value_parser = whole::<u64>(1..=vestibule_admin::AUDIT_DAYS_MAX))]
    pub(crate) audit_days: u64,

    /// Which operators need two-factor authentication (TOTP) to sign in with a password: nobody, superusers or everybody
    #[arg(long, env = "VESTIBULE_REQUIRE_TOTP", default_value_t = vestibule_admin::RequireTotp::Nobody, value_name = "WHO")]
    pub(crate) require_totp: vestibule_admin::RequireTotp,

    #[command(flatten)]
    pub(crate) provider: ProviderOptions,

    /// Settings file with tenants and queues. Reloaded on SIGHUP
    #[arg(long, env = "VESTIBULE_SETTINGS", value_name = "FILE")]
    pub(crate) settings: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) stores: StoreOptions,

    /// Start no jobs: this process only accepts them, and another one runs them
    #[arg(long, env = "VESTIBULE_NO_WORKER", value_parser = flag)]
    pub(crate) no_worker: bool,

    #[command(flatten)]
    pub(crate) worker: WorkerOptions,

    /// Theme storage
    #[arg(
        long,
        env = "VESTIBULE_THEMES",
        value_name = "PLACE",
        help = "Theme storage, with a subfolder for each theme: a folder, or s3://bucket/prefix"
    )]
    pub(crate) themes: Option<String>,

    /// Seconds between checks for changed themes (1 to 3600) [default: 1 for a folder, 10 for a bucket]
    #[arg(long, env = "VESTIBULE_THEMES_RECHECK", value_parser = whole::<u64>(THEMES_RECHECK), value_name = "SECONDS")]
    pub(crate) themes_recheck: Option<u64>,

    /// Origin of the site, for queues without an origin. Without a settings file, creates one queue in front of this origin
    #[arg(long, env = "VESTIBULE_ORIGIN", value_parser = parse_origin, value_name = "URL")]
    pub(crate) origin: Option<Origin>,

    /// Site name on the queue page of the queue that --origin creates; not with --settings [default: the host of the request]
    #[arg(long, env = "VESTIBULE_NAME", value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Quota of the queue that --origin creates; not with --settings [default: 100]
    #[arg(long, env = "VESTIBULE_QUOTA", value_parser = whole::<u64>(0..=u64::MAX), value_name = "N")]
    pub(crate) quota: Option<u64>,

    /// Folder for generated keys and recovery data
    /// [default: ~/.local/state/vestibule]
    #[arg(long, env = "VESTIBULE_STATE", value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,

    /// Ticket signing keys, as kid:base64,kid:base64; the first signs, all are accepted
    #[arg(long, env = "VESTIBULE_TICKET_KEYS", hide_env_values = true, value_name = "KEYS")]
    pub(crate) ticket_keys: Option<String>,

    /// Pass signing keys, as kid:base64 of an Ed25519 seed; the first signs, all are published
    #[arg(long, env = "VESTIBULE_PASS_KEYS", hide_env_values = true, value_name = "KEYS")]
    pub(crate) pass_keys: Option<String>,

    /// Sale keys, as kid:base64 of 32 random bytes; new events with a draw use the first
    #[arg(long, env = "VESTIBULE_SALE_KEYS", hide_env_values = true, value_name = "KEYS")]
    pub(crate) sale_keys: Option<String>,

    /// URL of a relay of drand from which the beacons of draws are recorded; api.drand.sh is one. Off by default
    #[arg(long, env = "VESTIBULE_BEACON_URL", value_name = "URL")]
    pub(crate) beacon_url: Option<String>,

    /// Number of trusted proxies in front of the gate (X-Forwarded-For, X-Forwarded-Proto), 0 to 16
    #[arg(long, env = "VESTIBULE_TRUSTED_PROXIES", default_value_t = 0, value_parser = whole::<usize>(0..=TRUSTED_PROXIES_MAX as u64), value_name = "N")]
    pub(crate) trusted_proxies: usize,

    /// Header of a trusted proxy that states the visitor's address: x-forwarded-for, forwarded, or a header with one address such as
    /// cf-connecting-ip
    #[arg(long, env = "VESTIBULE_CLIENT_ADDRESS", default_value = "x-forwarded-for", value_name = "HEADER")]
    pub(crate) client_address: ClientAddressSource,

    /// Headers that only a trusted proxy may send, such as cf-bot-score or x-amzn-waf-*, separated by commas. Without a trusted
    /// proxy they are dropped; rules can use them
    #[arg(
        long,
        env = "VESTIBULE_TRUSTED_HEADERS",
        default_value = "",
        hide_default_value = true,
        value_name = "NAMES"
    )]
    pub(crate) trusted_headers: TrustedHeaders,

    /// Lists of networks
    #[arg(
        long,
        env = "VESTIBULE_NETWORKS",
        value_name = "PLACE",
        help = "Lists of networks in a folder or s3://bucket/prefix: one network per line; the file name is the list name"
    )]
    pub(crate) networks: Option<String>,

    /// Number of trusted proxies in front of --admin-listen, 0 to 16
    #[arg(long, env = "VESTIBULE_ADMIN_TRUSTED_PROXIES", default_value_t = 0, value_parser = whole::<usize>(0..=TRUSTED_PROXIES_MAX as u64), value_name = "N")]
    pub(crate) admin_trusted_proxies: usize,

    /// Maximum number of open visitor connections (16 to 1000000), limited by the file descriptors of the process. Above it,
    /// the oldest idle connection is closed
    #[arg(long, env = "VESTIBULE_CONNECTIONS", default_value_t = 10_000, value_parser = whole::<usize>(16..=1_000_000), value_name = "N")]
    pub(crate) connections: usize,

    /// Maximum number of open connections from one IPv4 address or IPv6 /64 network (16 to 1000000). Not applied behind trusted
    /// proxies or to connections from this machine
    #[arg(long, env = "VESTIBULE_CONNECTIONS_PER_ADDRESS", default_value_t = 256, value_parser = whole::<usize>(16..=1_000_000), value_name = "N")]
    pub(crate) connections_per_address: usize,

    /// Maximum number of open streams to queue pages (0 to 1000000); 0 turns streams off. They take at most half of the
    /// connections, and half of those of one address
    #[arg(long, env = "VESTIBULE_STREAMS_MAX", default_value_t = 20_000, value_parser = whole::<usize>(0..=1_000_000), value_name = "N")]
    pub(crate) streams_max: usize,

    /// Timeout for connecting to the origin, in seconds (1 to 60)
    #[arg(long, env = "VESTIBULE_CONNECT_TIMEOUT", default_value_t = 5, value_parser = whole::<u64>(1..=60), value_name = "SECONDS")]
    pub(crate) connect_timeout: u64,

    /// Timeout for data from the origin, in seconds (1 to 3600)
    #[arg(long, env = "VESTIBULE_READ_TIMEOUT", default_value_t = 60, value_parser = whole::<u64>(1..=3600), value_name = "SECONDS")]
    pub(crate) read_timeout: u64,

    /// Number of worker threads (1 to 1024). One uses the least CPU time per request and is enough where Redis or the site
    /// shares the machine [default: one per processor]
    #[arg(long, env = "VESTIBULE_THREADS", value_parser = whole::<u16>(1..=1024), value_name = "N")]
    pub(crate) threads: Option<u16>,

    /// Grace period for requests in progress after SIGTERM, in seconds (0 to 3600)
    #[arg(long, env = "VESTIBULE_SHUTDOWN_GRACE", default_value_t = 30, value_parser = whole::<u64>(0..=3600), value_name = "SECONDS")]
    pub(crate) shutdown_grace: u64,

    #[command(flatten)]
    pub(crate) log: LogOptions,
}
