use std::net::IpAddr;

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::response::{AppendHeaders, IntoResponse};
use http::header::SET_COOKIE;
use http::request::Parts;
use serde_json::Value;
use tracing::warn;
use utoipa::ToSchema;
use vestibule_records::{EphemeralKey, EphemeralKind};
use vestibule_runtime::request_origin;

use crate::access::{
    CODE_MAX, CodeKind, Operator, OperatorName, PASSWORD_MAX, SignIn, SignInMethod, SignInThrottle, set_cookie,
};
use crate::api::account::principal::CurrentPrincipal;
use crate::audit::AuditEventBuilder;
use crate::body::{JsonBody, read};
use crate::codes::Code;
use crate::peer::PeerAddress;
use crate::problem::Problem;
use crate::response_headers::RequestId;
use crate::secret::hash;
use crate::state::Admin;

/// Seconds within which failed sign-ins are counted.
const FAILURES_WITHIN: u64 = 3600;

/// Name and password.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes a body that is read field by field")]
pub(crate) struct Credentials {
    /// Name of the operator.
    #[schema(max_length = 63)]
    name: String,
    /// Their password.
    #[schema(format = Password, max_length = 256)]
    password: String,
    /// The code of their authenticator app or a recovery code, for an operator with TOTP.
    #[schema(max_length = 64)]
    code: Option<String>,
}

/// Where a request came from.
pub(crate) struct ClientInfo {
    address: Option<IpAddr>,
    https: bool,
    request: RequestId,
}

impl ClientInfo {
    pub(crate) const fn address(&self) -> Option<IpAddr> {
        self.address
    }

    pub(crate) const fn https(&self) -> bool {
        self.https
    }

    /// The id of the request.
    pub(crate) fn request(&self) -> &str {
        &self.request.0
    }
}

impl FromRequestParts<Admin> for ClientInfo {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, admin: &Admin) -> Result<Self, Problem> {
        let peer = parts.extensions.get::<PeerAddress>().and_then(|peer| peer.0);
        let origin = request_origin(&parts.headers, peer, admin.trusted_proxies);
        let request = parts.extensions.get::<RequestId>().cloned().unwrap_or_else(|| RequestId(String::new()));
        Ok(Self { address: origin.address, https: origin.https, request })
    }
}

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
    JsonBody(body): JsonBody<4096>,
) -> Result<impl IntoResponse, Problem> {
    let (name, password, code) = read(&body, |fields| {
        let text = |value: &Value, most: usize| value.as_str().filter(|text| text.len() <= most).map(str::to_owned);
        let name = fields.required("name", Code::OperatorName, |value| value.as_str()?.parse::<OperatorName>().ok());
        let password = fields.secret("password", true, Code::Password, |value| text(value, PASSWORD_MAX));
        (name, password, fields.secret("code", false, Code::AuthenticationCode, |value| text(value, CODE_MAX)))
    })?;
    let (Some(name), Some(password)) = (name, password) else { return Err(Problem::WrongPassword) };
    let records = &*admin.records;
    let now = admin.now().await?;
    let throttle = SignInThrottle::of(&name, client.address);
    throttle.attempt(records, now).await?;
    let found = Operator::load(records, &name).await?;
    let is_known = found.is_some();
    let expected = found.as_ref().and_then(|(operator, _)| operator.password.clone());
    let right = admin.passwords.matches(&password, expected).await?;
    let Some((mut operator, revision)) = found.filter(|_| right) else {
        warn!(operator = %name, request = client.request.0, "a sign-in failed");
        audit_failure(&admin, &client, is_known.then_some(&name)).await;
        return Err(Problem::WrongPassword);
    };
    let mut accepted = None;
    if let Some(totp) = &mut operator.totp {
        let Some(code) = code else {
            throttle.withdraw(records).await?;
            return Err(Problem::CodeRequired);
        };
        accepted = totp.accept(&code, now)?;
        if accepted.is_none() {
            warn!(operator = %name, request = client.request.0, "a sign-in failed: the code was wrong");
            audit_failure(&admin, &client, Some(&name)).await;
            return Err(Problem::WrongCode);
        }
        // Of two sign-ins with the same code at once, one finds that the record has changed.
        operator.store(records, &name, revision).await?;
    }
    throttle.succeeded(records).await?;
    let method = if accepted.is_some() { SignInMethod::PasswordAndTotp } else { SignInMethod::Password };
    let secret = SignIn::begin(records, name.clone(), operator.password_at, method, now).await?;
    let event = AuditEventBuilder::unknown("account.sign_in", &client.request.0, Some(name.to_string()));
    let event = match accepted {
        Some(CodeKind::Recovery(left)) => event.with("recovery_codes_left", left),
        Some(CodeKind::Totp) | None => event,
    };
    event.log(&admin).await;
    let cookie = set_cookie(Some(&secret), client.https);
    let account = CurrentPrincipal::of(&name, &operator.scope, operator.totp_status(method, admin.require_totp));
    Ok((AppendHeaders([(SET_COOKIE, cookie)]), Json(account)))
}

/// Audits a sign-in that failed: the first of an hour under a name, the tenth, the hundredth and so on, so that strangers
/// can't fill the log. Under names that nobody has they are counted together, and what was typed is kept nowhere.
async fn audit_failure(admin: &Admin, client: &ClientInfo, name: Option<&OperatorName>) {
    let id = hash(name.map_or("", OperatorName::as_str));
    let count = admin.records.increment(&EphemeralKey::new(EphemeralKind::FailedSignIns, id), FAILURES_WITHIN).await;
    let Ok(count) = count.inspect_err(|error| warn!(%error, "a failed sign-in could not be counted")) else { return };
    if 10_u64.pow(count.max(1).ilog10()) == count {
        let event =
            AuditEventBuilder::unknown("account.sign_in_failed", client.request(), name.map(ToString::to_string));
        event.with("failures", count).log(admin).await;
    }
}
