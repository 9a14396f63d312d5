use axum::Json;
use axum::extract::State;
use utoipa::ToSchema;

use crate::access::{Caller, Role, Scope};
use crate::api::operators::{OperatorView, find, password, password_set};
use crate::audit::AuditEventBuilder;
use crate::body::{JsonBody, read};
use crate::merge_patch::differences;
use crate::problem::Problem;
use crate::query::Segments;
use crate::state::Admin;

/// What is to be changed of an operator. What is absent stays.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes a body that is read field by field")]
pub(crate) struct OperatorPatch {
    /// A new password; ends all their sign-ins.
    #[schema(format = Password, min_length = 12, max_length = 256)]
    password: Option<String>,
    /// What they may.
    role: Option<Role>,
    /// The tenants that the role holds for.
    #[schema(max_items = 100)]
    tenants: Option<Vec<String>>,
}

/// Update an operator
///
/// In force on their next request. A new password ends all their sign-ins. Takes a superuser who signed in and gave their
/// password within the last five minutes (`POST /sign-in/proof`); API tokens can't do this.
#[utoipa::path(patch, path = "/operators/{operator}", tag = "operators", request_body = OperatorPatch,
    params(("operator" = String, Path, description = "Name of the operator")),
    responses(
        (status = 200, description = "The operator as it is now", body = OperatorView),
        (status = 409, description = "It is the last superuser, or is changed by somebody else right now"),
    ))]
pub(crate) async fn update_operator(
    State(admin): State<Admin>,
    caller: Caller,
    Segments(name): Segments<String>,
    JsonBody(body): JsonBody,
) -> Result<Json<OperatorView>, Problem> {
    caller.manages_operators(admin.now().await?)?;
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
        let event = AuditEventBuilder::of(&caller, "operator.update").subject(&name).changes(changes);
        event.concluded(&admin, after.replace(&*admin.records, &name, (&before, revision)).await).await?;
    }
    Ok(Json(OperatorView::of(&name, &after)))
}
