use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::{Principal, Token};
use crate::api::tokens::TokenView;
use crate::problem::Problem;
use crate::state::Admin;

/// API tokens.
#[derive(Serialize, ToSchema)]
pub(crate) struct Tokens {
    /// The tokens by ID.
    tokens: Vec<TokenView>,
}

/// List API tokens
///
/// Returns your own tokens; superusers see all.
#[utoipa::path(get, path = "/tokens", tag = "tokens", responses((status = 200, description = "The tokens", body = Tokens)))]
pub(crate) async fn list_tokens(State(admin): State<Admin>, principal: Principal) -> Result<Json<Tokens>, Problem> {
    let all = Token::all(&*admin.records).await?.into_iter();
    let visible = all.filter(|(_, token)| principal.is_superuser() || token.operator == principal.operator);
    Ok(Json(Tokens { tokens: visible.map(|(id, token)| TokenView::of(id, &token)).collect() }))
}
