use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::Principal;
use crate::api::tenants::TenantView;
use crate::problem::Problem;
use crate::state::Admin;

/// A list of tenants.
#[derive(Serialize, ToSchema)]
pub(crate) struct Tenants {
    /// The tenants by id.
    tenants: Vec<TenantView>,
}

/// List tenants
///
/// Returns the tenants that you have access to, by ID.
#[utoipa::path(get, path = "/tenants", tag = "tenants",
    responses((status = 200, description = "The tenants", body = Tenants)))]
pub(crate) async fn list_tenants(State(admin): State<Admin>, principal: Principal) -> Result<Json<Tenants>, Problem> {
    let all = admin.store.tenants().await?;
    let tenants = all.into_iter().filter(|tenant| principal.can_view(&tenant.id)).map(TenantView::from).collect();
    Ok(Json(Tenants { tenants }))
}
