//! The state that all operations share.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use http::request::Parts;
use tokio::sync::Mutex;
use tracing::warn;
use vestibule_core::settings::TrustedHeaders;
use vestibule_core::{Micros, QueueId, SaleKeys, Store, StoreError};
use vestibule_records::RecordStore;
use vestibule_runtime::{ClientAddressSource, Directory, JobQueues, Queue, request_origin};
use vestibule_themes::ThemeVersions;

use crate::access::{PasswordHasher, Principal, RequireTotp};
use crate::oidc::{Provider, ProviderConfig};
use crate::open_requests::OpenRequests;
use crate::problem::Problem;
use crate::stats::StatsSources;
use crate::stats_stream::StatsStream;
use crate::theme_work::ThemeWork;

/// The parts of the backoffice.
pub struct AdminParts {
    /// The lines, the queues and the tenants.
    pub store: Arc<dyn Store>,
    /// Operators, tokens, sign-ins, the audit log and the history.
    pub records: Arc<dyn RecordStore>,
    /// The cache of queues: that of a gate in the same process, or a separate one.
    pub directory: Arc<Directory>,
    /// Number of trusted proxies in front.
    pub trusted_proxies: usize,
    /// The identity provider for single sign-on.
    pub provider: Option<ProviderConfig>,
    /// Theme storage; `None` if it is not configured.
    pub themes: Option<ThemeVersions>,
    /// Days for which audit events are kept; [`AUDIT_DAYS`](crate::AUDIT_DAYS) by default.
    pub audit_days: u64,
    /// Which operators need TOTP to sign in with a password.
    pub require_totp: RequireTotp,
    /// Whether responses can be streamed; those of a Lambda function cannot.
    pub streams: bool,
    /// The sale keys of the gates, from which draws derive.
    pub sale_keys: SaleKeys,
    /// The headers that only trusted proxies of the gates may send, which rules may name.
    pub trusted_headers: TrustedHeaders,
    /// The job queues; `None` if this process has none.
    pub jobs: Option<Arc<JobQueues>>,
}

/// The state that all requests share. A clone is cheap and is the same state.
#[derive(Clone)]
pub(crate) struct Admin {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) records: Arc<dyn RecordStore>,
    pub(crate) directory: Arc<Directory>,
    pub(crate) themes: Option<ThemeVersions>,
    pub(crate) provider: Option<Arc<Provider>>,
    pub(crate) trusted_proxies: usize,
    pub(crate) audit_days: u64,
    pub(crate) require_totp: RequireTotp,
    pub(crate) streams: bool,
    pub(crate) sale_keys: Arc<SaleKeys>,
    pub(crate) trusted_headers: Arc<TrustedHeaders>,
    pub(crate) jobs: Option<Arc<JobQueues>>,
    /// Receives that wait for jobs.
    pub(crate) waiting_receives: OpenRequests,
    /// Held while a job queue is created.
    pub(crate) creating_job_queue: Arc<Mutex<()>>,
    pub(crate) passwords: Arc<PasswordHasher>,
    pub(crate) stats: StatsSources,
    pub(crate) stats_stream: Arc<StatsStream>,
    pub(crate) theme_work: Arc<ThemeWork>,
}

impl Admin {
    pub(crate) fn new(parts: AdminParts) -> Self {
        let AdminParts {
            store,
            records,
            directory,
            trusted_proxies,
            provider,
            themes,
            audit_days,
            require_totp,
            streams,
            sale_keys,
            trusted_headers,
            jobs,
        } = parts;
        let stats = StatsSources { store: store.clone(), records: records.clone(), directory: directory.clone() };
        Self {
            store,
            records,
            directory,
            themes,
            provider: provider.map(|config| Arc::new(Provider::new(config))),
            trusted_proxies,
            audit_days,
            require_totp,
            streams,
            sale_keys: Arc::new(sale_keys),
            trusted_headers: Arc::new(trusted_headers),
            jobs,
            waiting_receives: OpenRequests::default(),
            creating_job_queue: Arc::default(),
            passwords: Arc::default(),
            stats_stream: Arc::new(StatsStream::new(stats.clone())),
            stats,
            theme_work: Arc::default(),
        }
    }

    /// The store's clock.
    pub(crate) async fn now(&self) -> Result<Micros, StoreError> {
        self.records.now().await
    }

    /// The queues that the principal can view, by ID, for a list: one that can't be read is as it was cached, or missing.
    pub(crate) async fn visible_queues(&self, principal: &Principal) -> Result<Vec<Arc<Queue>>, StoreError> {
        self.directory.refresh_readable().await?;
        Ok(self.cached_queues(principal))
    }

    /// The cached queues that the principal can view, by ID.
    pub(crate) fn cached_queues(&self, principal: &Principal) -> Vec<Arc<Queue>> {
        let mut queues = self.directory.queues();
        queues.retain(|queue| principal.can_view(&queue.settings.tenant));
        queues
    }

    /// Reloads a queue that was written. Other processes find the change by its revision, and so does this one if the store
    /// does not respond now.
    pub(crate) async fn changed(&self, queue: &QueueId) {
        if let Err(error) = self.directory.reload(queue).await {
            warn!(%error, %queue, "a change was written, but could not be read back yet");
        }
    }

    /// Reloads the index of queues after a write. A failure is ignored: the index is read every few seconds anyway.
    pub(crate) async fn refreshed(&self) {
        if let Err(error) = self.directory.refresh().await {
            warn!(%error, "a change was written, but the index of queues could not be read again yet");
        }
    }
}

impl FromRequestParts<Admin> for Principal {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, admin: &Admin) -> Result<Self, Problem> {
        let proxies = admin.trusted_proxies;
        let https = request_origin(&parts.headers, None, proxies, &ClientAddressSource::default()).https;
        Self::of(parts, &*admin.records, https, admin.require_totp).await
    }
}
