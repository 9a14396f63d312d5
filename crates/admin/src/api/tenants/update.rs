use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};
use vestibule_core::settings::Tenant;

use crate::access::Caller;
use crate::api::tenants::{TenantPatch, TenantView, outside, seen};
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
/// By a JSON merge patch. Pages show it within seconds. Only superusers change `domains` and `origins`, and to lists that
/// all queues of the tenant are within.
#[utoipa::path(patch, path = "/tenants/{tenant}", tag = "tenants", params(("tenant" = String, Path, description = "ID of the tenant")),
    request_body = TenantPatch,
    responses(
        (status = 200, description = "The tenant as it is now", body = TenantView),
        (status = 409, description = "Queues of the tenant are outside of the lists"),
    ))]
pub(crate) async fn update_tenant(
    State(admin): State<Admin>,
    caller: Caller,
    Segments(id): Segments<String>,
    JsonBody(patch): JsonBody,
) -> Result<Json<TenantView>, Problem> {
    let before = seen(&admin, &caller, &id).await?;
    caller.operates(&before.id)?;
    let mut document = json!(before);
    merge(&mut document, &Value::Object(patch));
    let tenant = Tenant::from_value(&document).map_err(Problem::ValidationFailed)?;
    if tenant.id != before.id {
        return Err(wrong("id", Code::Immutable));
    }
    for (field, changed) in
        [("domains", tenant.domains != before.domains), ("origins", tenant.origins != before.origins)]
    {
        if changed && !caller.is_superuser() {
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
        let event = AuditEventBuilder::of(&caller, "tenant.update").tenant(&tenant.id).changes(changes);
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
