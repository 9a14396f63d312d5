use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde_json::Value;
use utoipa::ToSchema;

use crate::access::{Operator, OperatorName, Principal, Role, Scope};
use crate::api::operators::{OperatorView, password, password_set};
use crate::audit::AuditEventBuilder;
use crate::body::{JsonBody, read};
use crate::codes::Code;
use crate::merge_patch::differences;
use crate::problem::Problem;
use crate::state::Admin;

/// A new operator.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes a body that is read field by field")]
pub(crate) struct OperatorDraft {
    /// The name to sign in with.
    #[schema(pattern = "^[a-z0-9][a-z0-9._@-]{0,62}$")]
    name: String,
    /// The password. Without one the operator uses single sign-on, which must be configured.
    #[schema(format = Password, min_length = 12, max_length = 256)]
    password: Option<String>,
    /// The role.
    role: Role,
    /// The accessible tenants; empty for a superuser.
    #[schema(max_items = 100)]
    tenants: Option<Vec<String>>,
}

/// Create an operator
///
/// Requires a superuser who signed in or confirmed the password within the last five minutes (`POST /sign-in/proof`).
/// API tokens are not accepted.
#[utoipa::path(post, path = "/operators", tag = "operators", request_body = OperatorDraft,
    responses(
        (status = 201, description = "Created", body = OperatorView),
        (status = 409, description = "The name is in use"),
    ))]
pub(crate) async fn create_operator(
    State(admin): State<Admin>,
    principal: Principal,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<OperatorView>), Problem> {
    let now = admin.now().await?;
    principal.manages_operators(now)?;
    let (name, password, scope) = read(&body, |fields| {
        let name = fields.required("name", Code::OperatorName, |value| value.as_str()?.parse::<OperatorName>().ok());
        (name, password(fields, admin.provider.is_none()), Scope::read(fields, None))
    })?;
    let Some(name) = name else { return Err(Problem::NotFound(Code::AnOperator)) };
    let password = match password {
        Some(password) => Some(admin.passwords.hash(&password).await?),
        None => None,
    };
    let operator = Operator { scope, password, password_at: now, created_at: now, totp: None };
    let changes = differences(&Value::Null, &OperatorView::scope(Some(&operator)));
    let changes = changes.into_iter().chain(operator.password.as_ref().map(|_| password_set())).collect();
    let event = AuditEventBuilder::of(&principal, "operator.create").subject(&name).changes(changes);
    event.concluded(&admin, operator.store(&*admin.records, &name, 0).await).await?;
    Ok((StatusCode::CREATED, Json(OperatorView::of(&name, &operator))))
}
