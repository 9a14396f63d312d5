use axum::extract::State;
use http::{HeaderMap, StatusCode};
use tracing::warn;
use vestibule_records::DocumentKind;

use crate::access::{Principal, Token};
use crate::api::operators::{find, not_the_last};
use crate::audit::AuditEventBuilder;
use crate::codes::Code;
use crate::confirmation::confirmed;
use crate::problem::Problem;
use crate::query::Segments;
use crate::state::Admin;

/// Remove an operator
///
/// Removes the operator with their API tokens and ends their sign-ins. Needs a confirmation. Requires a superuser who
/// signed in or confirmed the password within the last five minutes (`POST /sign-in/proof`). API tokens are not
/// accepted.
#[utoipa::path(delete, path = "/operators/{operator}", tag = "operators",
    params(("operator" = String, Path, description = "Name of the operator"),
        ("X-Vestibule-Confirm" = Option<String>, Header, description = "The confirmation token of the first response")),
    responses(
        (status = 204, description = "Removed"),
        (status = 409, description = "The last superuser"),
        (status = 428, description = "Confirmation required"),
    ))]
pub(crate) async fn remove_operator(
    State(admin): State<Admin>,
    principal: Principal,
    headers: HeaderMap,
    Segments(name): Segments<String>,
) -> Result<StatusCode, Problem> {
    principal.manages_operators(admin.now().await?)?;
    let (name, operator, revision) = find(&admin, &name).await?;
    if operator.is_superuser() {
        not_the_last(&admin, &name).await?;
    }
    let tokens: Vec<_> = Token::all(&*admin.records).await?.into_iter().filter(|(_, it)| it.operator == name).collect();
    let effect = || Code::WillRemoveOperator.with("operator", name.as_str()).with("tokens", tokens.len());
    confirmed(&admin, &principal, &headers, &format!("operator.remove {name} {revision}"), effect).await?;
    let event = AuditEventBuilder::of(&principal, "operator.remove").subject(&name).with("tokens", tokens.len());
    event.concluded(&admin, operator.remove(&*admin.records, &name, revision).await).await?;
    for (id, _) in &tokens {
        // A token whose owner is gone is worth nothing, whether or not its record goes now.
        if let Err(error) = admin.records.remove_document(DocumentKind::Tokens, id).await {
            warn!(%error, token = id, "the token of a removed operator could not be removed");
        }
    }
    Ok(StatusCode::NO_CONTENT)
}
