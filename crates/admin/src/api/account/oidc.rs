//! Signing in through the identity provider. Both operations are visited by browsers, which are led on whatever happens:
//! to the provider, to the dashboard, or to its sign-in page with a word that says why not.

use axum::extract::State;
use axum::response::{AppendHeaders, IntoResponse};
use http::header::{LOCATION, SET_COOKIE};
use http::{HeaderMap, HeaderName, StatusCode, Uri};
use tracing::warn;
use vestibule_core::StoreError;

use crate::access::{Operator, SignIn, SignInMethod, Throttle, set_cookie};
use crate::api::account::sign_in::Whence;
use crate::audit::AuditEventBuilder;
use crate::oidc::{Attempt, Identity, Provider, Refusal, attempt_cookie};
use crate::problem::Problem;
use crate::state::Admin;

/// Most characters of a name that the audit log is told.
const TOLD_MAX: usize = 120;

/// Where a browser is sent, with cookies.
type Led = (StatusCode, AppendHeaders<Vec<(HeaderName, String)>>);

/// Start single sign-on
///
/// For browsers: leads to the identity provider, or to `/sign-in?problem=<code>` of the dashboard.
#[utoipa::path(get, path = "/sign-in/oidc", tag = "account", security(()),
    responses((status = 303, description = "`Location` is the provider's page, or `/sign-in?problem=<code>`: `oidc_not_configured`, `provider_unavailable`, `rate_limited`, `store_unavailable`",
        headers(("Location" = String), ("Set-Cookie" = String)))))]
pub(crate) async fn start_oidc(State(admin): State<Admin>, whence: Whence) -> Led {
    match begin(&admin, &whence).await {
        Ok((address, secret)) => led(address, vec![attempt_cookie(Some(&secret), whence.https())]),
        Err(refusal) => refused(&whence, &refusal),
    }
}

async fn begin(admin: &Admin, whence: &Whence) -> Result<(String, String), Refusal> {
    let provider = admin.provider.as_ref().ok_or(Refusal::NoProvider)?;
    let (records, now) = (&*admin.records, admin.now().await?);
    Throttle::start(records, whence.address(), now).await?;
    let (attempt, secret) = Attempt::begin(records).await?;
    Ok((provider.address(&attempt).await?, secret))
}

/// Complete single sign-on
///
/// For browsers that the identity provider sends back: signs in and leads to `/`, or to `/sign-in?problem=<code>` of the
/// dashboard.
#[utoipa::path(get, path = "/sign-in/oidc/callback", tag = "account", security(()),
    params(("code" = Option<String>, Query, description = "What the provider gave"),
        ("state" = Option<String>, Query, description = "What it was given"),
        ("error" = Option<String>, Query, description = "Why it refused")),
    responses((status = 303, description = "`Location` is `/`, or `/sign-in?problem=<code>`: `oidc_not_configured`, `attempt_expired`, `wrong_state`, `provider_refused`, `provider_unavailable`, `invalid_id_token`, `missing_claim`, `unknown_operator`, `store_unavailable`",
        headers(("Location" = String), ("Set-Cookie" = String)))))]
pub(crate) async fn complete_oidc(
    State(admin): State<Admin>,
    whence: Whence,
    headers: HeaderMap,
    uri: Uri,
) -> impl IntoResponse {
    match end(&admin, &whence, &headers, &uri).await {
        Ok(secret) => {
            let cookies = [set_cookie(Some(&secret), whence.https()), attempt_cookie(None, whence.https())];
            led("/".to_owned(), cookies.into())
        }
        Err(refusal) => refused(&whence, &refusal),
    }
}

async fn end(admin: &Admin, whence: &Whence, headers: &HeaderMap, uri: &Uri) -> Result<String, Refusal> {
    let provider = admin.provider.as_ref().ok_or(Refusal::NoProvider)?;
    let records = &*admin.records;
    let attempt = Attempt::take(records, headers).await?.ok_or(Refusal::Lapsed)?;
    let answer = Answer::of(uri);
    if !attempt.has_state(&answer.state) {
        return Err(Refusal::WrongState);
    }
    if let Some(error) = answer.error {
        return Err(Refusal::Refused(error));
    }
    let code = answer.code.ok_or_else(|| Refusal::Refused("it sent no code".to_owned()))?;
    let identity = redeemed(provider, attempt, code, admin).await?;
    let found = match &identity.name {
        Some(name) => Operator::load(records, name).await?.map(|(operator, _)| (name, operator)),
        None => None,
    };
    let Some((name, operator)) = found else {
        Throttle::failed(records, whence.address(), admin.now().await?).await?;
        let told: String = identity.told.chars().take(TOLD_MAX).collect();
        AuditEventBuilder::unknown("account.sign_in_rejected", whence.request(), None).subject(&told).log(admin).await;
        return Err(Refusal::UnknownOperator(told));
    };
    let (method, now) = (SignInMethod::Provider, admin.now().await?);
    let secret = SignIn::begin(records, name.clone(), operator.password_at, method, now).await?;
    let event = AuditEventBuilder::unknown("account.sign_in", whence.request(), Some(name.to_string()));
    event.with("provider", provider.config.name.clone()).log(admin).await;
    Ok(secret)
}

async fn redeemed(provider: &Provider, attempt: Attempt, code: String, admin: &Admin) -> Result<Identity, Refusal> {
    provider.redeem(attempt, code, admin.now().await?).await
}

/// What the provider sent along. It may add more, which says nothing here.
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

fn refused(whence: &Whence, refusal: &Refusal) -> Led {
    warn!(%refusal, request = whence.request(), "a sign-in through the identity provider failed");
    led(format!("/sign-in?problem={}", refusal.code()), vec![attempt_cookie(None, whence.https())])
}

fn led(location: String, cookies: Vec<String>) -> Led {
    let cookies = cookies.into_iter().map(|cookie| (SET_COOKIE, cookie));
    (StatusCode::SEE_OTHER, AppendHeaders([(LOCATION, location)].into_iter().chain(cookies).collect()))
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        warn!(%error, "the backoffice could not ask the store");
        Self::Store
    }
}

impl From<Problem> for Refusal {
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
    fn the_document_names_every_word_that_says_why_not() {
        let document: serde_json::Value = serde_json::from_str(&crate::openapi::openapi_json()).unwrap();
        let paths = ["/api/v1/sign-in/oidc", "/api/v1/sign-in/oidc/callback"];
        let told = paths.map(|path| document["paths"][path]["get"]["responses"]["303"]["description"].to_string());
        for code in Refusal::CODES {
            assert!(told.iter().any(|told| told.contains(&format!("`{code}`"))), "{code}");
        }
    }
}
