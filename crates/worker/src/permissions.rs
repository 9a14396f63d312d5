//! What a tenant allows its job queues to call.

use vestibule_core::settings::{Origin, Reach, Tenant, is_own_address};
use vestibule_http_client::AddressCheck;

/// Whether an origin may be called, and at which addresses. Without its tenant there is nobody who allows an internal one.
pub(crate) fn permissions(tenant: Option<&Tenant>, origin: &Origin) -> (bool, Reach) {
    match tenant {
        Some(tenant) => (tenant.allows_origin(origin), tenant.reach(origin)),
        None => (true, Reach::Public),
    }
}

/// The check of the addresses that are connected to.
pub(crate) fn address_check(reach: Reach, is_function: bool) -> AddressCheck {
    AddressCheck::new(move |address| reach.allows(address) && !(is_function && is_own_address(address)))
}
