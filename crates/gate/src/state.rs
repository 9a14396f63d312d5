//! What all requests share.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use tracing::{debug, warn};
use vestibule_core::{PassSigner, Store, TicketSigner};
use vestibule_http::{Directory, StoreClock};
use vestibule_themes::Themes;

use crate::pass::PassCache;
use crate::proxy::{Proxy, ProxyLimits};
use crate::log_rate_limiter::LogRateLimiter;
use crate::witness::Witnesses;

/// How long a process that begins waits for its store at most. A connection over TLS takes some hundred milliseconds.
const WARM_UP_TIMEOUT: Duration = Duration::from_millis(1500);
/// Pause between two such looks.
const WARM_UP_RETRY_PAUSE: Duration = Duration::from_millis(20);

/// What a gate is made of.
pub struct GateParts {
    /// Keeps the lines.
    pub store: Arc<dyn Store>,
    /// Finds queues by host.
    pub directory: Arc<Directory>,
    /// Draws the pages.
    pub themes: Themes,
    /// Signs tickets.
    pub tickets: TicketSigner,
    /// Signs passes.
    pub passes: PassSigner,
    /// Time that all questions of one request to the store may take together.
    pub store_timeout: Duration,
    /// How many proxies in front of the gate are believed on who the visitor is; 0 to 16.
    pub trusted_proxies: usize,
    /// Limits of the `proxy` handover.
    pub proxy: ProxyLimits,
}

/// A gate; clones are the same one.
#[derive(Clone)]
pub struct Gate(Arc<GateState>);

/// What the requests of one gate share.
pub struct GateState {
    pub(crate) store: Arc<dyn Store>,
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
    /// Puts a gate together.
    #[must_use]
    pub fn new(parts: GateParts) -> Self {
        Self(Arc::new(GateState {
            store: parts.store,
            directory: parts.directory,
            themes: parts.themes,
            tickets: parts.tickets,
            passes: PassCache::new(parts.passes),
            store_timeout: parts.store_timeout,
            trusted_proxies: parts.trusted_proxies,
            proxy: Proxy::new(parts.proxy),
            clock: StoreClock::default(),
            witnesses: Witnesses::new(),
            store_failures: LogRateLimiter::new(),
            unknown_hosts: LogRateLimiter::new(),
        }))
    }

    /// For ever: says that this process serves all the time, other than a function, and notices when it was frozen. So the
    /// store hears of it if visitors could not be served (rule 7, recovery).
    pub async fn serve_all_the_time(&self) {
        self.witnesses.watch().await;
    }

    /// Waits until it is known which queues there are, for a while: the first visitors of a process should not meet it
    /// without knowing them. Without a store that answers it goes on, and looks again with every request.
    pub async fn warm_up(&self) {
        let looked = async {
            while let Err(error) = self.directory.refresh().await {
                debug!(%error, "the index of queues could not be read yet");
                sleep(WARM_UP_RETRY_PAUSE).await;
            }
        };
        if timeout(WARM_UP_TIMEOUT, looked).await.is_err() {
            warn!("the store gives no answer; going on without knowing the queues");
        }
    }
}

impl std::ops::Deref for Gate {
    type Target = GateState;

    fn deref(&self) -> &GateState {
        &self.0
    }
}
