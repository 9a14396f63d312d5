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
    /// Names of the ticket cookie: the plain one, and the one that only this host can set.
    pub ticket_cookies: [String; 2],
}

impl Queue {
    /// Names of the cookies that can hold a ticket in a request; the first is the one to set. Over https without a cookie domain that is
    /// the one that only this host can set, alone: another host of the domain can set the plain one.
    pub fn accepted_ticket_cookies(&self, https: bool) -> &[String] {
        let is_host_only = https && self.settings.cookie_domain.is_none();
        &self.ticket_cookies[usize::from(is_host_only)..]
    }

    /// The same queue with other settings.
    #[must_use]
    pub fn with(&self, settings: Settings) -> Self {
        Self { settings, tenant: self.tenant.clone(), ticket_cookies: self.ticket_cookies.clone() }
    }
}

pub(super) fn queue_of(settings: Settings, tenants: &HashMap<TenantId, Arc<Tenant>>) -> Arc<Queue> {
    let tenant = tenants.get(&settings.tenant).cloned();
    let cookie = format!("vestibule_{}", settings.id);
    let ticket_cookies = [cookie.clone(), format!("{HOST_ONLY}{cookie}")];
    Arc::new(Queue { settings, tenant, ticket_cookies })
}
