use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};
use vestibule_core::settings::Tenant;

use crate::access::Principal;
use crate::api::tenants::{TenantPatch, TenantView, find_visible, outside};
use crate::audit::AuditEventBuilder;
use crate::body::{JsonBody, wrong};
use crate::codes::Code;
use crate::merge_patch::{differences, merge};
use crate::problem::Problem;
use crate::query::Segments;
use crate::state::Admin;
use crate::themes::refuse_missing_logo;

/// Update a tenant
///
/// Applies a JSON merge patch. Pages show it within seconds. Only superusers can change `domains` and `origins`, and
/// only to lists that cover all queues of the tenant.
#[utoipa::path(patch, path = "/tenants/{tenant}", tag = "tenants", params(("tenant" = String, Path, description = "ID of the tenant")),
    request_body = TenantPatch,
    responses(
        (status = 200, description = "The updated tenant", body = TenantView),
        (status = 409, description = "Queues of the tenant use values that the lists do not allow"),
    ))]
pub(crate) async fn update_tenant(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
    JsonBody(patch): JsonBody,
) -> Result<Json<TenantView>, Problem> {
    let before = find_visible(&admin, &principal, &id).await?;
    principal.can_edit(&before.id)?;
    let mut document = json!(before);
    merge(&mut document, &Value::Object(patch));
    let tenant = Tenant::from_value(&document).map_err(Problem::ValidationFailed)?;
    if tenant.id != before.id {
        return Err(wrong("id", Code::Immutable));
    }
    for (field, changed) in
        [("domains", tenant.domains != before.domains), ("origins", tenant.origins != before.origins)]
    {
        if changed && !principal.is_superuser() {
            return Err(wrong(field, Code::SuperuserOnly));
        }
        if changed {
            refuse_if_outside(&admin, &tenant).await?;
        }
    }
    if tenant.logo != before.logo {
        refuse_missing_logo(&admin, &tenant).await?;
    }
    let changes = differences(&json!(before), &json!(tenant));
    if !changes.is_empty() {
        let event = AuditEventBuilder::of(&principal, "tenant.update").tenant(&tenant.id).changes(changes);
        event.written(&admin, admin.store.put_tenant(&tenant).await).await?;
    }
    Ok(Json(tenant.into()))
}

async fn refuse_if_outside(admin: &Admin, tenant: &Tenant) -> Result<(), Problem> {
    admin.directory.refresh().await?;
    let queues = admin.directory.queues();
    let found = outside(tenant, queues.iter().map(|queue| &queue.settings));
    if found.is_empty() { Ok(()) } else { Err(Problem::QueuesOutside(found)) }
}
