//! The state that all requests share.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use tracing::{debug, warn};
use vestibule_core::{PassSigner, QueueId, SaleKeys, Store, StoreError, TicketSigner};
use vestibule_freeze::LogRateLimiter;
use vestibule_proxy::Proxy;
use vestibule_runtime::{Directory, JobQueues, StoreClock};
use vestibule_themes::Themes;

use crate::admin_url::AdminUrl;
use crate::challenge::Challenges;
use crate::client_rules::ClientRules;
use crate::counts::CountsByQueue;
use crate::followers::Followers;
use crate::identity::IdentityCheck;
use crate::last_answers::LastAnswers;
use crate::line_document::LineDocuments;
use crate::origin_loop::DeploymentNames;
use crate::page_cache::PageCache;
use crate::pass::PassCache;
use crate::permits::Permits;
use crate::pre_tickets::PreTickets;
use crate::streams::Streams;
use crate::witness::Witnesses;

/// Maximum time that a starting process waits for the store. A TLS connection takes some hundred milliseconds.
const WARM_UP_TIMEOUT: Duration = Duration::from_millis(1500);
/// Minimum time between two log lines about a fault that affects every request.
const FAULT_LINES_EVERY: Duration = Duration::from_secs(1);
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
    /// The secrets from which draws derive; empty if no queue has any.
    pub sale_keys: SaleKeys,
    /// Time limit of all store calls of a request together.
    pub store_timeout: Duration,
    /// Number of trusted proxies in front of the gate; 0 to 16.
    pub trusted_proxies: usize,
    /// How requests are attributed to clients.
    pub clients: ClientRules,
    /// Forwards requests of admitted visitors for the `proxy` handover.
    pub proxy: Proxy,
    /// Where browsers reach the dashboard, for the operator overlay.
    pub admin_url: Option<AdminUrl>,
    /// The job queues; `None` if this process has none.
    pub job_queues: Option<Arc<JobQueues>>,
    /// The streams of this process.
    pub streams: Streams,
    /// How many tunnels this process may have.
    pub tunnels: Permits,
    /// Path of the stream endpoint that queue pages use; `None` if they only poll.
    pub stream_url: Option<String>,
}

/// A gate; clones share its state.
#[derive(Clone)]
pub struct Gate(Arc<GateState>);

/// The shared state of a gate: its parts, and what it knows from earlier requests.
pub struct GateState {
    parts: GateParts,
    pub(crate) deployment: DeploymentNames,
    pub(crate) pass_cache: PassCache,
    pub(crate) followers: Followers,
    pub(crate) clock: StoreClock,
    pub(crate) witnesses: Witnesses,
    pub(crate) line_documents: LineDocuments,
    pub(crate) last_answers: LastAnswers,
    pub(crate) pre_tickets: PreTickets,
    pub(crate) counts: CountsByQueue,
    pub(crate) identities: IdentityCheck,
    pub(crate) challenges: Challenges,
    pub(crate) first_pages: PageCache,
    pub(crate) unknown_sale_keys: LogRateLimiter,
    store_failures: LogRateLimiter,
    pub(crate) unknown_hosts: LogRateLimiter,
    pub(crate) origin_loops: LogRateLimiter,
    pub(crate) refused_tunnels: LogRateLimiter,
    pub(crate) orders_not_stored: LogRateLimiter,
}

impl Gate {
    /// Creates a gate.
    pub fn new(parts: GateParts) -> Self {
        Self(Arc::new(GateState {
            deployment: DeploymentNames::of(&parts.tickets),
            parts,
            pass_cache: PassCache::new(),
            followers: Followers::default(),
            clock: StoreClock::default(),
            witnesses: Witnesses::new(),
            line_documents: LineDocuments::default(),
            last_answers: LastAnswers::default(),
            pre_tickets: PreTickets::default(),
            counts: CountsByQueue::default(),
            identities: IdentityCheck::default(),
            challenges: Challenges::default(),
            first_pages: PageCache::default(),
            unknown_sale_keys: LogRateLimiter::every(FAULT_LINES_EVERY),
            store_failures: LogRateLimiter::every(FAULT_LINES_EVERY),
            unknown_hosts: LogRateLimiter::every(FAULT_LINES_EVERY),
            origin_loops: LogRateLimiter::every(FAULT_LINES_EVERY),
            refused_tunnels: LogRateLimiter::every(FAULT_LINES_EVERY),
            orders_not_stored: LogRateLimiter::every(FAULT_LINES_EVERY),
        }))
    }

    /// Logs a store call that failed, and `what` that means; at most once a second.
    pub(crate) fn warn_store_failure(&self, queue: &QueueId, error: &StoreError, what: &'static str) {
        if let Some(suppressed) = self.store_failures.allow() {
            warn!(%queue, %error, suppressed, "{what}");
        }
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

impl std::ops::Deref for GateState {
    type Target = GateParts;

    fn deref(&self) -> &GateParts {
        &self.parts
    }
}
