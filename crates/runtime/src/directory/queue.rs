//! A cached queue.

use std::collections::HashMap;
use std::sync::Arc;

use vestibule_core::TenantId;
use vestibule_core::settings::{Settings, Tenant};

/// Browsers accept a cookie with this prefix only over https from the host itself, so that no other host can set it.
const HOST_ONLY: &str = "__Host-";

/// A cached queue.
#[derive(Debug)]
pub struct Queue {
    /// The settings.
    pub settings: Settings,
    /// The tenant, if the store has it.
    pub tenant: Option<Arc<Tenant>>,
    /// Names of the ticket cookie: the one that only this host can set, and the one where that can't be had, because the visitor came by
    /// http or the queue has a cookie domain.
    pub ticket_cookies: [String; 2],
}

impl Queue {
    /// The same queue with other settings.
    #[must_use]
    pub fn with(&self, settings: Settings) -> Self {
        Self { settings, tenant: self.tenant.clone(), ticket_cookies: self.ticket_cookies.clone() }
    }
}

pub(super) fn queue_of(settings: Settings, tenants: &HashMap<TenantId, Arc<Tenant>>) -> Arc<Queue> {
    let tenant = tenants.get(&settings.tenant).cloned();
    let cookie = format!("vestibule_{}", settings.id);
    let ticket_cookies = [format!("{HOST_ONLY}{cookie}"), cookie];
    Arc::new(Queue { settings, tenant, ticket_cookies })
}
