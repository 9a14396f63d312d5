//! The state that all operations share.

use std::ops::Deref;
use std::sync::Arc;

use tracing::warn;
use vestibule_core::{Micros, QueueId, Store, StoreError};
use vestibule_records::RecordStore;
use vestibule_runtime::Directory;
use vestibule_themes::ThemeVersions;

use crate::access::{PasswordHasher, RequireTotp};
use crate::oidc::{Provider, ProviderConfig};
use crate::stats::StatsSources;
use crate::stats_stream::StatsStream;
use crate::themes::{PreviewCache, RenderLimiter, Unpacking};

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
}

/// The backoffice, shared by all requests.
#[derive(Clone)]
pub(crate) struct Admin(Arc<Inner>);

pub(crate) struct Inner {
    parts: AdminParts,
    pub(crate) passwords: PasswordHasher,
    pub(crate) stats: StatsSources,
    pub(crate) stats_stream: StatsStream,
    pub(crate) provider: Option<Provider>,
    pub(crate) preview_cache: PreviewCache,
    pub(crate) render_limiter: RenderLimiter,
    pub(crate) unpacking: Unpacking,
}

impl Admin {
    pub(crate) fn new(parts: AdminParts) -> Self {
        let provider = parts.provider.clone().map(Provider::new);
        let stats = StatsSources {
            store: parts.store.clone(),
            records: parts.records.clone(),
            directory: parts.directory.clone(),
        };
        Self(Arc::new(Inner {
            parts,
            passwords: PasswordHasher::default(),
            stats_stream: StatsStream::new(stats.clone()),
            stats,
            provider,
            preview_cache: PreviewCache::default(),
            render_limiter: RenderLimiter::default(),
            unpacking: Unpacking::default(),
        }))
    }

    /// The store's clock.
    pub(crate) async fn now(&self) -> Result<Micros, StoreError> {
        self.records.now().await
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

impl Deref for Inner {
    type Target = AdminParts;

    fn deref(&self) -> &AdminParts {
        &self.parts
    }
}

impl Deref for Admin {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}
