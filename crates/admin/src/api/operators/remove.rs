use axum::extract::State;
use http::{HeaderMap, StatusCode};
use vestibule_core::records::RecordKind;

use crate::access::{Caller, Role, Token};
use crate::api::operators::{find, not_the_last};
use crate::audit::Deed;
use crate::confirmation::confirmed;
use crate::problem::{ErrorBody, Problem};
use crate::query::Segments;
use crate::state::Admin;
use crate::wording::Wording;

/// Removes an operator
///
/// With their API tokens; their sign-ins end at once. Asks for a confirmation.
#[utoipa::path(delete, path = "/operators/{operator}", tag = "operators",
    params(("operator" = String, Path, description = "Name of the operator"),
        ("X-Vestibule-Confirm" = Option<String>, Header, description = "The token that the first answer carried")),
    responses(
        (status = 204, description = "Removed"),
        (status = 409, description = "It is the last superuser", body = ErrorBody),
        (status = 428, description = "Is to be confirmed", body = ErrorBody),
    ))]
pub(crate) async fn remove_operator(
    State(admin): State<Admin>,
    caller: Caller,
    headers: HeaderMap,
    Segments(name): Segments<String>,
) -> Result<StatusCode, Problem> {
    caller.at_least(Role::Superuser)?;
    let (name, operator, revision) = find(&admin, &name).await?;
    if operator.scope.role == Role::Superuser {
        not_the_last(&admin, &name).await?;
    }
    let tokens: Vec<_> = Token::all(&*admin.records).await?.into_iter().filter(|(_, it)| it.operator == name).collect();
    let effect = || Wording::WillRemoveOperator.with("operator", name.as_str()).with("tokens", tokens.len());
    confirmed(&admin, &caller, &headers, &format!("operator.remove {name} {revision}"), effect).await?;
    admin.records.remove_record(RecordKind::Operators, name.as_str()).await?;
    for (id, _) in &tokens {
        admin.records.remove_record(RecordKind::Tokens, id).await?;
    }
    Deed::of(&caller, "operator.remove").subject(&name).with("tokens", tokens.len()).log(&admin).await;
    Ok(StatusCode::NO_CONTENT)
}
