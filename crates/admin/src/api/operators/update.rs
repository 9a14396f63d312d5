use axum::Json;
use axum::extract::State;
use utoipa::ToSchema;

use crate::access::{Principal, Role, Scope};
use crate::api::operators::{OperatorView, find, password, password_set};
use crate::audit::AuditEventBuilder;
use crate::body::{JsonBody, read};
use crate::merge_patch::differences;
use crate::problem::Problem;
use crate::query::Segments;
use crate::state::Admin;

/// Changes to an operator. Absent fields stay unchanged.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes a body that is read field by field")]
pub(crate) struct OperatorPatch {
    /// A new password; ends all their sign-ins.
    #[schema(format = Password, min_length = 12, max_length = 256)]
    password: Option<String>,
    /// The role.
    role: Option<Role>,
    /// The accessible tenants.
    #[schema(max_items = 100)]
    tenants: Option<Vec<String>>,
}

/// Update an operator
///
/// Effective from their next request. A new password ends all their sign-ins. Requires a superuser who signed in or
/// confirmed the password within the last five minutes (`POST /sign-in/proof`). API tokens are not accepted.
#[utoipa::path(patch, path = "/operators/{operator}", tag = "operators", request_body = OperatorPatch,
    params(("operator" = String, Path, description = "Name of the operator")),
    responses(
        (status = 200, description = "The updated operator", body = OperatorView),
        (status = 409, description = "The last superuser, or someone else is changing the operator"),
    ))]
pub(crate) async fn update_operator(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(name): Segments<String>,
    JsonBody(body): JsonBody,
) -> Result<Json<OperatorView>, Problem> {
    principal.manages_operators(admin.now().await?)?;
    let (name, before, revision) = find(&admin, &name).await?;
    let (password, scope) = read(&body, |fields| (password(fields, false), Scope::read(fields, Some(&before.scope))))?;
    let mut after = before.clone();
    after.scope = scope;
    let mut changes = differences(&OperatorView::scope(Some(&before)), &OperatorView::scope(Some(&after)));
    if let Some(password) = password {
        after.password = Some(admin.passwords.hash(&password).await?);
        after.password_at = admin.now().await?;
        changes.push(password_set());
    }
    if !changes.is_empty() {
        let event = AuditEventBuilder::of(&principal, "operator.update").subject(&name).changes(changes);
        event.concluded(&admin, after.replace(&*admin.records, &name, (&before, revision)).await).await?;
    }
    Ok(Json(OperatorView::of(&name, &after)))
}
