use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use vestibule_core::settings::FieldError;

use crate::access::{Principal, Role, Scope, Token, TokenLimit};
use crate::api::tokens::TokenView;
use crate::audit::AuditEventBuilder;
use crate::body::{JsonBody, read};
use crate::codes::Code;
use crate::problem::Problem;
use crate::query::one_of;
use crate::state::Admin;

/// Shortest and longest life of a token, in seconds.
const LIFE: std::ops::RangeInclusive<u64> = 60..=366 * 86_400;
/// Longest name, in characters.
const NAME_MAX: usize = 120;

/// A new token.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes a body that is read field by field")]
pub(crate) struct TokenDraft {
    /// Purpose of the token.
    #[schema(min_length = 1, max_length = 120)]
    name: String,
    /// The role, at most that of its owner.
    role: Role,
    /// The accessible tenants, at most those of its owner; empty for a superuser.
    #[schema(max_items = 100)]
    tenants: Option<Vec<String>>,
    /// Limits the token: `settings` for a token that only exports and imports settings, as needed by
    /// `vestibule apply`. Without it the token has all permissions of its role except managing operators.
    only: Option<TokenLimit>,
    /// Seconds until the token expires.
    #[schema(minimum = 60, maximum = 31_622_400)]
    expires_in: u64,
}

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
/// Requires a signed-in operator; API tokens are not accepted.
#[utoipa::path(post, path = "/tokens", tag = "tokens", request_body = TokenDraft,
    responses(
        (status = 201, description = "Created; the secret is shown only once", body = CreatedToken),
        (status = 409, description = "The limit of tokens is reached"),
    ))]
pub(crate) async fn create_token(
    State(admin): State<Admin>,
    principal: Principal,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<CreatedToken>), Problem> {
    principal.at_least(Role::Operator)?;
    if principal.sign_in.is_none() {
        return Err(Problem::PermissionDenied(Code::SignedInOperator));
    }
    let (name, scope, only, life) = read(&body, |fields| {
        let name = fields
            .required("name", Code::Characters.with("least", 1_u64).with("most", NAME_MAX), name)
            .unwrap_or_default();
        let scope = Scope::read(fields, None);
        let only =
            fields.optional("only", one_of(&["\"settings\""]), |value| serde_json::from_value(value.clone()).ok());
        let takes = Code::Seconds.with("least", *LIFE.start()).with("most", *LIFE.end());
        let life = fields.required("expires_in", takes, |value| value.as_u64().filter(|life| LIFE.contains(life)));
        (name, scope, only, life.unwrap_or(*LIFE.start()))
    })?;
    within(&principal, &scope)?;
    let now = admin.now().await?;
    let times = (now, now.add_seconds(life));
    let told = json!({ "name": name, "role": scope.role, "tenants": scope.tenants, "only": only, "expires_in": life });
    let event =
        AuditEventBuilder::of(&principal, "token.create").changes(crate::merge_patch::differences(&Value::Null, &told));
    let (id, secret, token) =
        match Token::create(&*admin.records, name, principal.operator.clone(), (scope, only), times).await {
            Ok(created) => created,
            Err(problem) => return Err(event.failed(&admin, problem).await),
        };
    event.subject(&id).log(&admin).await;
    Ok((StatusCode::CREATED, Json(CreatedToken { secret, token: TokenView::of(id, &token) })))
}

fn name(value: &Value) -> Option<String> {
    let text = value.as_str()?.trim();
    let fits = !text.is_empty() && text.chars().count() <= NAME_MAX && !text.chars().any(char::is_control);
    fits.then(|| text.to_owned())
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
    if errors.is_empty() { Ok(()) } else { Err(Problem::ValidationFailed(errors)) }
}
