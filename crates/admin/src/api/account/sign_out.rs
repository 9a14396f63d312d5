use axum::extract::State;
use axum::response::{AppendHeaders, IntoResponse};
use http::StatusCode;
use http::header::SET_COOKIE;

use crate::access::{Principal, set_cookie};
use crate::api::account::sign_in::ClientInfo;
use crate::audit::AuditEventBuilder;
use crate::problem::Problem;
use crate::state::Admin;

/// Sign out
///
/// Ends the sign-in of the cookie. Has no effect with an API token.
#[utoipa::path(delete, path = "/sign-in", tag = "account",
    responses((status = 204, description = "Signed out", headers(("Set-Cookie" = String)))))]
pub(crate) async fn sign_out(
    State(admin): State<Admin>,
    principal: Principal,
    client: ClientInfo,
) -> Result<impl IntoResponse, Problem> {
    if let Some(sign_in) = &principal.sign_in {
        sign_in.end(&*admin.records).await?;
        AuditEventBuilder::of(&principal, "account.sign_out").log(&admin).await;
    }
    Ok((StatusCode::NO_CONTENT, AppendHeaders([(SET_COOKIE, set_cookie(None, client.https()))])))
}
