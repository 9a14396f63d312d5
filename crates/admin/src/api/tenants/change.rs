use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};
use vestibule_core::settings::Tenant;

use crate::access::Caller;
use crate::api::tenants::{TenantPatch, TenantView, seen};
use crate::audit::Deed;
use crate::body::{JsonBody, wrong};
use crate::change::{differences, merge};
use crate::problem::Problem;
use crate::query::Segments;
use crate::state::Admin;
use crate::wording::Wording;

/// Changes a tenant
///
/// By a JSON merge patch. Pages show it within seconds.
#[utoipa::path(patch, path = "/tenants/{tenant}", tag = "tenants", params(("tenant" = String, Path, description = "Id of the tenant")),
    request_body = TenantPatch, responses((status = 200, description = "The tenant as it is now", body = TenantView)))]
pub(crate) async fn change_tenant(
    State(admin): State<Admin>,
    caller: Caller,
    Segments(id): Segments<String>,
    JsonBody(patch): JsonBody,
) -> Result<Json<TenantView>, Problem> {
    let before = seen(&admin, &caller, &id).await?;
    caller.operates(&before.id)?;
    let mut document = json!(before);
    merge(&mut document, &Value::Object(patch));
    let tenant = Tenant::from_value(&document).map_err(Problem::WrongFields)?;
    if tenant.id != before.id {
        return Err(wrong("id", Wording::Fixed));
    }
    let changes = differences(&json!(before), &json!(tenant));
    if !changes.is_empty() {
        admin.store.put_tenant(&tenant).await?;
        Deed::of(&caller, "tenant.change").tenant(&tenant.id).changes(changes).log(&admin).await;
    }
    Ok(Json(tenant.into()))
}
