use axum::extract::State;
use http::StatusCode;

use crate::access::Caller;
use crate::api::operators::find;
use crate::audit::AuditEventBuilder;
use crate::problem::Problem;
use crate::query::Segments;
use crate::state::Admin;

/// Remove an operator's TOTP
///
/// For an operator who lost their phone and their recovery codes: their next sign-in takes the password alone. Takes a
/// superuser who signed in and gave their password within the last five minutes (`POST /sign-in/proof`); API tokens can't do
/// this.
#[utoipa::path(delete, path = "/operators/{operator}/totp", tag = "operators",
    params(("operator" = String, Path, description = "Name of the operator")),
    responses(
        (status = 204, description = "The operator has no TOTP"),
        (status = 409, description = "Someone else changed this operator at the same time"),
    ))]
pub(crate) async fn remove_operator_totp(
    State(admin): State<Admin>,
    caller: Caller,
    Segments(name): Segments<String>,
) -> Result<StatusCode, Problem> {
    caller.manages_operators(admin.now().await?)?;
    let (name, mut operator, revision) = find(&admin, &name).await?;
    if operator.totp.take().is_some() {
        let stored = operator.store(&*admin.records, &name, revision).await;
        AuditEventBuilder::of(&caller, "operator.disable_totp").subject(&name).concluded(&admin, stored).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}
