//! Tenants.

mod create;
mod list;
mod read;
mod remove;
mod update;

use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vestibule_core::settings::{FieldError, Settings, Tenant};
use vestibule_core::{StoreError, TenantId};

use crate::access::Principal;
use crate::codes::Code;
use crate::problem::Problem;
use crate::state::Admin;

pub(crate) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new().routes(routes!(list::list_tenants, create::create_tenant)).routes(routes!(
        read::get_tenant,
        update::update_tenant,
        remove::remove_tenant
    ))
}

/// A client brand.
#[derive(Serialize, ToSchema)]
pub(crate) struct TenantView {
    /// Id of the tenant.
    id: String,
    /// Brand name shown to visitors.
    name: String,
    /// The brand's color as `#rrggbb`; `null` is the theme's own.
    color: Option<String>,
    /// Path of the logo within the theme; `null` shows the name.
    logo: Option<String>,
    /// Domains for hosts and cookies of its queues, including subdomains; `null` leaves them to superusers.
    domains: Option<Vec<String>>,
    /// Origins of its queues; `null` leaves them to superusers.
    origins: Option<Vec<String>>,
}

impl From<Tenant> for TenantView {
    fn from(tenant: Tenant) -> Self {
        let Tenant { id, name, color, logo, domains, origins } = tenant;
        let origins = origins.map(|origins| origins.into_iter().map(String::from).collect());
        Self { id: id.to_string(), name, color, logo, domains, origins }
    }
}

/// A new tenant.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes a body that is read field by field")]
pub(crate) struct TenantDraft {
    /// Id of the tenant.
    #[schema(pattern = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]
    id: String,
    /// Brand name shown to visitors.
    #[schema(min_length = 1, max_length = 120)]
    name: String,
    /// The brand's color.
    #[schema(pattern = "^#[0-9a-fA-F]{6}$")]
    color: Option<String>,
    /// Path of the logo within the theme.
    #[schema(max_length = 120)]
    logo: Option<String>,
    /// Domains for hosts and cookies of its queues, including subdomains. Without a list, only superusers set them.
    #[schema(max_items = 100)]
    domains: Option<Vec<String>>,
    /// Origins of its queues, such as `https://www.example.com` or `https://*.example.com`. Only an origin that is named
    /// to the letter may be in a private network. Without the list only superusers set origins.
    #[schema(max_items = 100)]
    origins: Option<Vec<String>>,
}

/// A JSON merge patch for a tenant.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes a body that is read field by field")]
pub(crate) struct TenantPatch {
    /// Brand name shown to visitors.
    #[schema(min_length = 1, max_length = 120, required = false, nullable = false)]
    name: Option<String>,
    /// The brand's color.
    #[schema(pattern = "^#[0-9a-fA-F]{6}$")]
    color: Option<String>,
    /// Path of the logo within the theme.
    #[schema(max_length = 120)]
    logo: Option<String>,
    /// Domains for hosts and cookies of its queues, including subdomains. Without a list, only superusers set them.
    #[schema(max_items = 100)]
    domains: Option<Vec<String>>,
    /// Origins of its queues, such as `https://www.example.com` or `https://*.example.com`. Only an origin that is named
    /// to the letter may be in a private network. Without the list only superusers set origins.
    #[schema(max_items = 100)]
    origins: Option<Vec<String>>,
}

/// What of its queues lies outside of what a tenant would allow, by queue and field.
pub(crate) fn outside<'a>(tenant: &Tenant, queues: impl Iterator<Item = &'a Settings>) -> Vec<FieldError> {
    let own = queues.filter(|queue| queue.tenant == tenant.id);
    let named = |queue: &'a Settings| {
        let refused = tenant.refusals(queue, None, true).into_iter();
        refused.map(|FieldError { field, fault }| FieldError::new(format!("{}.{field}", queue.id), fault))
    };
    own.flat_map(named).collect()
}

/// A tenant that the principal may see.
async fn find_visible(admin: &Admin, principal: &Principal, id: &str) -> Result<Tenant, Problem> {
    let unknown = || Problem::NotFound(Code::ATenant);
    let id: TenantId = id.parse().map_err(|_| unknown())?;
    find(admin, &id).await?.filter(|_| principal.can_view(&id)).ok_or_else(unknown)
}

async fn find(admin: &Admin, id: &TenantId) -> Result<Option<Tenant>, StoreError> {
    Ok(admin.store.tenants().await?.into_iter().find(|tenant| tenant.id == *id))
}
