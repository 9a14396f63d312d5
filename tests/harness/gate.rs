use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use vestibule_core::settings::{Document, parse_document};
use vestibule_core::{KeyList, PassSigner, Store, TicketSigner};
use vestibule_gate::{Gate, GateParts, ProxyLimits};
use vestibule_http::Directory;
use vestibule_themes::Themes;

/// A gate in the test's own process, at a free port of loopback, over any store.
pub struct GateUnderTest {
    address: String,
    store: Arc<dyn Store>,
    directory: Arc<Directory>,
    server: JoinHandle<std::io::Result<()>>,
}

/// What a gate may be given beside its store and its settings.
pub struct GateOptions {
    /// How many proxies in front are believed.
    pub trusted_proxies: usize,
    /// Keys of tickets; the first signs.
    pub ticket_keys: KeyList,
    /// A folder of themes.
    pub themes: Option<PathBuf>,
    /// Limits of the `proxy` handover.
    pub proxy: ProxyLimits,
    /// Whether the settings are written to the store. A gate that only holds them finds a store that lost them.
    pub writes_settings: bool,
}

impl Default for GateOptions {
    fn default() -> Self {
        Self {
            trusted_proxies: 0,
            ticket_keys: GateUnderTest::ticket_keys(),
            themes: None,
            proxy: ProxyLimits::default(),
            writes_settings: true,
        }
    }
}

impl GateUnderTest {
    /// Starts a gate with the settings of `document`: `{ "tenants": [..], "queues": [..] }`.
    pub async fn start(store: Arc<dyn Store>, document: &Value) -> Self {
        Self::start_with(store, document, GateOptions::default()).await
    }

    /// Starts a gate that is given more.
    pub async fn start_with(store: Arc<dyn Store>, document: &Value, options: GateOptions) -> Self {
        let Document { tenants, queues } = parse_document(document).unwrap_or_else(|wrong| panic!("{wrong:?}"));
        let directory = Arc::new(Directory::new(Arc::clone(&store), tenants.clone(), queues.clone()));
        if options.writes_settings {
            directory.apply(&tenants, &queues, &[]).await.unwrap();
        }
        let gate = Gate::new(GateParts {
            store: Arc::clone(&store),
            directory: Arc::clone(&directory),
            themes: options.themes.map_or_else(Themes::built_in, Themes::folder),
            tickets: TicketSigner::new(&options.ticket_keys).unwrap(),
            passes: PassSigner::new(&KeyList::of_bytes("pass-1", [9; 32])).unwrap(),
            trusted_proxies: options.trusted_proxies,
            proxy: options.proxy,
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let service = vestibule_gate::router(gate).into_make_service_with_connect_info::<SocketAddr>();
        let server = tokio::spawn(async move { axum::serve(listener, service).await });
        Self { address, store, directory, server }
    }

    /// The keys with which a gate signs tickets unless it is told otherwise.
    #[must_use]
    pub fn ticket_keys() -> KeyList {
        KeyList::of_bytes("ticket-1", [7; 32])
    }

    /// `127.0.0.1:<port>`.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The store behind the gate.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// What the gate knows of queues.
    #[must_use]
    pub fn directory(&self) -> &Arc<Directory> {
        &self.directory
    }
}

impl Drop for GateUnderTest {
    fn drop(&mut self) {
        self.server.abort();
    }
}
