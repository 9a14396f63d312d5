//! What a tenant allows its job queues to call.

use vestibule_core::settings::{Origin, Reach, Tenant};

/// Whether an origin may be called, and at which addresses. Without its tenant there is nobody who allows an internal one.
pub(crate) fn permissions(tenant: Option<&Tenant>, origin: &Origin) -> (bool, Reach) {
    match tenant {
        Some(tenant) => (tenant.allows_origin(origin), tenant.reach(origin)),
        None => (true, Reach::Public),
    }
}
