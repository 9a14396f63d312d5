use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde_json::{Value, json};
use vestibule_core::settings::Tenant;

use crate::access::{Principal, Role};
use crate::api::tenants::{TenantDraft, TenantView, find};
use crate::audit::AuditEventBuilder;
use crate::body::JsonBody;
use crate::codes::Code;
use crate::merge_patch::differences;
use crate::problem::Problem;
use crate::state::Admin;
use crate::themes::refuse_missing_logo;

/// Create a tenant
#[utoipa::path(post, path = "/tenants", tag = "tenants", request_body = TenantDraft,
    responses(
        (status = 201, description = "Created", body = TenantView),
        (status = 409, description = "The ID is in use"),
    ))]
pub(crate) async fn create_tenant(
    State(admin): State<Admin>,
    principal: Principal,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<TenantView>), Problem> {
    principal.at_least(Role::Superuser)?;
    let tenant = Tenant::from_value(&Value::Object(body)).map_err(Problem::ValidationFailed)?;
    if find(&admin, &tenant.id).await?.is_some() {
        return Err(Problem::AlreadyExists(Code::ATenant));
    }
    refuse_missing_logo(&admin, &tenant).await?;
    let changes = differences(&Value::Null, &json!(tenant));
    let event = AuditEventBuilder::of(&principal, "tenant.create").tenant(&tenant.id).changes(changes);
    event.written(&admin, admin.store.put_tenant(&tenant).await).await?;
    Ok((StatusCode::CREATED, Json(tenant.into())))
}
