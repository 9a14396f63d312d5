use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use vestibule_core::settings::{Document, parse_settings_document};
use vestibule_core::{KeyList, PassSigner, SaleKeys, Store, TicketSigner};
use vestibule_gate::{ClientRules, Gate, GateParts, Permits, Proxy, ProxyLimits, Streams};
use vestibule_runtime::{ConnectionCounts, CountLimits, Directory, JobQueues, STORE_TIMEOUT};
use vestibule_themes::Themes;

use crate::{Balancer, BalancerOptions, Deployment, S3};

/// A gate at a free port of loopback, over any store: in the test's own process, or as a function behind a load balancer.
pub struct GateUnderTest {
    address: String,
    store: Arc<dyn Store>,
    directory: Arc<Directory>,
    door: Door,
}

/// What stands at the address.
enum Door {
    Here(JoinHandle<std::io::Result<()>>),
    Function { balancer: Balancer, _themes: Option<S3> },
}

/// What a gate may be given beside its store and its settings.
pub struct GateOptions {
    /// How many proxies in front are believed.
    pub trusted_proxies: usize,
    /// How requests are attributed to clients. A function has the headers of these alone.
    pub clients: ClientRules,
    /// Keys of tickets; the first signs.
    pub ticket_keys: KeyList,
    /// A folder of themes.
    pub themes: Option<PathBuf>,
    /// Limits of the `proxy` handover.
    pub proxy: ProxyLimits,
    /// The address of the dashboard.
    pub admin_url: Option<String>,
    /// Whether the settings are written to the store. A gate that only holds them finds a store that lost them.
    pub writes_settings: bool,
    /// The job queues. A function has none.
    pub job_queues: Option<Arc<JobQueues>>,
    /// How many streams may be open. A function has none.
    pub streams: usize,
    /// How many tunnels may be open.
    pub tunnels: usize,
    /// How long a request waits for the store. A function waits for ten seconds.
    pub store_timeout: Duration,
}

impl Default for GateOptions {
    fn default() -> Self {
        Self {
            trusted_proxies: 0,
            clients: ClientRules::default(),
            ticket_keys: GateUnderTest::ticket_keys(),
            themes: None,
            proxy: ProxyLimits::default(),
            admin_url: None,
            writes_settings: true,
            job_queues: None,
            streams: 100,
            tunnels: 100,
            store_timeout: STORE_TIMEOUT,
        }
    }
}

impl GateOptions {
    /// The gate as a function over the Redis at `redis`, with the same configuration as environment variables, except the themes.
    #[must_use]
    pub fn deployment(&self, redis: &str) -> Deployment {
        // The load balancer is one proxy more than those that a test stands for.
        let proxies = self.trusted_proxies + 1;
        let read_timeout = self.proxy.read_timeout.as_secs().max(1);
        let trusted = &self.clients.trusted_headers;
        let trusted_headers = if trusted.is_empty() { String::new() } else { trusted.to_string() };
        Deployment::of("gate")
            .env("VESTIBULE_REDIS_URL", redis)
            .env("VESTIBULE_TICKET_KEYS", &self.ticket_keys.expose())
            .env("VESTIBULE_PASS_KEYS", &GateUnderTest::pass_keys().expose())
            .env("VESTIBULE_SALE_KEYS", &GateUnderTest::sale_keys().expose())
            .env("VESTIBULE_TRUSTED_PROXIES", &proxies.to_string())
            .env("VESTIBULE_READ_TIMEOUT", &read_timeout.to_string())
            .env("VESTIBULE_STORE_TIMEOUT_MS", "10000")
            .env("VESTIBULE_TRUSTED_HEADERS", &trusted_headers)
            .env("VESTIBULE_ADMIN_URL", self.admin_url.as_deref().unwrap_or_default())
    }
}

impl GateUnderTest {
    /// Starts a gate with the settings of `document`: `{ "tenants": [..], "queues": [..] }`.
    pub async fn start(store: Arc<dyn Store>, document: &Value) -> Self {
        Self::start_with(store, document, GateOptions::default()).await
    }

    /// Starts a gate that is given more.
    pub async fn start_with(store: Arc<dyn Store>, document: &Value, options: GateOptions) -> Self {
        let directory = directory(&store, document, options.writes_settings).await;
        let limits = CountLimits { streams: options.streams, tunnels: options.tunnels, ..CountLimits::default() };
        let counts = Arc::new(ConnectionCounts::new(limits));
        let gate = Gate::new(GateParts {
            store: Arc::clone(&store),
            directory: Arc::clone(&directory),
            themes: options.themes.map_or_else(Themes::built_in, Themes::folder),
            tickets: TicketSigner::new(&options.ticket_keys).unwrap(),
            passes: PassSigner::new(&Self::pass_keys()).unwrap(),
            sale_keys: SaleKeys::new(&Self::sale_keys()).unwrap(),
            store_timeout: options.store_timeout,
            trusted_proxies: options.trusted_proxies,
            clients: options.clients,
            proxy: Proxy::new(options.proxy).unwrap(),
            admin_url: options.admin_url.map(|url| url.parse().unwrap()),
            job_queues: options.job_queues,
            streams: Streams::new(counts.clone(), options.streams),
            tunnels: Permits::new(counts.tunnels.clone(), options.tunnels),
            stream_url: None,
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let service = vestibule_gate::router(gate).into_make_service_with_connect_info::<SocketAddr>();
        let server = tokio::spawn(async move { axum::serve(listener, service).await });
        Self { address, store, directory, door: Door::Here(server) }
    }

    /// Starts the gate as it is deployed, under the Runtime Interface Emulator and behind a load balancer. `store` is
    /// that of the Redis at `redis`; all else that the gate is given reaches it by its environment, and themes by S3.
    pub async fn function(
        store: Arc<dyn Store>,
        redis: &str,
        document: &Value,
        options: GateOptions,
        listener: BalancerOptions,
    ) -> Self {
        let directory = directory(&store, document, options.writes_settings).await;
        let mut deployment = options.deployment(redis);
        let mut themes = None;
        if let Some(folder) = &options.themes {
            let s3 = S3::start().await;
            upload(&s3, folder, "themes").await;
            deployment = deployment.env("VESTIBULE_THEMES", &s3.themes("themes"));
            deployment = s3.environment().iter().fold(deployment, |all, (name, value)| all.env(name, value));
            themes = Some(s3);
        }
        let balancer = Balancer::before(deployment.emulated().await, listener).await;
        let address = balancer.address().to_owned();
        Self { address, store, directory, door: Door::Function { balancer, _themes: themes } }
    }

    /// The default keys with which a gate signs tickets.
    pub fn ticket_keys() -> KeyList {
        KeyList::of_bytes("ticket-1", [7; 32])
    }

    /// The keys from which a gate derives draws.
    pub fn sale_keys() -> KeyList {
        KeyList::of_bytes("s1", std::array::from_fn(|index| index as u8))
    }

    /// The keys with which a gate signs passes.
    pub fn pass_keys() -> KeyList {
        KeyList::of_bytes("pass-1", [9; 32])
    }

    /// `127.0.0.1:<port>`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The store behind the gate.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The load balancer, and the function behind it, where the gate is one.
    pub fn balancer(&self) -> Option<&Balancer> {
        match &self.door {
            Door::Here(_) => None,
            Door::Function { balancer, .. } => Some(balancer),
        }
    }

    /// What the gate knows of queues.
    pub fn directory(&self) -> &Arc<Directory> {
        &self.directory
    }
}

impl Drop for GateUnderTest {
    fn drop(&mut self) {
        if let Door::Here(server) = &self.door {
            server.abort();
        }
    }
}

/// Puts a folder's files into a bucket, which knows no links.
async fn upload(s3: &S3, folder: &Path, prefix: &str) {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    for entry in entries {
        let key = format!("{prefix}/{}", entry.file_name().to_str().unwrap());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            Box::pin(upload(s3, &entry.path(), &key)).await;
        } else if kind.is_file() {
            s3.put(&key, std::fs::read(entry.path()).unwrap()).await;
        }
    }
}

/// What the settings say, known here and written to the store if they shall be.
async fn directory(store: &Arc<dyn Store>, document: &Value, written: bool) -> Arc<Directory> {
    let Document { tenants, queues, .. } =
        parse_settings_document(document).unwrap_or_else(|wrong| panic!("{wrong:?}"));
    let directory = Arc::new(Directory::new(store.clone(), tenants.clone(), queues.clone()));
    if written {
        directory.apply(&tenants, &queues).await.unwrap();
    }
    directory
}
