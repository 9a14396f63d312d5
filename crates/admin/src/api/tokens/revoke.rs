use axum::extract::State;
use http::StatusCode;
use vestibule_core::records::DocumentKind;

use crate::access::{Caller, Token};
use crate::audit::AuditEventBuilder;
use crate::codes::Code;
use crate::problem::Problem;
use crate::query::Segments;
use crate::state::Admin;

/// Revoke an API token
///
/// One of the caller's own; a superuser any. It is good no more at once.
#[utoipa::path(delete, path = "/tokens/{token}", tag = "tokens",
    params(("token" = String, Path, description = "Public half of the token")),
    responses((status = 204, description = "Revoked")))]
pub(crate) async fn revoke_token(
    State(admin): State<Admin>,
    caller: Caller,
    Segments(id): Segments<String>,
) -> Result<StatusCode, Problem> {
    let found = Token::load(&*admin.records, &id).await?.map(|(token, _)| token);
    let token = found.filter(|token| caller.is_superuser() || token.operator == caller.operator);
    let token = token.ok_or(Problem::NotFound(Code::AToken))?;
    let event = AuditEventBuilder::of(&caller, "token.revoke").subject(&id).with("name", token.name);
    let event = event.with("operator", token.operator.to_string());
    event.written(&admin, admin.records.remove_document(DocumentKind::Tokens, &id).await).await?;
    Ok(StatusCode::NO_CONTENT)
}
