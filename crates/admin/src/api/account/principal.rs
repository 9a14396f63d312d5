use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;
use vestibule_core::TenantId;

use crate::access::{OperatorName, Principal, Role, Scope, Tenants, TotpStatus};
use crate::problem::Problem;

/// The current operator or token.
#[derive(Serialize, ToSchema)]
pub(crate) struct CurrentPrincipal {
    /// Name of the operator.
    operator: String,
    /// The effective role.
    role: Role,
    /// The accessible tenants; `null` for all.
    #[schema(value_type = Option<Vec<String>>)]
    tenants: Option<Vec<TenantId>>,
    /// ID of the API token.
    token: Option<String>,
    /// Latest end of the sign-in in seconds since 1970; `null` with a token.
    ends_at: Option<u64>,
    /// State of TOTP.
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
/// Returns the operator or token of the request with its permissions; `null` without a valid sign-in.
#[utoipa::path(get, path = "/sign-in", tag = "account", security(()),
    responses(
        (status = 200, description = "The current principal, or `null`", body = Option<CurrentPrincipal>),
        (status = 401, description = "The token is invalid, expired or revoked"),
        (status = 403, description = "The token is limited to other endpoints"),
    ))]
pub(crate) async fn get_current_principal(
    principal: Result<Principal, Problem>,
) -> Result<Json<Option<CurrentPrincipal>>, Problem> {
    let principal = match principal {
        Err(Problem::NotSignedIn) => return Ok(Json(None)),
        other => other?,
    };
    Ok(Json(Some(CurrentPrincipal {
        operator: principal.operator.to_string(),
        role: principal.role,
        tenants: listed(principal.tenants),
        token: principal.token,
        ends_at: principal.sign_in.map(|sign_in| sign_in.ends_at().seconds()),
        totp: principal.totp,
    })))
}
