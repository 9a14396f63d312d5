//! API tokens.

mod create;
mod list;
mod revoke;

use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vestibule_core::Micros;

use crate::access::{Role, Token, TokenLimit};
use crate::state::Admin;

pub(crate) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new().routes(routes!(list::list_tokens, create::create_token)).routes(routes!(revoke::revoke_token))
}

/// An API token, without its secret.
#[derive(Serialize, ToSchema)]
pub(crate) struct TokenView {
    /// Its public half.
    id: String,
    /// What it is for.
    name: String,
    /// Whose it is.
    operator: String,
    /// What it may, as long as its owner may.
    role: Role,
    /// The tenants that the role holds for; empty for all of its owner's.
    tenants: Vec<String>,
    /// What it is limited to; `null` for all that its role may.
    only: Option<TokenLimit>,
    /// When it was made, in seconds since 1970.
    created_at: u64,
    /// When it is good no more, in seconds since 1970.
    expires_at: u64,
    /// When it was used last, in seconds since 1970, give or take a minute; `null` if never.
    used_at: Option<u64>,
}

impl TokenView {
    fn of(id: String, token: &Token) -> Self {
        Self {
            id,
            name: token.name.clone(),
            operator: token.operator.to_string(),
            role: token.scope.role,
            tenants: token.scope.tenants.iter().map(ToString::to_string).collect(),
            only: token.only,
            created_at: token.created_at.seconds(),
            expires_at: token.expires_at.seconds(),
            used_at: token.used_at.map(Micros::seconds),
        }
    }
}
