use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;
use vestibule_core::TenantId;

use crate::access::{Caller, OperatorName, Role, Scope, Tenants, TotpStatus};
use crate::problem::Problem;

/// Who asks, and what they may.
#[derive(Serialize, ToSchema)]
pub(crate) struct CurrentPrincipal {
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
    /// Whether they have TOTP, the second factor of a sign-in with a password.
    totp: TotpStatus,
}

impl CurrentPrincipal {
    pub(crate) fn of(operator: &OperatorName, scope: &Scope, totp: TotpStatus) -> Self {
        let tenants = listed(scope.tenants());
        Self { operator: operator.to_string(), role: scope.role, tenants, token: None, ends_at: None, totp }
    }
}

fn listed(tenants: Tenants) -> Option<Vec<TenantId>> {
    match tenants {
        Tenants::All => None,
        Tenants::These(these) => Some(these),
    }
}

/// Get the current principal
///
/// Says who asks and what they may; `null` for nobody, or by a sign-in that has ended.
#[utoipa::path(get, path = "/sign-in", tag = "account", security(()),
    responses(
        (status = 200, description = "Who asks", body = Option<CurrentPrincipal>),
        (status = 401, description = "By a token that is good no more"),
        (status = 403, description = "By a token that is limited to something else"),
    ))]
pub(crate) async fn get_current_principal(
    caller: Result<Caller, Problem>,
) -> Result<Json<Option<CurrentPrincipal>>, Problem> {
    let caller = match caller {
        Err(Problem::NotSignedIn) => return Ok(Json(None)),
        other => other?,
    };
    Ok(Json(Some(CurrentPrincipal {
        operator: caller.operator.to_string(),
        role: caller.role,
        tenants: listed(caller.tenants),
        token: caller.token,
        ends_at: caller.sign_in.map(|sign_in| sign_in.ends_at().seconds()),
        totp: caller.totp,
    })))
}
