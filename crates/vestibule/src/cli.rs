//! The command line.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use vestibule_core::settings::{CODES_MAX, DRAND_RELAY, InvalidOrigin, Origin};
use vestibule_core::{BatchId, EventId, QueueId, SessionId, TenantId};
use vestibule_runtime::{ClientAddressSource, LogFormat, TRUSTED_PROXIES_MAX};
use vestibule_themes::THEMES_RECHECK;

use crate::plan::PlanOptions;
use crate::provider::ProviderOptions;
use crate::rehearse::RehearseOptions;
use crate::verify_draw::parse_session;

/// A virtual waiting room. When a site has more visitors than its quota, new visitors wait in line, see their position,
/// and are admitted in order of arrival.
#[derive(Parser)]
#[command(name = "vestibule", version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run the gate in front of a site, together with the purge, the backoffice and the metrics
    Serve(Box<ServeOptions>),
    /// Run a local demo with a sample shop and simulated visitors
    Demo(DemoOptions),
    /// Validate a settings file and report errors by line and field
    Check(CheckOptions),
    /// Show what a settings file would change in the shared Redis or the backoffice, then apply it
    Apply(ApplyOptions),
    /// Manage backoffice operators
    #[command(subcommand)]
    Admin(AdminCommand),
    /// Load-test a running gate and check its guarantees
    Rehearse(Box<RehearseOptions>),
    /// Simulate a sale: waits and cost for each quota
    Plan(Box<PlanOptions>),
    /// Print the invitation codes of a batch as CSV
    Invitations(InvitationsOptions),
    /// Record the value of the beacon of a draw in the backoffice
    DrawBeacon(DrawBeaconOptions),
    /// Check a draw by the line document that the gate published, offline
    VerifyDraw(VerifyDrawOptions),
}

#[derive(Args)]
pub(crate) struct InvitationsOptions {
    /// ID of the queue
    #[arg(value_name = "QUEUE")]
    pub(crate) queue: QueueId,

    /// ID of the batch
    #[arg(value_name = "BATCH")]
    pub(crate) batch: BatchId,

    /// The backoffice at https://..; requires an API token of an operator of the queue in `VESTIBULE_ADMIN_TOKEN`
    #[arg(long, value_name = "URL")]
    pub(crate) to: String,

    /// Number of the first code
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=CODES_MAX), value_name = "NUMBER")]
    pub(crate) from: u64,

    /// How many codes; by default all
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=CODES_MAX), value_name = "COUNT")]
    pub(crate) count: Option<u64>,
}

#[derive(Args)]
pub(crate) struct DrawBeaconOptions {
    /// ID of the queue
    #[arg(value_name = "QUEUE")]
    pub(crate) queue: QueueId,

    /// ID of the event
    #[arg(value_name = "EVENT")]
    pub(crate) event: EventId,

    /// The backoffice at https://..; requires an API token of an operator of the queue in `VESTIBULE_ADMIN_TOKEN`
    #[arg(long, value_name = "URL")]
    pub(crate) to: String,

    /// Relay of drand from which the round is read
    #[arg(long, default_value = DRAND_RELAY, value_name = "URL")]
    pub(crate) relay: String,

    /// Round of the beacon, instead of reading it from a relay
    #[arg(long, requires = "signature", value_name = "N")]
    pub(crate) round: Option<u64>,

    /// Signature of the round in hexadecimal digits
    #[arg(long, requires = "round", value_name = "HEX")]
    pub(crate) signature: Option<String>,
}

#[derive(Args)]
pub(crate) struct VerifyDrawOptions {
    /// Line document after the draw: a file, or the address of /_vestibule/line?queue=..
    #[arg(value_name = "DOCUMENT")]
    pub(crate) document: String,

    /// Line document that was saved before the start: checks that the draw is the one that was committed to
    #[arg(long, value_name = "DOCUMENT")]
    pub(crate) committed: Option<String>,

    /// Session whose number is shown: an ID or a support code of 23 characters; can be repeated
    #[arg(long = "session", value_parser = parse_session, value_name = "SESSION")]
    pub(crate) sessions_shown: Vec<SessionId>,

    /// File with one drawn session a line, in the order of admission: checks that they follow their numbers
    #[arg(long, value_name = "FILE")]
    pub(crate) sessions: Option<PathBuf>,
}

#[derive(Subcommand)]
pub(crate) enum AdminCommand {
    /// Create an operator. Reads the password from `VESTIBULE_ADMIN_PASSWORD`, or prompts for it
    CreateUser(CreateUserOptions),
}

#[derive(Args)]
pub(crate) struct CreateUserOptions {
    /// Name to sign in with
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// Role: superuser (full access), operator (can change the queues of their tenants) or viewer (read-only)
    #[arg(long, default_value = "superuser", value_parser = ["superuser", "operator", "viewer"], value_name = "ROLE")]
    pub(crate) role: String,

    /// Tenant the operator has access to; can be repeated. Required for operators and viewers
    #[arg(long = "tenant", value_name = "ID")]
    pub(crate) tenants: Vec<TenantId>,

    /// Replace an existing operator; revokes the password and all sign-ins
    #[arg(long)]
    pub(crate) replace: bool,

    /// Store URL: redis://.., rediss://.., redis-cluster://.. or redis-sentinel://..
    #[arg(long, env = "VESTIBULE_REDIS_URL", hide_env_values = true, value_name = "URL")]
    pub(crate) store: String,
}

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

    /// Retention of the audit log, in days
    #[arg(long, env = "VESTIBULE_AUDIT_DAYS", default_value_t = vestibule_admin::AUDIT_DAYS, value_name = "DAYS",
        value_parser = clap::value_parser!(u64).range(1..=vestibule_admin::AUDIT_DAYS_MAX))]
    pub(crate) audit_days: u64,

    /// Which operators need two-factor authentication (TOTP) to sign in with a password: nobody, superusers or everybody
    #[arg(long, env = "VESTIBULE_REQUIRE_TOTP", default_value_t = vestibule_admin::RequireTotp::Nobody, value_name = "WHO")]
    pub(crate) require_totp: vestibule_admin::RequireTotp,

    #[command(flatten)]
    pub(crate) provider: ProviderOptions,

    /// Settings file with tenants and queues. Reloaded on SIGHUP
    #[arg(long, env = "VESTIBULE_SETTINGS", value_name = "FILE")]
    pub(crate) settings: Option<PathBuf>,

    /// Store URL: memory, redis://.., rediss://.., redis-cluster://.. or redis-sentinel://..
    #[arg(long, env = "VESTIBULE_REDIS_URL", default_value = "memory", hide_env_values = true, value_name = "URL")]
    pub(crate) store: String,

    /// Timeout of a store operation, in milliseconds (10 to 10000)
    #[arg(long, env = "VESTIBULE_STORE_TIMEOUT_MS", default_value_t = 250, value_parser = whole::<u64>(10..=10_000), value_name = "MS")]
    pub(crate) store_timeout_ms: u64,

    /// Theme storage, with a subfolder for each theme: a folder, or `s3://bucket/prefix`
    #[arg(long, env = "VESTIBULE_THEMES", value_name = "PLACE")]
    pub(crate) themes: Option<String>,

    /// Seconds between checks for changed themes (1 to 3600) [default: 1 for a folder, 10 for a bucket]
    #[arg(long, env = "VESTIBULE_THEMES_RECHECK", value_parser = whole::<u64>(THEMES_RECHECK), value_name = "SECONDS")]
    pub(crate) themes_recheck: Option<u64>,

    /// Origin of the site, for queues without an origin. Without a settings file, creates one queue in front of this origin
    #[arg(long, env = "VESTIBULE_ORIGIN", value_parser = parse_origin, value_name = "URL")]
    pub(crate) origin: Option<Origin>,

    /// Site name on the queue page of the queue that --origin creates [default: the host of
    /// the request]
    #[arg(long, env = "VESTIBULE_NAME", value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Quota of the queue that --origin creates [default: 100]
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

    /// Relay of drand from which the beacons of draws are recorded, such as <https://api.drand.sh>. Off by default
    #[arg(long, env = "VESTIBULE_BEACON_URL", value_name = "URL")]
    pub(crate) beacon_url: Option<String>,

    /// Number of trusted proxies in front of the gate (X-Forwarded-For, X-Forwarded-Proto)
    #[arg(long, env = "VESTIBULE_TRUSTED_PROXIES", default_value_t = 0, value_parser = whole::<usize>(0..=TRUSTED_PROXIES_MAX as u64), value_name = "N")]
    pub(crate) trusted_proxies: usize,

    /// Header of a trusted proxy that states the visitor's address: x-forwarded-for, forwarded, or a header with one address such as
    /// cf-connecting-ip
    #[arg(long, env = "VESTIBULE_CLIENT_ADDRESS", default_value = "x-forwarded-for", value_name = "HEADER")]
    pub(crate) client_address: ClientAddressSource,

    /// Folder with lists of networks: files of one network a line, named by the file
    #[arg(long, env = "VESTIBULE_NETWORKS", value_name = "FOLDER")]
    pub(crate) networks: Option<PathBuf>,

    /// Number of trusted proxies in front of --admin-listen
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

#[derive(Args, Clone)]
pub(crate) struct LogOptions {
    /// Log level: error, warn, info or debug, or a comma-separated list of module=level;
    /// request=info logs every request
    #[arg(long = "log", env = "VESTIBULE_LOG", default_value = "info", value_name = "LEVELS")]
    pub(crate) levels: String,

    /// Log format: text or json
    #[arg(long = "log-format", env = "VESTIBULE_LOG_FORMAT", default_value = "text", value_name = "FORMAT")]
    pub(crate) format: LogFormat,
}

#[derive(Args)]
pub(crate) struct DemoOptions {
    /// Listen address of the gate; port 0 picks a free port
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "ADDR")]
    pub(crate) listen: SocketAddr,

    /// Quota: maximum number of active visitors (1 to 10000)
    #[arg(long, default_value_t = 20, value_parser = whole::<u64>(1..=10_000), value_name = "N")]
    pub(crate) quota: u64,

    /// Number of simulated visitors (0 to 5000)
    #[arg(long, default_value_t = 200, value_parser = whole::<u32>(0..=5_000), value_name = "N")]
    pub(crate) visitors: u32,

    /// Seed of the simulation
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) seed: u64,

    /// Listen address of the backoffice; if the port is in use, a free port is picked
    #[arg(long, default_value = "127.0.0.1:8081", value_name = "ADDR")]
    pub(crate) admin_listen: SocketAddr,

    /// Log level: error, warn, info or debug, or a comma-separated list of module=level
    #[arg(long, env = "VESTIBULE_LOG", default_value = "warn", value_name = "LEVELS")]
    pub(crate) log: String,
}

#[derive(Args)]
pub(crate) struct CheckOptions {
    /// Settings file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Theme storage, a folder or `s3://bucket/prefix`; the themes of the queues are validated too
    #[arg(long, env = "VESTIBULE_THEMES", value_name = "PLACE")]
    pub(crate) themes: Option<String>,

    /// Origin of the site, for queues without an origin
    #[arg(long, env = "VESTIBULE_ORIGIN", value_parser = parse_origin, value_name = "URL")]
    pub(crate) origin: Option<Origin>,

    /// Sale keys of the gates; events that name another key are reported
    #[arg(long, env = "VESTIBULE_SALE_KEYS", hide_env_values = true, value_name = "KEYS")]
    pub(crate) sale_keys: Option<String>,
}

#[derive(Args)]
pub(crate) struct ApplyOptions {
    /// Settings file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Target: redis://.., rediss://.., redis-cluster://.., redis-sentinel://.., or the backoffice at https://..; the backoffice
    /// requires an API token of a superuser in `VESTIBULE_ADMIN_TOKEN`
    #[arg(long, env = "VESTIBULE_REDIS_URL", hide_env_values = true, value_name = "URL")]
    pub(crate) to: String,

    /// Remove queues that are not in the file, together with their waiting visitors
    #[arg(long)]
    pub(crate) remove: bool,

    /// Show the changes without writing them
    #[arg(long, visible_alias = "plan")]
    pub(crate) dry_run: bool,

    /// Skip the confirmation prompt
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) yes: bool,

    /// Origin of the site, for queues without an origin
    #[arg(long, env = "VESTIBULE_ORIGIN", value_parser = parse_origin, value_name = "URL")]
    pub(crate) origin: Option<Origin>,

    /// Sale keys of the gates, for events with a draw; a backoffice has its own
    #[arg(long, env = "VESTIBULE_SALE_KEYS", hide_env_values = true, value_name = "KEYS")]
    pub(crate) sale_keys: Option<String>,
}

/// A listen address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Listen {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl std::str::FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Self::Unix(path.into()));
        }
        let expected = "must be an address and port, such as 127.0.0.1:8080 or [::]:80, or unix:/run/vestibule.sock";
        text.parse().map(Self::Tcp).map_err(|_| expected.to_owned())
    }
}

impl std::fmt::Display for Listen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "http://{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

fn parse_origin(text: &str) -> Result<Origin, String> {
    text.parse().map_err(|error: InvalidOrigin| error.to_string())
}

/// Parses a whole number within bounds; the error states the bounds.
pub(crate) fn whole<T: TryFrom<u64>>(bounds: RangeInclusive<u64>) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number =
            text.parse().ok().filter(|number| bounds.contains(number)).and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| match (bounds.start(), *bounds.end()) {
            (min, u64::MAX) => format!("must be a whole number, at least {min}"),
            (min, max) => format!("must be a whole number from {min} to {max}"),
        })
    }
}
