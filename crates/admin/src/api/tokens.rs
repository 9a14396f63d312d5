//! API tokens.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vestibule_core::fields::{Bounded, FieldError, ObjectReader, Omissible};
use vestibule_core::settings::{Name, differences};
use vestibule_core::{Micros, fields};
use vestibule_records::DocumentKind;

use crate::access::{Principal, Role, Scope, TenantIds, Token, TokenLimit};
use crate::audit::AuditEventBuilder;
use crate::body::{Body, Segments};
use crate::codes::Code;
use crate::describe::describe;
use crate::problem::Problem;
use crate::state::Admin;

pub(crate) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new().routes(routes!(list_tokens, create_token)).routes(routes!(revoke_token))
}

/// An API token, without its secret.
#[derive(Serialize, ToSchema)]
pub(crate) struct TokenView {
    /// ID of the token.
    id: String,
    /// Purpose of the token.
    name: String,
    /// The owner.
    operator: String,
    /// The role, limited by that of its owner.
    role: Role,
    /// The accessible tenants; empty for all of the owner.
    tenants: Vec<String>,
    /// Limit of the token; `null` for none.
    only: Option<TokenLimit>,
    /// Creation time in seconds since 1970.
    created_at: u64,
    /// Expiry in seconds since 1970.
    expires_at: u64,
    /// Last use in seconds since 1970, accurate to a minute; `null` if never.
    used_at: Option<u64>,
}

impl TokenView {
    fn of(id: String, token: &Token) -> Self {
        Self {
            id,
            name: token.name.clone(),
            operator: token.operator.to_string(),
            role: token.scope.role,
            tenants: token.scope.tenants.iter().map(ToString::to_string).collect(),
            only: token.only,
            created_at: token.created_at.seconds(),
            expires_at: token.expires_at.seconds(),
            used_at: token.used_at.map(Micros::seconds),
        }
    }
}

/// API tokens.
#[derive(Serialize, ToSchema)]
pub(crate) struct Tokens {
    /// The tokens by ID.
    tokens: Vec<TokenView>,
}

/// List API tokens
///
/// Returns your own tokens; superusers see all. An API token sees itself only.
#[utoipa::path(get, path = "/tokens", tag = "tokens", responses((status = 200, description = "The tokens", body = Tokens)))]
pub(crate) async fn list_tokens(State(admin): State<Admin>, principal: Principal) -> Result<Json<Tokens>, Problem> {
    let all = Token::all(&*admin.records).await?.into_iter();
    let visible = all.filter(|(id, token)| manages(&principal, id, token));
    Ok(Json(Tokens { tokens: visible.map(|(id, token)| TokenView::of(id, &token)).collect() }))
}

/// Whether the principal can see and revoke a token. A token manages itself only, whatever its owner can do.
fn manages(principal: &Principal, id: &str, token: &Token) -> bool {
    match &principal.token {
        Some(own) => own == id,
        None => principal.is_superuser() || token.operator == principal.operator,
    }
}

/// Shortest and longest life of a token, in seconds.
const LIFE_MIN: u64 = 60;
const LIFE_MAX: u64 = 366 * 86_400;

fields! {
    /// A new token.
    pub(crate) struct TokenDraft {
        /// Purpose of the token.
        name: Name,
        /// The role, at most that of its owner.
        role: Role,
        /// The accessible tenants, at most those of its owner; empty for a superuser.
        tenants: TenantIds = Vec::new(),
        /// Limits the token: `settings` for a token that only exports and imports settings, as needed by
        /// `vestibule apply`; `jobs` for one that only enqueues, reads and consumes jobs, with the role operator. Without it the token has all permissions of its role except managing operators and other tokens.
        only: Omissible<TokenLimit>,
        /// Seconds until the token expires.
        expires_in: Bounded<LIFE_MIN, LIFE_MAX>,
    }
    check = check_scope;
}

fn check_scope(draft: &mut TokenDraft, object: &mut ObjectReader<'_>) {
    if let Err(error) = Scope::updated(None, Some(draft.role), Some(draft.tenants.clone())) {
        object.error(&error.field, error.fault);
    }
}

describe!(request TokenDraft);

/// A new token with its secret, which is shown only once.
#[derive(Serialize, ToSchema)]
pub(crate) struct CreatedToken {
    /// Send it as `Authorization: Bearer <secret>`. It is not stored; if you lose it, create a new token.
    secret: String,
    /// The token.
    token: TokenView,
}

/// Create an API token
///
/// Requires a signed-in operator; API tokens are not accepted. An operator has at most 100 tokens. Tokens that have expired are
/// removed when one is created.
#[utoipa::path(post, path = "/tokens", tag = "tokens", request_body = TokenDraft,
    responses(
        (status = 201, description = "Created; the secret is shown only once", body = CreatedToken),
        (status = 409, description = "The limit of tokens is reached"),
    ))]
pub(crate) async fn create_token(
    State(admin): State<Admin>,
    principal: Principal,
    Body(draft): Body<TokenDraft>,
) -> Result<(StatusCode, Json<CreatedToken>), Problem> {
    principal.at_least(Role::Operator)?;
    if principal.sign_in.is_none() {
        return Err(Problem::PermissionDenied(Code::SignedInOperator));
    }
    let TokenDraft { name, role, tenants, only, expires_in: life } = draft;
    let scope =
        Scope::updated(None, Some(role), Some(tenants)).map_err(|error| Problem::ValidationFailed(vec![error]))?;
    within(&principal, &scope)?;
    let now = admin.now().await?;
    let times = (now, now.add_seconds(life));
    let created =
        json!({ "name": name, "role": scope.role, "tenants": scope.tenants, "only": only, "expires_in": life });
    let event = AuditEventBuilder::of(&principal, "token.create").changes(differences(&Value::Null, &created));
    let (id, secret, token) =
        match Token::create(&*admin.records, name, principal.operator.clone(), (scope, only), times).await {
            Ok(created) => created,
            Err(problem) => return Err(event.failed(&admin, problem).await),
        };
    event.subject(&id).log(&admin).await;
    Ok((StatusCode::CREATED, Json(CreatedToken { secret, token: TokenView::of(id, &token) })))
}

/// Nobody hands on more than they have.
fn within(principal: &Principal, scope: &Scope) -> Result<(), Problem> {
    let mut errors = Vec::new();
    if scope.role > principal.role {
        errors.push(FieldError::new("role", Code::RoleAboveOwn));
    }
    for (index, tenant) in scope.tenants.iter().enumerate().filter(|(_, tenant)| !principal.can_view(tenant)) {
        let fault = Code::TenantNotAccessible.with("tenant", tenant.as_str());
        errors.push(FieldError::new(format!("tenants[{index}]"), fault));
    }
    Problem::unless_valid(errors)
}

/// Revoke an API token
///
/// Revokes one of your own tokens; superusers can revoke any. An API token can revoke itself only. Effective immediately.
#[utoipa::path(delete, path = "/tokens/{token}", tag = "tokens",
    responses((status = 204, description = "Revoked")))]
pub(crate) async fn revoke_token(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
) -> Result<StatusCode, Problem> {
    let found = Token::load(&*admin.records, &id).await?.map(|(token, _)| token);
    let token = found.filter(|token| manages(&principal, &id, token));
    let token = token.ok_or(Problem::NotFound(Code::AToken))?;
    let event = AuditEventBuilder::of(&principal, "token.revoke").subject(&id).with("name", token.name);
    let event = event.with("operator", token.operator.to_string());
    event.written(&admin, admin.records.remove_document(DocumentKind::Tokens, &id).await).await?;
    Ok(StatusCode::NO_CONTENT)
}
