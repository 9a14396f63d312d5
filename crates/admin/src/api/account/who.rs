use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;
use vestibule_core::TenantId;

use crate::access::{Caller, OperatorName, Role, Scope, Tenants};

/// Who asks, and what they may.
#[derive(Serialize, ToSchema)]
pub(crate) struct Account {
    /// Name of the operator.
    operator: String,
    /// What they may; a token may less than its owner.
    role: Role,
    /// The tenants that the role holds for; `null` for all.
    #[schema(value_type = Option<Vec<String>>)]
    tenants: Option<Vec<TenantId>>,
    /// Public half of the API token that was used.
    token: Option<String>,
    /// When the sign-in ends at the latest, in seconds since 1970; `null` with a token.
    ends_at: Option<u64>,
}

impl Account {
    pub(crate) fn of(operator: &OperatorName, scope: &Scope) -> Self {
        let tenants = listed(scope.tenants());
        Self { operator: operator.to_string(), role: scope.role, tenants, token: None, ends_at: None }
    }
}

fn listed(tenants: Tenants) -> Option<Vec<TenantId>> {
    match tenants {
        Tenants::All => None,
        Tenants::These(these) => Some(these),
    }
}

/// Who am I
///
/// Says who asks and what they may.
#[utoipa::path(get, path = "/sign-in", tag = "account",
    responses((status = 200, description = "Who asks", body = Account)))]
pub(crate) async fn who_am_i(caller: Caller) -> Json<Account> {
    Json(Account {
        operator: caller.operator.to_string(),
        role: caller.role,
        tenants: listed(caller.tenants),
        token: caller.token,
        ends_at: caller.sign_in.map(|sign_in| sign_in.ends_at().seconds()),
    })
}
