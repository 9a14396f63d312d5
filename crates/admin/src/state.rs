//! What every operation works with.

use std::ops::Deref;
use std::sync::Arc;

use vestibule_core::records::Records;
use vestibule_core::{Micros, QueueId, Store, StoreError};
use vestibule_http::Directory;
use vestibule_themes::Publisher;

use crate::access::Passwords;
use crate::live::Live;
use crate::problem::Problem;
use crate::provider::{Provider, ProviderConfig};
use crate::themes::{Drawing, Previews};

/// What the backoffice is made of.
pub struct AdminParts {
    /// Keeps the lines, the queues and the tenants.
    pub store: Arc<dyn Store>,
    /// Keeps operators, tokens, sign-ins, the audit log and the history.
    pub records: Arc<dyn Records>,
    /// Which queues stand in front of a host: of a gate in the same process, or one of its own.
    pub directory: Arc<Directory>,
    /// How many proxies in front are believed when they say where a request came from.
    pub trusted_proxies: usize,
    /// The identity provider that operators may sign in through.
    pub provider: Option<ProviderConfig>,
    /// Where themes are kept; `None` if nowhere.
    pub themes: Option<Publisher>,
    /// Whether answers can be streamed, so that numbers can be followed. A function's answers can't.
    pub streams: bool,
}

/// The backoffice, shared by all requests.
#[derive(Clone)]
pub(crate) struct Admin(Arc<Inner>);

pub(crate) struct Inner {
    parts: AdminParts,
    pub(crate) passwords: Passwords,
    pub(crate) live: Live,
    pub(crate) provider: Option<Provider>,
    pub(crate) previews: Previews,
    pub(crate) drawing: Drawing,
}

impl Admin {
    pub(crate) fn new(parts: AdminParts) -> Self {
        let provider = parts.provider.clone().map(Provider::new);
        Self(Arc::new(Inner {
            parts,
            passwords: Passwords::default(),
            live: Live::default(),
            provider,
            previews: Previews::default(),
            drawing: Drawing::default(),
        }))
    }

    /// The store's clock.
    pub(crate) async fn now(&self) -> Result<Micros, StoreError> {
        self.records.now().await
    }

    /// Takes note in this process of what was written; others find it by its revision.
    pub(crate) async fn changed(&self, queue: &QueueId) -> Result<(), Problem> {
        self.directory.reload(queue).await?;
        Ok(())
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
