//! The environment of the gate's function. The stand-alone program has a flag for each variable.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use vestibule_core::{KeyList, PassSigner, SaleKeys, TicketSigner};
use vestibule_proxy::{Proxy, ProxyLimits};
use vestibule_runtime::{
    ConfigError, Directory, EnvError, JobsConfig, StoreConfig, TRUSTED_PROXIES_MAX, number, open_store_and_records,
    parse_keys, parsed, required, sale_keys_from_env, trusted_headers_from_env, variable,
};
use vestibule_themes::{THEMES_RECHECK, ThemesConfig};

use crate::STREAM_PATH;
use crate::admin_url::AdminUrl;
use crate::client_rules::ClientRules;
use crate::network_lists::{NetworkLists, NetworkListsError};
use crate::permits::Permits;
use crate::state::{Gate, GateParts};
use crate::streams::Streams;

/// Default of `VESTIBULE_TRUSTED_PROXIES`: the load balancer, the API gateway or the function URL in front of the function.
const TRUSTED_PROXIES: u64 = 1;
/// Bounds of `VESTIBULE_CONNECT_TIMEOUT`, in seconds.
const CONNECT_TIMEOUT: std::ops::RangeInclusive<u64> = 1..=60;
/// Bounds of `VESTIBULE_READ_TIMEOUT`, in seconds. A function responds before its timeout in any case.
const READ_TIMEOUT: std::ops::RangeInclusive<u64> = 1..=900;

const STORE: &str = "VESTIBULE_REDIS_URL";
const TICKET_KEYS: &str = "VESTIBULE_TICKET_KEYS";
const PASS_KEYS: &str = "VESTIBULE_PASS_KEYS";
const THEMES: &str = "VESTIBULE_THEMES";
const ADMIN_URL: &str = "VESTIBULE_ADMIN_URL";
const RECHECK: &str = "VESTIBULE_THEMES_RECHECK";
const CLIENT_ADDRESS: &str = "VESTIBULE_CLIENT_ADDRESS";
const NETWORKS: &str = "VESTIBULE_NETWORKS";
const STREAM_URL: &str = "VESTIBULE_STREAM_URL";

/// The configuration of a function.
pub struct GateConfig {
    /// `VESTIBULE_REDIS_URL`, `VESTIBULE_STORE_TIMEOUT_MS`.
    pub store: StoreConfig,
    /// `VESTIBULE_TICKET_KEYS`. Required, because a function has no state folder for generated keys.
    pub ticket_keys: KeyList,
    /// `VESTIBULE_PASS_KEYS`. Required.
    pub pass_keys: KeyList,
    /// `VESTIBULE_SALE_KEYS`. Needed for events with a draw.
    pub sale_keys: SaleKeys,
    /// `VESTIBULE_THEMES`, `VESTIBULE_THEMES_RECHECK`.
    pub themes: ThemesConfig,
    /// `VESTIBULE_TRUSTED_PROXIES`: 0 to [`TRUSTED_PROXIES_MAX`], 1 if it is not set.
    pub trusted_proxies: usize,
    /// `VESTIBULE_CLIENT_ADDRESS`, `VESTIBULE_NETWORKS`, `VESTIBULE_TRUSTED_HEADERS`.
    pub clients: ClientRules,
    /// `VESTIBULE_CONNECT_TIMEOUT` and `VESTIBULE_READ_TIMEOUT`, in seconds; the others as they are.
    pub proxy: ProxyLimits,
    /// `VESTIBULE_ADMIN_URL`: where browsers reach the dashboard, for the operator overlay.
    pub admin_url: Option<AdminUrl>,
    /// `VESTIBULE_STREAM_URL`: path of the stream endpoint of a process with streams. Queue pages only poll if it is not set.
    pub stream_url: Option<String>,
    /// `VESTIBULE_JOBS_URL`, `VESTIBULE_JOBS_MIN_REPLICAS`: where the jobs of job queues are. There are none if it is not set.
    pub jobs: Option<JobsConfig>,
}

impl GateConfig {
    /// Reads the variables.
    ///
    /// # Errors
    /// A variable is missing or invalid. The message names the variable and contains no secret.
    pub fn from_env() -> Result<Self, Box<dyn Error + Send + Sync>> {
        let defaults = ProxyLimits::default();
        let seconds = |name, range, default: Duration| number(name, range, default.as_secs()).map(Duration::from_secs);
        Ok(Self {
            store: StoreConfig::from_env()?,
            ticket_keys: keys(TICKET_KEYS, "base64 of 32 random bytes or more")?,
            pass_keys: keys(PASS_KEYS, "base64 of an Ed25519 seed, 32 random bytes")?,
            sale_keys: sale_keys_from_env()?,
            themes: themes_from_env()?,
            trusted_proxies: number("VESTIBULE_TRUSTED_PROXIES", 0..=TRUSTED_PROXIES_MAX as u64, TRUSTED_PROXIES)?
                as usize,
            clients: client_rules_from_env()?,
            proxy: ProxyLimits {
                connect_timeout: seconds("VESTIBULE_CONNECT_TIMEOUT", CONNECT_TIMEOUT, defaults.connect_timeout)?,
                read_timeout: seconds("VESTIBULE_READ_TIMEOUT", READ_TIMEOUT, defaults.read_timeout)?,
                ..defaults
            },
            admin_url: parsed(ADMIN_URL)?,
            stream_url: stream_url_from_env()?,
            jobs: JobsConfig::from_env()?,
        })
    }

    /// Opens the gate. The store is connected in the background, so this must be called within a Tokio runtime.
    ///
    /// # Errors
    /// The store address, a key, the themes or a list of networks is invalid.
    pub async fn open(self) -> Result<Gate, Box<dyn Error + Send + Sync>> {
        let invalid = |error: NetworkListsError| EnvError::new(NETWORKS, error.to_string());
        self.clients.networks.load_at_start().await.map_err(invalid)?;
        let unusable = |variable| move |reason| ConfigError::Keys { variable, reason };
        let stores = open_store_and_records(STORE, &self.store.url, self.store.timeout)?;
        let job_queues = self.jobs.map(|jobs| jobs.open(&self.store, &stores)).transpose()?;
        let (store, _) = stores;
        Ok(Gate::new(GateParts {
            sale_keys: self.sale_keys,
            directory: Arc::new(Directory::new(store.clone(), Vec::new(), Vec::new())),
            store,
            themes: self.themes.open(THEMES)?,
            tickets: TicketSigner::new(&self.ticket_keys).map_err(unusable(TICKET_KEYS))?,
            passes: PassSigner::new(&self.pass_keys).map_err(unusable(PASS_KEYS))?,
            store_timeout: self.store.timeout,
            trusted_proxies: self.trusted_proxies,
            clients: self.clients,
            proxy: Proxy::new(self.proxy)?,
            admin_url: self.admin_url,
            job_queues,
            streams: Streams::off(),
            tunnels: Permits::none(),
            stream_url: self.stream_url,
        }))
    }
}

fn client_rules_from_env() -> Result<ClientRules, EnvError> {
    let networks = variable(NETWORKS).map(|address| NetworkLists::at(&address)).transpose();
    Ok(ClientRules {
        trusted_headers: trusted_headers_from_env()?,
        source: parsed(CLIENT_ADDRESS)?.unwrap_or_default(),
        networks: networks
            .map_err(|error: NetworkListsError| EnvError::new(NETWORKS, error.to_string()))?
            .unwrap_or_default(),
    })
}

/// The page's policy allows its own host only, and the script appends the queue.
fn stream_url_from_env() -> Result<Option<String>, EnvError> {
    let is_path = |url: &str| url.starts_with('/') && !url.starts_with("//") && !url.contains(['?', '#', '\\']);
    match variable(STREAM_URL) {
        Some(url) if !is_path(&url) => Err(EnvError::new(
            STREAM_URL,
            format!("must be a path of the queue's hosts without a query, such as {STREAM_PATH}"),
        )),
        url => Ok(url),
    }
}

fn themes_from_env() -> Result<ThemesConfig, EnvError> {
    let seconds = variable(RECHECK).map(|_| number(RECHECK, THEMES_RECHECK, *THEMES_RECHECK.start())).transpose()?;
    Ok(ThemesConfig { address: variable(THEMES), recheck: seconds.map(Duration::from_secs) })
}

fn keys(name: &'static str, of: &str) -> Result<KeyList, Box<dyn Error + Send + Sync>> {
    let text =
        required(name, &format!("keys as kid:base64,kid:base64, each the {of}; the first signs, all are valid"))?;
    Ok(parse_keys(name, &text)?)
}
