use axum::extract::State;
use http::StatusCode;
use serde_json::Value;
use utoipa::ToSchema;

use crate::access::{Caller, Operator, PASSWORD_MAX, Throttle};
use crate::api::account::sign_in::Whence;
use crate::audit::AuditEventBuilder;
use crate::body::{JsonBody, read, wrong};
use crate::codes::Code;
use crate::problem::Problem;
use crate::state::Admin;

/// The password of the operator who signed in.
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
/// For five minutes the sign-in of the cookie may manage operators. API tokens can't do this.
#[utoipa::path(post, path = "/sign-in/proof", tag = "account", request_body = PasswordConfirmation,
    responses(
        (status = 204, description = "The password is right"),
        (status = 429, description = "Too many attempts; `Retry-After` says when to try again"),
    ))]
pub(crate) async fn confirm_password(
    State(admin): State<Admin>,
    caller: Caller,
    whence: Whence,
    JsonBody(body): JsonBody<4096>,
) -> Result<StatusCode, Problem> {
    let text = |value: &Value| value.as_str().filter(|text| text.len() <= PASSWORD_MAX).map(str::to_owned);
    let password = read(&body, |fields| fields.secret("password", true, Code::Password, text))?;
    let Some(password) = password else { return Err(Problem::WrongPassword) };
    let Some(sign_in) = caller.sign_in.clone() else {
        return Err(Problem::PermissionDenied(Code::SignedInOperator));
    };
    let (records, now) = (&*admin.records, admin.now().await?);
    let throttle = Throttle::of(&caller.operator, whence.address());
    throttle.attempt(records, now).await?;
    let Some((operator, _)) = Operator::load(records, &caller.operator).await? else {
        return Err(Problem::CredentialInvalid);
    };
    if !admin.passwords.matches(&password, operator.password).await? {
        AuditEventBuilder::of(&caller, "account.confirm_password_failed").log(&admin).await;
        return Err(wrong("password", Code::NotThePassword));
    }
    throttle.succeeded(records).await?;
    sign_in.prove(records, now).await?;
    Ok(StatusCode::NO_CONTENT)
}
