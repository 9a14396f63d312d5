use axum::Json;
use axum::extract::State;

use crate::access::{Principal, Role};
use crate::api::operators::{OperatorView, find};
use crate::problem::Problem;
use crate::query::Segments;
use crate::state::Admin;

/// Get an operator
#[utoipa::path(get, path = "/operators/{operator}", tag = "operators",
    params(("operator" = String, Path, description = "Name of the operator")),
    responses((status = 200, description = "The operator", body = OperatorView)))]
pub(crate) async fn get_operator(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(name): Segments<String>,
) -> Result<Json<OperatorView>, Problem> {
    principal.at_least(Role::Superuser)?;
    let (name, operator, _) = find(&admin, &name).await?;
    Ok(Json(OperatorView::of(&name, &operator)))
}
