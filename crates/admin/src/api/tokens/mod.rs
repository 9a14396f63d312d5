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
    /// ID of the token.
    id: String,
    /// Purpose of the token.
    name: String,
    /// The owner.
    operator: String,
    /// The role, limited by that of its owner.
    role: Role,
    /// The accessible tenants; empty for all of the owner.
    tenants: Vec<String>,
    /// Limit of the token; `null` for none.
    only: Option<TokenLimit>,
    /// Creation time in seconds since 1970.
    created_at: u64,
    /// Expiry in seconds since 1970.
    expires_at: u64,
    /// Last use in seconds since 1970, accurate to a minute; `null` if never.
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
