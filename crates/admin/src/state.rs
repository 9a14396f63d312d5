//! What every operation works with.

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

/// What the backoffice is made of.
pub struct AdminParts {
    /// Keeps the lines, the queues and the tenants.
    pub store: Arc<dyn Store>,
    /// Keeps operators, tokens, sign-ins, the audit log and the history.
    pub records: Arc<dyn RecordStore>,
    /// Which queues stand in front of a host: of a gate in the same process, or one of its own.
    pub directory: Arc<Directory>,
    /// How many proxies in front are believed when they say where a request came from.
    pub trusted_proxies: usize,
    /// The identity provider that operators may sign in through.
    pub provider: Option<ProviderConfig>,
    /// Where themes are kept; `None` if nowhere.
    pub themes: Option<ThemeVersions>,
    /// Days for which audit events are kept; [`AUDIT_DAYS`](crate::AUDIT_DAYS) unless somebody says otherwise.
    pub audit_days: u64,
    /// Which operators need TOTP to sign in with a password.
    pub require_totp: RequireTotp,
    /// Whether answers can be streamed, so that numbers can be followed. A function's answers can't.
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

    /// Takes note in this process of what was written; others find it by its revision, and so does this one if the store
    /// does not respond now.
    pub(crate) async fn changed(&self, queue: &QueueId) {
        if let Err(error) = self.directory.reload(queue).await {
            warn!(%error, %queue, "a change was written, but could not be read back yet");
        }
    }

    /// Reads the index of queues again after a write, and goes on where that fails: it is read every few seconds anyway.
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
