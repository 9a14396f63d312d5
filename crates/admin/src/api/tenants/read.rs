use axum::Json;
use axum::extract::State;

use crate::access::Caller;
use crate::api::tenants::{TenantView, seen};
use crate::problem::Problem;
use crate::query::Segments;
use crate::state::Admin;

/// Get a tenant
#[utoipa::path(get, path = "/tenants/{tenant}", tag = "tenants", params(("tenant" = String, Path, description = "ID of the tenant")),
    responses((status = 200, description = "The tenant", body = TenantView)))]
pub(crate) async fn get_tenant(
    State(admin): State<Admin>,
    caller: Caller,
    Segments(id): Segments<String>,
) -> Result<Json<TenantView>, Problem> {
    Ok(Json(seen(&admin, &caller, &id).await?.into()))
}
