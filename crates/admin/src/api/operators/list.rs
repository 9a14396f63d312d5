use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::{Operator, Principal, Role};
use crate::api::operators::OperatorView;
use crate::problem::Problem;
use crate::state::Admin;

/// All operators.
#[derive(Serialize, ToSchema)]
pub(crate) struct Operators {
    /// The operators by name.
    operators: Vec<OperatorView>,
}

/// List operators
#[utoipa::path(get, path = "/operators", tag = "operators",
    responses((status = 200, description = "The operators", body = Operators)))]
pub(crate) async fn list_operators(
    State(admin): State<Admin>,
    principal: Principal,
) -> Result<Json<Operators>, Problem> {
    principal.at_least(Role::Superuser)?;
    let all = Operator::all(&*admin.records).await?;
    let operators = all.iter().map(|(name, operator, _)| OperatorView::of(name, operator)).collect();
    Ok(Json(Operators { operators }))
}
