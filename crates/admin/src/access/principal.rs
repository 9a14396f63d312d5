//! The principal of a request: an operator, identified by a token or by the cookie of a sign-in, with permissions.

use http::request::Parts;
use http::{HeaderMap, Method, StatusCode, Uri, header};
use vestibule_core::{Micros, TenantId};
use vestibule_records::RecordStore;

use crate::access::change_limit::may_change;
use crate::access::{
    Operator, OperatorName, RequireTotp, Role, SignIn, SignInMethod, Tenants, Token, TokenLimit, TotpStatus,
};
use crate::codes::Code;
use crate::prefix::PREFIX;
use crate::problem::Problem;
use crate::request_id::RequestId;

/// Methods without side effects.
pub(crate) const SAFE_METHODS: [Method; 3] = [Method::GET, Method::HEAD, Method::OPTIONS];
/// Pages of other sites cannot send custom headers, so this one rules out cross-site request forgery.
const REQUEST_HEADER: &str = "x-vestibule-request";

/// Seconds for which a confirmed password allows managing operators.
const PROOF_TTL: u64 = 300;
/// The endpoints of a token for settings.
const SETTINGS_PATHS: [&str; 2] = ["/settings", "/sign-in"];
/// The endpoints of a sign-in that must set up TOTP first.
const TOTP_PATHS: [&str; 2] = ["/sign-in", "/sign-in/totp"];

/// An authenticated operator.
#[derive(Debug, Clone)]
pub(crate) struct Principal {
    pub(crate) operator: OperatorName,
    /// ID of the API token; `None` for a sign-in.
    pub(crate) token: Option<String>,
    pub(crate) sign_in: Option<SignIn>,
    pub(crate) role: Role,
    pub(crate) tenants: Tenants,
    pub(crate) totp: TotpStatus,
    /// Whether they can confirm a password. Otherwise they sign in again at the identity provider.
    has_password: bool,
    pub(crate) request: RequestId,
}

impl Principal {
    /// Authenticates a request by its token or cookie.
    pub(crate) async fn of(
        parts: &Parts,
        records: &dyn RecordStore,
        https: bool,
        require_totp: RequireTotp,
    ) -> Result<Self, Problem> {
        let principal = match bearer(&parts.headers) {
            Some(token) => by_token(records, token, parts).await,
            None => by_cookie(records, parts, https, require_totp).await,
        }?;
        if counts_as_change(&parts.method, &parts.uri) {
            may_change(records, principal.operator.as_str()).await?;
        }
        Ok(principal)
    }

    /// Whether they can view objects of this tenant.
    pub(crate) fn can_view(&self, tenant: &TenantId) -> bool {
        self.tenants.include(tenant)
    }

    /// Checks that they can edit objects of this tenant.
    pub(crate) fn can_edit(&self, tenant: &TenantId) -> Result<(), Problem> {
        if !self.can_view(tenant) {
            return Err(Problem::NotFound(Code::ATenant));
        }
        self.at_least(Role::Operator)
    }

    pub(crate) fn is_superuser(&self) -> bool {
        self.role == Role::Superuser
    }

    /// Requires a superuser who signed in or confirmed the password a short while ago.
    pub(crate) fn manages_operators(&self, now: Micros) -> Result<(), Problem> {
        self.at_least(Role::Superuser)?;
        self.gave_password(now)
    }

    /// Requires an operator who signed in or confirmed the password a short while ago.
    pub(crate) fn gave_password(&self, now: Micros) -> Result<(), Problem> {
        let sign_in = self.sign_in.as_ref().ok_or(Problem::PermissionDenied(Code::SignedInOperator))?;
        if now >= sign_in.proved_at.add_seconds(PROOF_TTL) {
            return Err(if self.has_password { Problem::PasswordRequired } else { Problem::SignInAgain });
        }
        Ok(())
    }

    /// Requires at least this role.
    pub(crate) fn at_least(&self, role: Role) -> Result<(), Problem> {
        if self.role >= role {
            return Ok(());
        }
        Err(Problem::PermissionDenied(match role {
            Role::Superuser => Code::RoleSuperuser,
            Role::Operator | Role::Viewer => Code::RoleOperator,
        }))
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().unwrap_or_default();
    let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
    Some(if scheme.eq_ignore_ascii_case("bearer") { token.trim() } else { "" })
}

async fn by_token(records: &dyn RecordStore, text: &str, parts: &Parts) -> Result<Principal, Problem> {
    let (now, found) = (records.now().await?, Token::find(records, text).await?);
    let Some((id, token, revision)) = found.filter(|(_, token, _)| token.expires_at > now) else {
        return Err(Problem::CredentialInvalid);
    };
    let owner = Operator::load(records, &token.operator).await?;
    // Tokens of a removed operator stay invalid if the name is used again.
    let Some((owner, _)) = owner.filter(|(owner, _)| owner.created_at <= token.created_at) else {
        return Err(Problem::CredentialInvalid);
    };
    if !token.only.is_none_or(|limit| is_within(limit, &parts.method, parts.uri.path())) {
        return Err(Problem::PermissionDenied(Code::UnlimitedToken));
    }
    let (role, tenants) = token.scope.within(&owner.scope);
    let operator = token.operator.clone();
    token.used(records, &id, revision, now).await;
    let request = RequestId::in_extensions(&parts.extensions);
    let (totp, has_password) = (TotpStatus::Unavailable, owner.password.is_some());
    Ok(Principal { operator, token: Some(id), sign_in: None, role, tenants, totp, has_password, request })
}

/// What follows the ID of a job queue in the paths of a token that is limited to jobs.
const JOBS_SEGMENTS: [&str; 5] = ["jobs", "receive", "acknowledge", "extend", "fail"];

/// Whether a token with this limit may use this endpoint.
fn is_within(limit: TokenLimit, method: &Method, path: &str) -> bool {
    match limit {
        TokenLimit::Settings => is_one_of(&SETTINGS_PATHS, path),
        TokenLimit::Jobs => {
            let mut segments = path.strip_prefix(PREFIX).unwrap_or(path).split('/').skip(1);
            // Jobs are canceled by operators.
            let may = method != Method::DELETE && segments.next() == Some("job-queues");
            may && segments.nth(1).is_some_and(|it| JOBS_SEGMENTS.contains(&it))
        }
    }
}

/// Whether a request is a change that is audited with others of its operator. Signing out, giving the password, revoking tokens,
/// the jobs of a shop and tests without a change are not: they work after the limit is reached.
fn counts_as_change(method: &Method, uri: &Uri) -> bool {
    let path = uri.path().strip_prefix(PREFIX).unwrap_or(uri.path());
    let is_exempt = path == "/sign-in"
        || path.starts_with("/sign-in/")
        || path == "/url-tests"
        || (*method == Method::DELETE && path.starts_with("/tokens/"))
        || is_within(TokenLimit::Jobs, method, path)
        // Endpoints that do not have the parameter reject it.
        || uri.query().is_some_and(|query| query.split('&').any(|pair| pair == "validate=true"));
    !SAFE_METHODS.contains(method) && !is_exempt
}

/// Whether a request is for one of these paths below [`PREFIX`], which a nested router does not see.
fn is_one_of(paths: &[&str], path: &str) -> bool {
    paths.contains(&path.strip_prefix(PREFIX).unwrap_or(path))
}

async fn by_cookie(
    records: &dyn RecordStore,
    parts: &Parts,
    https: bool,
    require_totp: RequireTotp,
) -> Result<Principal, Problem> {
    let Some(sign_in) = SignIn::find(records, &parts.headers, https).await? else { return Err(Problem::NotSignedIn) };
    if !SAFE_METHODS.contains(&parts.method) && !parts.headers.contains_key(REQUEST_HEADER) {
        return Err(Problem::Plain(StatusCode::FORBIDDEN, Code::NoRequestHeader));
    }
    let now: Micros = records.now().await?;
    let found = Operator::load(records, &sign_in.operator).await?;
    let Some((operator, _)) = found.filter(|(operator, _)| operator.password_at == sign_in.password_at) else {
        return Err(Problem::CredentialInvalid);
    };
    // The sign-in is older than TOTP.
    if operator.totp.is_some() && sign_in.method == SignInMethod::Password {
        return Err(Problem::CredentialInvalid);
    }
    let totp = operator.totp_status(sign_in.method, require_totp);
    if totp == TotpStatus::Required && !is_one_of(&TOTP_PATHS, parts.uri.path()) {
        return Err(Problem::Plain(StatusCode::FORBIDDEN, Code::TotpSetupRequired));
    }
    if !sign_in.clone().refresh(records, now).await? {
        return Err(Problem::NotSignedIn);
    }
    Ok(Principal {
        operator: sign_in.operator.clone(),
        token: None,
        role: operator.scope.role,
        tenants: operator.scope.tenants(),
        sign_in: Some(sign_in),
        totp,
        has_password: operator.password.is_some(),
        request: RequestId::in_extensions(&parts.extensions),
    })
}
