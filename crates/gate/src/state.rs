//! What all requests share.

use std::sync::Arc;

use vestibule_core::{PassSigner, Store, TicketSigner};
use vestibule_http::{Directory, StoreClock};
use vestibule_themes::Themes;

use crate::pass::PassCache;
use crate::proxy::{Proxy, ProxyLimits};
use crate::throttle::Throttle;

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
    pub(crate) trusted_proxies: usize,
    pub(crate) proxy: Proxy,
    pub(crate) clock: StoreClock,
    pub(crate) store_failures: Throttle,
    pub(crate) unknown_hosts: Throttle,
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
            trusted_proxies: parts.trusted_proxies,
            proxy: Proxy::new(parts.proxy),
            clock: StoreClock::default(),
            store_failures: Throttle::new(),
            unknown_hosts: Throttle::new(),
        }))
    }
}

impl std::ops::Deref for Gate {
    type Target = GateState;

    fn deref(&self) -> &GateState {
        &self.0
    }
}
