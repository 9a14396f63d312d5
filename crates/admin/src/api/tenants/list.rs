use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::Caller;
use crate::api::tenants::TenantView;
use crate::problem::Problem;
use crate::state::Admin;

/// All tenants that the caller may see.
#[derive(Serialize, ToSchema)]
pub(crate) struct Tenants {
    /// The tenants by id.
    tenants: Vec<TenantView>,
}

/// List tenants
///
/// Those that the caller may see, by id.
#[utoipa::path(get, path = "/tenants", tag = "tenants",
    responses((status = 200, description = "The tenants", body = Tenants)))]
pub(crate) async fn list_tenants(State(admin): State<Admin>, caller: Caller) -> Result<Json<Tenants>, Problem> {
    let all = admin.store.tenants().await?;
    let tenants = all.into_iter().filter(|tenant| caller.sees(&tenant.id)).map(TenantView::from).collect();
    Ok(Json(Tenants { tenants }))
}
