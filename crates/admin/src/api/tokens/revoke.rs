use axum::extract::State;
use http::StatusCode;
use vestibule_records::DocumentKind;

use crate::access::{Principal, Token};
use crate::audit::AuditEventBuilder;
use crate::codes::Code;
use crate::problem::Problem;
use crate::query::Segments;
use crate::state::Admin;

/// Revoke an API token
///
/// Revokes one of your own tokens; superusers can revoke any. Effective immediately.
#[utoipa::path(delete, path = "/tokens/{token}", tag = "tokens",
    params(("token" = String, Path, description = "ID of the token")),
    responses((status = 204, description = "Revoked")))]
pub(crate) async fn revoke_token(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
) -> Result<StatusCode, Problem> {
    let found = Token::load(&*admin.records, &id).await?.map(|(token, _)| token);
    let token = found.filter(|token| principal.is_superuser() || token.operator == principal.operator);
    let token = token.ok_or(Problem::NotFound(Code::AToken))?;
    let event = AuditEventBuilder::of(&principal, "token.revoke").subject(&id).with("name", token.name);
    let event = event.with("operator", token.operator.to_string());
    event.written(&admin, admin.records.remove_document(DocumentKind::Tokens, &id).await).await?;
    Ok(StatusCode::NO_CONTENT)
}
