use axum::extract::State;
use http::{HeaderMap, StatusCode};

use crate::access::{Principal, Role};
use crate::api::tenants::find_visible;
use crate::audit::AuditEventBuilder;
use crate::codes::Code;
use crate::confirmation::confirmed;
use crate::problem::Problem;
use crate::query::Segments;
use crate::state::Admin;

/// Remove a tenant
///
/// Only a tenant without queues can be removed. Needs a confirmation.
#[utoipa::path(delete, path = "/tenants/{tenant}", tag = "tenants",
    params(("tenant" = String, Path, description = "ID of the tenant"),
        ("X-Vestibule-Confirm" = Option<String>, Header, description = "The confirmation token of the first response")),
    responses(
        (status = 204, description = "Removed"),
        (status = 409, description = "The tenant has queues"),
        (status = 428, description = "Confirmation required"),
    ))]
pub(crate) async fn remove_tenant(
    State(admin): State<Admin>,
    principal: Principal,
    headers: HeaderMap,
    Segments(id): Segments<String>,
) -> Result<StatusCode, Problem> {
    principal.at_least(Role::Superuser)?;
    let tenant = find_visible(&admin, &principal, &id).await?;
    admin.directory.refresh().await?;
    let queues = admin.directory.queues();
    let mut own: Vec<_> =
        queues.iter().filter(|it| it.settings.tenant == tenant.id).map(|it| &it.settings.id).collect();
    own.sort();
    if !own.is_empty() {
        let names: Vec<String> = own.iter().map(|id| format!("\"{id}\"")).collect();
        return Err(Problem::NotEmpty(names.join(", ")));
    }
    let effect = || Code::WillRemoveTenant.with("tenant", tenant.id.as_str());
    confirmed(&admin, &principal, &headers, &format!("tenant.remove {}", tenant.id), effect).await?;
    let event = AuditEventBuilder::of(&principal, "tenant.remove").tenant(&tenant.id);
    event.written(&admin, admin.store.remove_tenant(&tenant.id).await).await?;
    Ok(StatusCode::NO_CONTENT)
}
