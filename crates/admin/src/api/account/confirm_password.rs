use axum::extract::State;
use http::StatusCode;
use serde_json::Value;
use utoipa::ToSchema;

use crate::access::{Operator, PASSWORD_MAX, Principal, SignInThrottle};
use crate::api::account::sign_in::ClientInfo;
use crate::audit::AuditEventBuilder;
use crate::body::{JsonBody, read, wrong};
use crate::codes::Code;
use crate::problem::Problem;
use crate::state::Admin;

/// The password of the signed-in operator.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes a body that is read field by field")]
pub(crate) struct PasswordConfirmation {
    /// The password.
    #[schema(format = Password, max_length = 256)]
    password: String,
}

/// Confirm your password
///
/// Allows the sign-in of the cookie to manage operators for five minutes. API tokens are not accepted.
#[utoipa::path(post, path = "/sign-in/proof", tag = "account", request_body = PasswordConfirmation,
    responses(
        (status = 204, description = "The password is confirmed"),
        (status = 429, description = "Too many attempts; `Retry-After` says when to try again"),
    ))]
pub(crate) async fn confirm_password(
    State(admin): State<Admin>,
    principal: Principal,
    client: ClientInfo,
    JsonBody(body): JsonBody<4096>,
) -> Result<StatusCode, Problem> {
    let text = |value: &Value| value.as_str().filter(|text| text.len() <= PASSWORD_MAX).map(str::to_owned);
    let password = read(&body, |fields| fields.secret("password", true, Code::Password, text))?;
    let Some(password) = password else { return Err(Problem::WrongPassword) };
    let Some(sign_in) = principal.sign_in.clone() else {
        return Err(Problem::PermissionDenied(Code::SignedInOperator));
    };
    let (records, now) = (&*admin.records, admin.now().await?);
    let throttle = SignInThrottle::of(&principal.operator, client.address());
    throttle.attempt(records, now).await?;
    let Some((operator, _)) = Operator::load(records, &principal.operator).await? else {
        return Err(Problem::CredentialInvalid);
    };
    if !admin.passwords.matches(&password, operator.password).await? {
        AuditEventBuilder::of(&principal, "account.confirm_password_failed").log(&admin).await;
        return Err(wrong("password", Code::NotThePassword));
    }
    throttle.succeeded(records).await?;
    sign_in.prove(records, now).await?;
    Ok(StatusCode::NO_CONTENT)
}
