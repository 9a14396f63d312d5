use axum::extract::State;
use axum::response::{AppendHeaders, IntoResponse};
use http::StatusCode;
use http::header::SET_COOKIE;
use serde_json::Value;
use utoipa::ToSchema;

use crate::access::{Operator, PASSWORD_MAX, Principal, SignIn, SignInThrottle, is_password, set_cookie};
use crate::api::account::sign_in::ClientInfo;
use crate::audit::AuditEventBuilder;
use crate::body::{JsonBody, read, wrong};
use crate::codes::Code;
use crate::problem::Problem;
use crate::state::Admin;

/// A password change.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes a body that is read field by field")]
pub(crate) struct PasswordChange {
    /// The current password.
    #[schema(format = Password, max_length = 256)]
    current: String,
    /// The new password.
    #[schema(format = Password, min_length = 12, max_length = 256)]
    new: String,
}

/// Change your password
///
/// Ends all other sign-ins of this operator. API tokens are not accepted.
#[utoipa::path(put, path = "/sign-in/password", tag = "account", request_body = PasswordChange,
    responses(
        (status = 204, description = "Changed", headers(("Set-Cookie" = String))),
        (status = 409, description = "Someone else changed this operator at the same time"),
        (status = 429, description = "Too many attempts; `Retry-After` says when to try again"),
    ))]
pub(crate) async fn change_password(
    State(admin): State<Admin>,
    principal: Principal,
    client: ClientInfo,
    JsonBody(body): JsonBody<4096>,
) -> Result<impl IntoResponse, Problem> {
    let text = |value: &Value| value.as_str().filter(|text| text.len() <= PASSWORD_MAX).map(str::to_owned);
    let (current, new) = read(&body, |fields| {
        let current = fields.secret("current", true, Code::Password, text);
        (current, fields.secret("new", true, Code::NewPassword, |value| text(value).filter(|text| is_password(text))))
    })?;
    let (Some(current), Some(new)) = (current, new) else { return Err(Problem::WrongPassword) };
    let Some(sign_in) = &principal.sign_in else { return Err(Problem::PermissionDenied(Code::SignedInOperator)) };
    let (records, now) = (&*admin.records, admin.now().await?);
    let throttle = SignInThrottle::of(&principal.operator, client.address());
    throttle.attempt(records, now).await?;
    let found = Operator::load(records, &principal.operator).await?;
    let Some((mut operator, revision)) = found else { return Err(Problem::CredentialInvalid) };
    if !admin.passwords.matches(&current, operator.password.clone()).await? {
        return Err(wrong("current", Code::NotThePassword));
    }
    throttle.succeeded(records).await?;
    operator.password = Some(admin.passwords.hash(&new).await?);
    operator.password_at = now;
    let stored = operator.store(records, &principal.operator, revision).await;
    AuditEventBuilder::of(&principal, "account.change_password").concluded(&admin, stored).await?;
    let begun = SignIn::begin(records, principal.operator.clone(), now, sign_in.method, now).await;
    let secret = begun.map_err(Problem::of_write)?;
    Ok((StatusCode::NO_CONTENT, AppendHeaders([(SET_COOKIE, set_cookie(Some(&secret), client.https()))])))
}
