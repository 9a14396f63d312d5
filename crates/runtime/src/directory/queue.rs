//! A cached queue.

use std::collections::HashMap;
use std::sync::Arc;

use vestibule_core::TenantId;
use vestibule_core::settings::{Settings, Tenant};

/// A cached queue.
#[derive(Debug)]
pub struct Queue {
    /// The settings.
    pub settings: Settings,
    /// The tenant, if the store has it.
    pub tenant: Option<Arc<Tenant>>,
    /// Name of the ticket cookie.
    pub cookie_name: String,
}

impl Queue {
    /// The same queue with other settings.
    #[must_use]
    pub fn with(&self, settings: Settings) -> Self {
        Self { settings, tenant: self.tenant.clone(), cookie_name: self.cookie_name.clone() }
    }
}

pub(super) fn queue_of(settings: Settings, tenants: &HashMap<TenantId, Arc<Tenant>>) -> Arc<Queue> {
    let tenant = tenants.get(&settings.tenant).cloned();
    let cookie_name = format!("vestibule_{}", settings.id);
    Arc::new(Queue { settings, tenant, cookie_name })
}
