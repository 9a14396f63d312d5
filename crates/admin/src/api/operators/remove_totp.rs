use axum::extract::State;
use http::StatusCode;

use crate::access::Principal;
use crate::api::operators::find;
use crate::audit::AuditEventBuilder;
use crate::problem::Problem;
use crate::query::Segments;
use crate::state::Admin;

/// Remove an operator's TOTP
///
/// For an operator who lost their phone and recovery codes: the next sign-in needs only the password. Requires a
/// superuser who signed in or confirmed the password within the last five minutes (`POST /sign-in/proof`). API tokens
/// are not accepted.
#[utoipa::path(delete, path = "/operators/{operator}/totp", tag = "operators",
    params(("operator" = String, Path, description = "Name of the operator")),
    responses(
        (status = 204, description = "TOTP is off"),
        (status = 409, description = "Someone else changed this operator at the same time"),
    ))]
pub(crate) async fn remove_operator_totp(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(name): Segments<String>,
) -> Result<StatusCode, Problem> {
    principal.manages_operators(admin.now().await?)?;
    let (name, mut operator, revision) = find(&admin, &name).await?;
    if operator.totp.take().is_some() {
        let stored = operator.store(&*admin.records, &name, revision).await;
        AuditEventBuilder::of(&principal, "operator.disable_totp").subject(&name).concluded(&admin, stored).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}
