use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde_json::{Value, json};
use vestibule_core::settings::Tenant;

use crate::access::{Caller, Role};
use crate::api::tenants::{TenantDraft, TenantView, find};
use crate::audit::Deed;
use crate::body::JsonBody;
use crate::change::differences;
use crate::problem::{ErrorBody, Problem};
use crate::state::Admin;
use crate::themes::refuse_missing_logo;
use crate::wording::Wording;

/// Creates a tenant
#[utoipa::path(post, path = "/tenants", tag = "tenants", request_body = TenantDraft,
    responses(
        (status = 201, description = "Created", body = TenantView),
        (status = 409, description = "There is a tenant of this id already", body = ErrorBody),
    ))]
pub(crate) async fn create_tenant(
    State(admin): State<Admin>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<TenantView>), Problem> {
    caller.at_least(Role::Superuser)?;
    let tenant = Tenant::from_value(&Value::Object(body)).map_err(Problem::WrongFields)?;
    if find(&admin, &tenant.id).await?.is_some() {
        return Err(Problem::Taken(Wording::ATenant));
    }
    refuse_missing_logo(&admin, &tenant).await?;
    let changes = differences(&Value::Null, &json!(tenant));
    let deed = Deed::of(&caller, "tenant.create").tenant(&tenant.id).changes(changes);
    deed.written(&admin, admin.store.put_tenant(&tenant).await).await?;
    Ok((StatusCode::CREATED, Json(tenant.into())))
}
