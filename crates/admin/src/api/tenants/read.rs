use axum::Json;
use axum::extract::State;

use crate::access::Principal;
use crate::api::tenants::{TenantView, find_visible};
use crate::problem::Problem;
use crate::query::Segments;
use crate::state::Admin;

/// Get a tenant
#[utoipa::path(get, path = "/tenants/{tenant}", tag = "tenants", params(("tenant" = String, Path, description = "ID of the tenant")),
    responses((status = 200, description = "The tenant", body = TenantView)))]
pub(crate) async fn get_tenant(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
) -> Result<Json<TenantView>, Problem> {
    Ok(Json(find_visible(&admin, &principal, &id).await?.into()))
}
