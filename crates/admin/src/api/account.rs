//! Sign-in, sign-out and the current operator.

mod client_info;
mod oidc;
mod totp;

use axum::Json;
use axum::extract::State;
use axum::response::{AppendHeaders, IntoResponse};
use http::StatusCode;
use http::header::SET_COOKIE;
use serde::Serialize;
use tracing::warn;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vestibule_core::fields::Omissible;
use vestibule_core::{TenantId, fields};

use self::client_info::ClientInfo;
use crate::access::{
    AuthenticationCode, CodeKind, NewPassword, Operator, OperatorName, Password, Principal, Role, Scope, SignIn,
    SignInMethod, SignInThrottle, Tenants, TotpStatus, set_cookie,
};
use crate::audit::AuditEventBuilder;
use crate::body::{Body, wrong};
use crate::codes::Code;
use crate::describe::describe;
use crate::prefix::PREFIX;
use crate::problem::Problem;
use crate::state::Admin;

pub(crate) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new()
        .routes(routes!(sign_in, get_current_principal, sign_out))
        .routes(routes!(change_password))
        .routes(routes!(confirm_password))
        .routes(routes!(totp::start_totp_setup, totp::confirm_totp_setup, totp::remove_own_totp))
        .routes(routes!(list_sign_in_methods))
        .routes(routes!(oidc::start_oidc))
        .routes(routes!(oidc::complete_oidc))
}

fields! {
    /// Name and password.
    pub(crate) struct Credentials {
        /// Name of the operator.
        name: OperatorName,
        /// Their password.
        password: Password,
        /// A code of the authenticator app or a recovery code, for an operator with TOTP.
        code: Omissible<AuthenticationCode>,
    }
}

fields! {
    /// The password of the signed-in operator.
    pub(crate) struct PasswordConfirmation {
        /// The password.
        password: Password,
    }
}

fields! {
    /// A password change.
    pub(crate) struct PasswordChange {
        /// The current password.
        current: Password,
        /// The new password.
        new: NewPassword,
    }
}

describe!(request Credentials, PasswordConfirmation, PasswordChange);

/// Sign in
///
/// Returns a cookie for browsers. Attempts are limited. An operator with TOTP gets 401 with `code_required` after the
/// password; send the same request again with a `code`. Each code is accepted once.
#[utoipa::path(post, path = "/sign-in", tag = "account", request_body = Credentials, security(()),
    responses(
        (status = 200, description = "Signed in", body = CurrentPrincipal, headers(("Set-Cookie" = String))),
        (status = 401, description = "Incorrect name, password or code, or a missing code"),
        (status = 409, description = "Someone else changed this operator at the same time"),
        (status = 429, description = "Too many attempts; `Retry-After` says when to try again"),
    ))]
pub(crate) async fn sign_in(
    State(admin): State<Admin>,
    client: ClientInfo,
    Body(Credentials { name, password, code }): Body<Credentials, 4096>,
) -> Result<impl IntoResponse, Problem> {
    let records = &*admin.records;
    let now = admin.now().await?;
    let throttle = SignInThrottle::of(&name, client.address());
    throttle.attempt(records, now).await?;
    let found = Operator::load(records, &name).await?;
    let is_known = found.is_some();
    let expected = found.as_ref().and_then(|(operator, _)| operator.password.clone());
    let right = admin.passwords.matches(&password, expected).await?;
    let Some((mut operator, revision)) = found.filter(|_| right) else {
        warn!(operator = %name, request = client.request(), "a sign-in failed");
        audit_failure(&admin, &client, is_known.then_some(&name)).await;
        return Err(Problem::Plain(StatusCode::UNAUTHORIZED, Code::WrongPassword));
    };
    let mut accepted = None;
    if let Some(totp) = &mut operator.totp {
        let Some(code) = code else {
            throttle.withdraw(records).await?;
            return Err(Problem::Plain(StatusCode::UNAUTHORIZED, Code::CodeRequired));
        };
        accepted = totp.accept(&code, now)?;
        if accepted.is_none() {
            warn!(operator = %name, request = client.request(), "a sign-in failed: the code was wrong");
            audit_failure(&admin, &client, Some(&name)).await;
            return Err(Problem::Plain(StatusCode::UNAUTHORIZED, Code::WrongCode));
        }
        // Of two concurrent sign-ins with the same code, one finds that the record has changed.
        operator.store(records, &name, revision).await?;
    }
    throttle.succeeded(records).await?;
    let method = if accepted.is_some() { SignInMethod::PasswordAndTotp } else { SignInMethod::Password };
    let secret = SignIn::begin(records, name.clone(), operator.password_at, method, now).await?;
    let event = AuditEventBuilder::unknown("account.sign_in", client.request(), Some(name.to_string()));
    let event = match accepted {
        Some(CodeKind::Recovery(left)) => event.with("recovery_codes_left", left),
        Some(CodeKind::Totp) | None => event,
    };
    event.log(&admin).await;
    let cookie = set_cookie(Some(&secret), client.https());
    let account = CurrentPrincipal::of(&name, &operator.scope, operator.totp_status(method, admin.require_totp));
    Ok((AppendHeaders([(SET_COOKIE, cookie)]), Json(account)))
}

/// Audits a failed sign-in. Names that are not of an operator are never stored.
async fn audit_failure(admin: &Admin, client: &ClientInfo, name: Option<&OperatorName>) {
    let operator = name.map(ToString::to_string);
    AuditEventBuilder::unknown("account.sign_in_failed", client.request(), operator).log(admin).await;
}

/// The current operator or token.
#[derive(Serialize, ToSchema)]
pub(crate) struct CurrentPrincipal {
    /// Name of the operator.
    operator: String,
    /// The effective role.
    role: Role,
    /// The accessible tenants; `null` for all.
    #[schema(value_type = Option<Vec<String>>)]
    tenants: Option<Vec<TenantId>>,
    /// ID of the API token.
    token: Option<String>,
    /// Latest end of the sign-in in seconds since 1970; `null` with a token.
    ends_at: Option<u64>,
    /// State of TOTP.
    totp: TotpStatus,
}

impl CurrentPrincipal {
    pub(crate) fn of(operator: &OperatorName, scope: &Scope, totp: TotpStatus) -> Self {
        let tenants = listed(scope.tenants());
        Self { operator: operator.to_string(), role: scope.role, tenants, token: None, ends_at: None, totp }
    }
}

fn listed(tenants: Tenants) -> Option<Vec<TenantId>> {
    match tenants {
        Tenants::All => None,
        Tenants::These(these) => Some(these),
    }
}

/// Get the current principal
///
/// Returns the operator or token of the request with its permissions; `null` without a valid sign-in.
#[utoipa::path(get, path = "/sign-in", tag = "account", security(()),
    responses(
        (status = 200, description = "The current principal, or `null`", body = Option<CurrentPrincipal>),
        (status = 401, description = "The token is invalid, expired or revoked"),
        (status = 403, description = "The token is limited to other endpoints"),
    ))]
pub(crate) async fn get_current_principal(
    principal: Result<Principal, Problem>,
) -> Result<Json<Option<CurrentPrincipal>>, Problem> {
    let principal = match principal {
        Err(Problem::NotSignedIn) => return Ok(Json(None)),
        other => other?,
    };
    Ok(Json(Some(CurrentPrincipal {
        operator: principal.operator.to_string(),
        role: principal.role,
        tenants: listed(principal.tenants),
        token: principal.token,
        ends_at: principal.sign_in.map(|sign_in| sign_in.ends_at().seconds()),
        totp: principal.totp,
    })))
}

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

/// The available sign-in methods.
#[derive(Serialize, ToSchema)]
pub(crate) struct SignInMethods {
    /// Name and password: `POST /sign-in`.
    password: bool,
    /// Single sign-on; `null` if not configured.
    oidc: Option<OidcMethod>,
}

/// Single sign-on.
#[derive(Serialize, ToSchema)]
pub(crate) struct OidcMethod {
    /// Label of the button.
    name: String,
    /// URL to open in the browser.
    start: String,
}

/// List sign-in methods
///
/// Returns what a sign-in page should offer.
#[utoipa::path(get, path = "/sign-in/methods", tag = "account", security(()),
    responses((status = 200, description = "The sign-in methods", body = SignInMethods)))]
pub(crate) async fn list_sign_in_methods(State(admin): State<Admin>) -> Json<SignInMethods> {
    let oidc = admin
        .provider
        .as_ref()
        .map(|provider| OidcMethod { name: provider.name().to_owned(), start: format!("{PREFIX}/sign-in/oidc") });
    Json(SignInMethods { password: true, oidc })
}

/// Confirm your password
///
/// Allows the sign-in of the cookie to manage operators for five minutes. API tokens are not accepted. Operators without a password
/// sign in again at the identity provider instead.
#[utoipa::path(post, path = "/sign-in/proof", tag = "account", request_body = PasswordConfirmation,
    responses(
        (status = 204, description = "The password is confirmed"),
        (status = 429, description = "Too many attempts; `Retry-After` says when to try again"),
    ))]
pub(crate) async fn confirm_password(
    State(admin): State<Admin>,
    principal: Principal,
    client: ClientInfo,
    Body(PasswordConfirmation { password }): Body<PasswordConfirmation, 4096>,
) -> Result<StatusCode, Problem> {
    let Some(sign_in) = principal.sign_in.clone() else {
        return Err(Problem::PermissionDenied(Code::SignedInOperator));
    };
    let (records, now) = (&*admin.records, admin.now().await?);
    let Some((operator, _)) = Operator::load(records, &principal.operator).await? else {
        return Err(Problem::CredentialInvalid);
    };
    if operator.password.is_none() {
        return Err(Problem::SignInAgain);
    }
    let throttle = SignInThrottle::of(&principal.operator, client.address());
    throttle.attempt(records, now).await?;
    if !admin.passwords.matches(&password, operator.password).await? {
        AuditEventBuilder::of(&principal, "account.confirm_password_failed").log(&admin).await;
        return Err(wrong("password", Code::NotThePassword));
    }
    throttle.succeeded(records).await?;
    if !sign_in.prove(records, now).await? {
        return Err(Problem::NotSignedIn);
    }
    Ok(StatusCode::NO_CONTENT)
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
    Body(PasswordChange { current, new }): Body<PasswordChange, 4096>,
) -> Result<impl IntoResponse, Problem> {
    let Some(sign_in) = &principal.sign_in else { return Err(Problem::PermissionDenied(Code::SignedInOperator)) };
    let (records, now) = (&*admin.records, admin.now().await?);
    let throttle = SignInThrottle::of(&principal.operator, client.address());
    throttle.attempt(records, now).await?;
    let found = Operator::load(records, &principal.operator).await?;
    let Some((mut operator, revision)) = found else { return Err(Problem::CredentialInvalid) };
    if !admin.passwords.matches(&current, operator.password.clone()).await? {
        AuditEventBuilder::of(&principal, "account.change_password_failed").log(&admin).await;
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
