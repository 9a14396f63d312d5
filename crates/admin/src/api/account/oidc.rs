//! Single sign-on. Browsers visit both operations and are always redirected: to the provider, to the dashboard, or to its
//! sign-in page with an error code.

use axum::extract::State;
use axum::response::{AppendHeaders, IntoResponse};
use http::header::{LOCATION, SET_COOKIE};
use http::{HeaderMap, HeaderName, StatusCode, Uri};
use tracing::warn;
use vestibule_core::StoreError;

use crate::access::{Operator, SignIn, SignInMethod, SignInThrottle, set_cookie};
use crate::api::account::client_info::ClientInfo;
use crate::audit::AuditEventBuilder;
use crate::oidc::{AuthRequest, Identity, OidcError, Provider, auth_request_cookie};
use crate::problem::Problem;
use crate::state::Admin;

/// Maximum length of a name in the audit log, in characters.
const LOGGED_NAME_MAX: usize = 120;

/// Where a browser is sent, with cookies.
type Redirect = (StatusCode, AppendHeaders<Vec<(HeaderName, String)>>);

/// Start single sign-on
///
/// For browsers: redirects to the identity provider, or to `/sign-in?problem=<code>` of the dashboard.
#[utoipa::path(get, path = "/sign-in/oidc", tag = "account", security(()),
    responses((status = 303, description = "`Location` is the provider's page, or `/sign-in?problem=<code>`: `oidc_not_configured`, `provider_unavailable`, `rate_limited`, `store_unavailable`",
        headers(("Location" = String), ("Set-Cookie" = String)))))]
pub(crate) async fn start_oidc(State(admin): State<Admin>, client: ClientInfo) -> Redirect {
    match begin(&admin, &client).await {
        Ok((address, secret)) => redirect_to(address, vec![auth_request_cookie(Some(&secret), client.https())]),
        Err(refusal) => refused(&client, &refusal),
    }
}

async fn begin(admin: &Admin, client: &ClientInfo) -> Result<(String, String), OidcError> {
    let provider = admin.provider.as_ref().ok_or(OidcError::NoProvider)?;
    let (records, now) = (&*admin.records, admin.now().await?);
    SignInThrottle::start(records, client.address(), now).await?;
    let (attempt, secret) = AuthRequest::begin(records).await?;
    Ok((provider.address(&attempt).await?, secret))
}

/// Complete single sign-on
///
/// For browsers that return from the identity provider: signs in and redirects to `/`, or to `/sign-in?problem=<code>`
/// of the dashboard.
#[utoipa::path(get, path = "/sign-in/oidc/callback", tag = "account", security(()),
    params(("code" = Option<String>, Query, description = "The authorization code"),
        ("state" = Option<String>, Query, description = "The state of the authorization request"),
        ("error" = Option<String>, Query, description = "Why the provider rejected the sign-in")),
    responses((status = 303, description = "`Location` is `/`, or `/sign-in?problem=<code>`: `oidc_not_configured`, `attempt_expired`, `wrong_state`, `provider_refused`, `provider_unavailable`, `invalid_id_token`, `missing_claim`, `unknown_operator`, `store_unavailable`",
        headers(("Location" = String), ("Set-Cookie" = String)))))]
pub(crate) async fn complete_oidc(
    State(admin): State<Admin>,
    client: ClientInfo,
    headers: HeaderMap,
    uri: Uri,
) -> impl IntoResponse {
    match end(&admin, &client, &headers, &uri).await {
        Ok(secret) => {
            let cookies = [set_cookie(Some(&secret), client.https()), auth_request_cookie(None, client.https())];
            redirect_to("/".to_owned(), cookies.into())
        }
        Err(refusal) => refused(&client, &refusal),
    }
}

async fn end(admin: &Admin, client: &ClientInfo, headers: &HeaderMap, uri: &Uri) -> Result<String, OidcError> {
    let provider = admin.provider.as_ref().ok_or(OidcError::NoProvider)?;
    let records = &*admin.records;
    let attempt = AuthRequest::take(records, headers, client.https()).await?.ok_or(OidcError::AttemptExpired)?;
    let answer = Answer::of(uri);
    if !attempt.has_state(&answer.state) {
        return Err(OidcError::WrongState);
    }
    if let Some(error) = answer.error {
        return Err(OidcError::Refused(error));
    }
    let code = answer.code.ok_or_else(|| OidcError::Refused("it sent no code".to_owned()))?;
    let identity = redeemed(provider, attempt, code, admin).await?;
    let found = match &identity.name {
        Some(name) => Operator::load(records, name).await?.map(|(operator, _)| (name, operator)),
        None => None,
    };
    let Some((name, operator)) = found else {
        SignInThrottle::failed(records, client.address(), admin.now().await?).await?;
        let name: String = identity.claim.chars().take(LOGGED_NAME_MAX).collect();
        AuditEventBuilder::unknown("account.sign_in_rejected", client.request(), None).subject(&name).log(admin).await;
        return Err(OidcError::UnknownOperator(name));
    };
    let (method, now) = (SignInMethod::Provider, admin.now().await?);
    let secret = SignIn::begin(records, name.clone(), operator.password_at, method, now).await?;
    let event = AuditEventBuilder::unknown("account.sign_in", client.request(), Some(name.to_string()));
    event.with("provider", provider.name()).log(admin).await;
    Ok(secret)
}

async fn redeemed(
    provider: &Provider,
    attempt: AuthRequest,
    code: String,
    admin: &Admin,
) -> Result<Identity, OidcError> {
    provider.exchange_code(attempt, code, admin.now().await?).await
}

/// The parameters of the provider's redirect. Others are ignored.
#[derive(Default)]
struct Answer {
    code: Option<String>,
    state: String,
    error: Option<String>,
}

impl Answer {
    fn of(uri: &Uri) -> Self {
        let pairs = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(uri);
        let mut answer = Self::default();
        for (name, value) in pairs.map(|pairs| pairs.0).unwrap_or_default() {
            match name.as_str() {
                "code" => answer.code = Some(value),
                "state" => answer.state = value,
                "error" => answer.error = Some(value),
                _ => {}
            }
        }
        answer
    }
}

fn refused(client: &ClientInfo, refusal: &OidcError) -> Redirect {
    warn!(%refusal, request = client.request(), "a sign-in through the identity provider failed");
    redirect_to(format!("/sign-in?problem={}", refusal.code()), vec![auth_request_cookie(None, client.https())])
}

fn redirect_to(location: String, cookies: Vec<String>) -> Redirect {
    let cookies = cookies.into_iter().map(|cookie| (SET_COOKIE, cookie));
    (StatusCode::SEE_OTHER, AppendHeaders([(LOCATION, location)].into_iter().chain(cookies).collect()))
}

impl From<StoreError> for OidcError {
    fn from(error: StoreError) -> Self {
        warn!(%error, "the backoffice could not ask the store");
        Self::Store
    }
}

impl From<Problem> for OidcError {
    fn from(problem: Problem) -> Self {
        match problem {
            Problem::RateLimited(_) => Self::Slowed,
            Problem::Store(error) => error.into(),
            other => Self::Unavailable(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openapi_lists_every_oidc_error_code() {
        let document: serde_json::Value = serde_json::from_str(&crate::openapi::openapi_json()).unwrap();
        let paths = ["/api/v1/sign-in/oidc", "/api/v1/sign-in/oidc/callback"];
        let described = paths.map(|path| document["paths"][path]["get"]["responses"]["303"]["description"].to_string());
        for code in OidcError::CODES {
            assert!(described.iter().any(|it| it.contains(&format!("`{code}`"))), "{code}");
        }
    }
}
