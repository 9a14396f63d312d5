//! The state that all requests share.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use tracing::{debug, warn};
use vestibule_core::store::{OperationsStore, Store, VisitStore};
use vestibule_core::{PassSigner, TicketSigner};
use vestibule_proxy::Proxy;
use vestibule_runtime::{Directory, StoreClock};
use vestibule_themes::Themes;

use crate::log_rate_limiter::LogRateLimiter;
use crate::pass::PassCache;
use crate::witness::Witnesses;

/// Maximum time that a starting process waits for the store. A TLS connection takes some hundred milliseconds.
const WARM_UP_TIMEOUT: Duration = Duration::from_millis(1500);
/// Pause between two attempts.
const WARM_UP_RETRY_PAUSE: Duration = Duration::from_millis(20);

/// The parts of a gate.
pub struct GateParts {
    /// The store of all lines.
    pub store: Arc<dyn Store>,
    /// Finds queues by host.
    pub directory: Arc<Directory>,
    /// Renders the pages.
    pub themes: Themes,
    /// Signs tickets.
    pub tickets: TicketSigner,
    /// Signs passes.
    pub passes: PassSigner,
    /// Time limit of all store calls of a request together.
    pub store_timeout: Duration,
    /// Number of trusted proxies in front of the gate; 0 to 16.
    pub trusted_proxies: usize,
    /// Forwards requests of admitted visitors for the `proxy` handover.
    pub proxy: Proxy,
}

/// A gate; clones share its state.
#[derive(Clone)]
pub struct Gate(Arc<GateState>);

/// The shared state of a gate.
pub struct GateState {
    pub(crate) visits: Arc<dyn VisitStore>,
    pub(crate) operations: Arc<dyn OperationsStore>,
    pub(crate) directory: Arc<Directory>,
    pub(crate) themes: Themes,
    pub(crate) tickets: TicketSigner,
    pub(crate) passes: PassCache,
    pub(crate) store_timeout: Duration,
    pub(crate) trusted_proxies: usize,
    pub(crate) proxy: Proxy,
    pub(crate) clock: StoreClock,
    pub(crate) witnesses: Witnesses,
    pub(crate) store_failures: LogRateLimiter,
    pub(crate) unknown_hosts: LogRateLimiter,
}

impl Gate {
    /// Creates a gate.
    #[must_use]
    pub fn new(parts: GateParts) -> Self {
        Self(Arc::new(GateState {
            visits: parts.store.clone(),
            operations: parts.store,
            directory: parts.directory,
            themes: parts.themes,
            tickets: parts.tickets,
            passes: PassCache::new(parts.passes),
            store_timeout: parts.store_timeout,
            trusted_proxies: parts.trusted_proxies,
            proxy: parts.proxy,
            clock: StoreClock::default(),
            witnesses: Witnesses::new(),
            store_failures: LogRateLimiter::new(),
            unknown_hosts: LogRateLimiter::new(),
        }))
    }

    /// Never returns. Marks this process as one that serves continuously, unlike a function, and detects when it was frozen,
    /// so that the store learns of interruptions (rule 7, recovery).
    pub async fn serve_all_the_time(&self) {
        self.witnesses.watch().await;
    }

    /// Waits for the queue index, up to a limit, so that the first requests of a process find their queues. If the store is
    /// unavailable, later requests load the index.
    pub async fn warm_up(&self) {
        let looked = async {
            while let Err(error) = self.directory.refresh().await {
                debug!(%error, "queue index not available yet");
                sleep(WARM_UP_RETRY_PAUSE).await;
            }
        };
        if timeout(WARM_UP_TIMEOUT, looked).await.is_err() {
            warn!("store unavailable at startup; continuing without the queue index");
        }
    }
}

impl std::ops::Deref for Gate {
    type Target = GateState;

    fn deref(&self) -> &GateState {
        &self.0
    }
}
