//! The command line.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use vestibule_core::TenantId;
use vestibule_core::settings::{InvalidOrigin, Origin};
use vestibule_runtime::{LogFormat, THEMES_RECHECK, TRUSTED_PROXIES_MAX};

use crate::plan::PlanOptions;
use crate::provider::ProviderOptions;
use crate::rehearse::RehearseOptions;

/// A virtual waiting room: visitors wait in an orderly line, see where they stand, and are let in first come, first
/// served, so that the site never carries more than it can.
#[derive(Parser)]
#[command(name = "vestibule", version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run the gate in front of a site, with purge, backoffice and metrics beside it
    Serve(Box<ServeOptions>),
    /// Show it all: a sample shop, a crowd before it, and a moving line to stand in
    Demo(DemoOptions),
    /// Read a settings file and say what is wrong with it, by line and field
    Check(CheckOptions),
    /// Write a settings file into the Redis that the gates share, after showing what changes
    Apply(ApplyOptions),
    /// Make the people who may sign in to the backoffice
    #[command(subcommand)]
    Admin(AdminCommand),
    /// Play a crowd against a running gate over HTTP, and say whether it held
    Rehearse(Box<RehearseOptions>),
    /// Play a crowd on the rules in virtual time: how long people will wait, and what it costs
    Plan(Box<PlanOptions>),
}

#[derive(Subcommand)]
pub(crate) enum AdminCommand {
    /// Make an operator of the backoffice. Asks for the password, or reads it from `VESTIBULE_ADMIN_PASSWORD`
    CreateUser(CreateUserOptions),
}

#[derive(Args)]
pub(crate) struct CreateUserOptions {
    /// The name to sign in with
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// What they may do: everything (superuser), change the queues of their tenants (operator) or look at them (viewer)
    #[arg(long, default_value = "superuser", value_parser = ["superuser", "operator", "viewer"], value_name = "ROLE")]
    pub(crate) role: String,

    /// A tenant of theirs; may be given several times. Needed unless they are a superuser, who has all
    #[arg(long = "tenant", value_name = "ID")]
    pub(crate) tenants: Vec<TenantId>,

    /// Make them anew if the name is taken: their old password and their sign-ins are good no more
    #[arg(long)]
    pub(crate) replace: bool,

    /// Where the lines are kept: redis://.., rediss://.., redis-cluster://.. or redis-sentinel://..
    #[arg(long, env = "VESTIBULE_REDIS_URL", hide_env_values = true, value_name = "URL")]
    pub(crate) store: String,
}

#[derive(Args, Clone)]
pub(crate) struct ServeOptions {
    /// Where to listen: an address and port, or unix:PATH for a socket file
    #[arg(long, env = "VESTIBULE_LISTEN", default_value = "127.0.0.1:8080", value_name = "ADDR")]
    pub(crate) listen: Listen,

    /// Where the backoffice is, for those who run the site, with its API at /api/docs and metrics at /metrics: an address
    /// and port, or unix:PATH. Nowhere unless it is given
    #[arg(long, env = "VESTIBULE_ADMIN_LISTEN", value_name = "ADDR")]
    pub(crate) admin_listen: Option<Listen>,

    /// Bearer token that a scrape of /metrics must send, 16 to 1024 characters. Without it there are no metrics
    #[arg(long, env = "VESTIBULE_METRICS_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    pub(crate) metrics_token: Option<String>,

    /// Name and password of the first superuser, who is made unless there is one: name:password
    #[arg(long, env = "VESTIBULE_ADMIN_BOOTSTRAP", hide_env_values = true, value_name = "NAME:PASSWORD")]
    pub(crate) admin_bootstrap: Option<String>,

    /// Days for which the audit log is kept
    #[arg(long, env = "VESTIBULE_AUDIT_DAYS", default_value_t = vestibule_admin::AUDIT_DAYS, value_name = "DAYS",
        value_parser = clap::value_parser!(u64).range(1..=vestibule_admin::AUDIT_DAYS_MAX))]
    pub(crate) audit_days: u64,

    /// Which operators need two-factor authentication (TOTP) to sign in with a password: nobody, superusers or everybody
    #[arg(long, env = "VESTIBULE_REQUIRE_TOTP", default_value_t = vestibule_admin::RequireTotp::Nobody, value_name = "WHO")]
    pub(crate) require_totp: vestibule_admin::RequireTotp,

    #[command(flatten)]
    pub(crate) provider: ProviderOptions,

    /// Settings file: tenants and queues. Read again on SIGHUP
    #[arg(long, env = "VESTIBULE_SETTINGS", value_name = "FILE")]
    pub(crate) settings: Option<PathBuf>,

    /// Where the lines are kept: memory, redis://.., rediss://.., redis-cluster://.. or redis-sentinel://..
    #[arg(long, env = "VESTIBULE_REDIS_URL", default_value = "memory", hide_env_values = true, value_name = "URL")]
    pub(crate) store: String,

    /// How long the store may take for one operation, in milliseconds (10 to 10000)
    #[arg(long, env = "VESTIBULE_STORE_TIMEOUT_MS", default_value_t = 250, value_parser = whole::<u64>(10..=10_000), value_name = "MS")]
    pub(crate) store_timeout_ms: u64,

    /// Where themes are, each a folder of its own: a folder, or `s3://bucket/prefix`
    #[arg(long, env = "VESTIBULE_THEMES", value_name = "PLACE")]
    pub(crate) themes: Option<String>,

    /// Seconds after which a theme is looked at again (1 to 3600) [default: 1 of a folder, 10 of a bucket]
    #[arg(long, env = "VESTIBULE_THEMES_RECHECK", value_parser = whole::<u64>(THEMES_RECHECK), value_name = "SECONDS")]
    pub(crate) themes_recheck: Option<u64>,

    /// The site itself, for queues that name no origin. Without a settings file: one queue before this site
    #[arg(long, env = "VESTIBULE_ORIGIN", value_parser = parse_origin, value_name = "URL")]
    pub(crate) origin: Option<Origin>,

    /// Name of the site, as visitors read it on the queue page of the one queue that --origin makes [default: the host that
    /// the visitor asked for]
    #[arg(long, env = "VESTIBULE_NAME", value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Quota of the one queue that --origin makes without a settings file
    #[arg(long, env = "VESTIBULE_QUOTA", value_parser = whole::<u64>(0..=u64::MAX), value_name = "N")]
    pub(crate) quota: Option<u64>,

    /// Folder for keys that nobody gave, made once, and for what a restart must know of the memory store
    /// [default: ~/.local/state/vestibule]
    #[arg(long, env = "VESTIBULE_STATE", value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,

    /// Keys that sign tickets, as kid:base64,kid:base64; the first signs, all are valid
    #[arg(long, env = "VESTIBULE_TICKET_KEYS", hide_env_values = true, value_name = "KEYS")]
    pub(crate) ticket_keys: Option<String>,

    /// Keys that sign passes, as kid:base64 of an Ed25519 seed; the first signs, all are published
    #[arg(long, env = "VESTIBULE_PASS_KEYS", hide_env_values = true, value_name = "KEYS")]
    pub(crate) pass_keys: Option<String>,

    /// How many proxies in front are believed on who the visitor is (X-Forwarded-For, -Proto)
    #[arg(long, env = "VESTIBULE_TRUSTED_PROXIES", default_value_t = 0, value_parser = whole::<usize>(0..=TRUSTED_PROXIES_MAX as u64), value_name = "N")]
    pub(crate) trusted_proxies: usize,

    /// The same for the backoffice: how many proxies in front of --admin-listen are believed
    #[arg(long, env = "VESTIBULE_ADMIN_TRUSTED_PROXIES", default_value_t = 0, value_parser = whole::<usize>(0..=TRUSTED_PROXIES_MAX as u64), value_name = "N")]
    pub(crate) admin_trusted_proxies: usize,

    /// Most open connections of visitors (16 to 1000000), fewer if the system allows fewer file descriptors. Beyond them
    /// the oldest idle one is closed
    #[arg(long, env = "VESTIBULE_CONNECTIONS", default_value_t = 10_000, value_parser = whole::<usize>(16..=1_000_000), value_name = "N")]
    pub(crate) connections: usize,

    /// Most open connections of one address, or of one IPv6 network of 64 bits (16 to 1000000). Not counted behind trusted
    /// proxies and from this machine itself
    #[arg(long, env = "VESTIBULE_CONNECTIONS_PER_ADDRESS", default_value_t = 256, value_parser = whole::<usize>(16..=1_000_000), value_name = "N")]
    pub(crate) connections_per_address: usize,

    /// Seconds the origin may take to be connected to (1 to 60)
    #[arg(long, env = "VESTIBULE_CONNECT_TIMEOUT", default_value_t = 5, value_parser = whole::<u64>(1..=60), value_name = "SECONDS")]
    pub(crate) connect_timeout: u64,

    /// Seconds the origin may be silent (1 to 3600)
    #[arg(long, env = "VESTIBULE_READ_TIMEOUT", default_value_t = 60, value_parser = whole::<u64>(1..=3600), value_name = "SECONDS")]
    pub(crate) read_timeout: u64,

    /// Threads that serve visitors (1 to 1024). One is the cheapest for each of them, and is enough where Redis, the site
    /// or whatever else shares the machine wants the rest of it [default: one for each processor]
    #[arg(long, env = "VESTIBULE_THREADS", value_parser = whole::<u16>(1..=1024), value_name = "N")]
    pub(crate) threads: Option<u16>,

    /// Seconds that requests under way get to finish after SIGTERM (0 to 3600)
    #[arg(long, env = "VESTIBULE_DRAIN", default_value_t = 30, value_parser = whole::<u64>(0..=3600), value_name = "SECONDS")]
    pub(crate) drain: u64,

    #[command(flatten)]
    pub(crate) log: LogOptions,
}

#[derive(Args, Clone)]
pub(crate) struct LogOptions {
    /// How much is logged: error, warn, info or debug, or levels per module as module=level, with commas between them;
    /// request=info adds a line a request
    #[arg(long = "log", env = "VESTIBULE_LOG", default_value = "info", value_name = "LEVELS")]
    pub(crate) levels: String,

    /// How log lines look: text or json
    #[arg(long = "log-format", env = "VESTIBULE_LOG_FORMAT", default_value = "text", value_name = "FORMAT")]
    pub(crate) format: LogFormat,
}

#[derive(Args)]
pub(crate) struct DemoOptions {
    /// Where the gate listens; port 0 is any that is free
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "ADDR")]
    pub(crate) listen: SocketAddr,

    /// How many may be in the shop at once (1 to 10000)
    #[arg(long, default_value_t = 20, value_parser = whole::<u64>(1..=10_000), value_name = "N")]
    pub(crate) quota: u64,

    /// How many simulated visitors want in (0 to 5000)
    #[arg(long, default_value_t = 200, value_parser = whole::<u64>(0..=5_000), value_name = "N")]
    pub(crate) crowd: u64,

    /// Seed of the crowd's behaviour
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) seed: u64,

    /// Where the backoffice listens; another free port if this one is taken
    #[arg(long, default_value = "127.0.0.1:8081", value_name = "ADDR")]
    pub(crate) admin_listen: SocketAddr,

    /// How much is logged: error, warn, info or debug, or levels per module as module=level, with commas between them
    #[arg(long, env = "VESTIBULE_LOG", default_value = "warn", value_name = "LEVELS")]
    pub(crate) log: String,
}

#[derive(Args)]
pub(crate) struct CheckOptions {
    /// The settings file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Where themes are, a folder or `s3://bucket/prefix`: those that queues name are read and drawn too
    #[arg(long, env = "VESTIBULE_THEMES", value_name = "PLACE")]
    pub(crate) themes: Option<String>,

    /// The site itself, for queues that name no origin, as serve takes it
    #[arg(long, env = "VESTIBULE_ORIGIN", value_parser = parse_origin, value_name = "URL")]
    pub(crate) origin: Option<Origin>,
}

#[derive(Args)]
pub(crate) struct ApplyOptions {
    /// The settings file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Where it goes: redis://.., rediss://.., redis-cluster://.. or redis-sentinel://.., or the backoffice at https://..,
    /// for which `VESTIBULE_ADMIN_TOKEN` takes an API token of a superuser
    #[arg(long, env = "VESTIBULE_REDIS_URL", hide_env_values = true, value_name = "URL")]
    pub(crate) to: String,

    /// Remove queues that the file does not name, with everybody who waits there
    #[arg(long)]
    pub(crate) remove: bool,

    /// Show what would change, and write nothing
    #[arg(long, visible_alias = "plan")]
    pub(crate) dry_run: bool,

    /// Write without asking
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) yes: bool,

    /// The site itself, for queues that name no origin, as serve takes it
    #[arg(long, env = "VESTIBULE_ORIGIN", value_parser = parse_origin, value_name = "URL")]
    pub(crate) origin: Option<Origin>,
}

/// Where to listen.
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
        let takes = "takes an address and port such as 127.0.0.1:8080 or [::]:80, or unix:/run/vestibule.sock";
        text.parse().map(Self::Tcp).map_err(|_| takes.to_owned())
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

/// Reads a whole number between bounds, and says what it takes otherwise.
pub(crate) fn whole<T: TryFrom<u64>>(bounds: RangeInclusive<u64>) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number =
            text.parse().ok().filter(|number| bounds.contains(number)).and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| match (bounds.start(), *bounds.end()) {
            (least, u64::MAX) => format!("takes a whole number from {least}"),
            (least, most) => format!("takes a whole number from {least} to {most}"),
        })
    }
}
