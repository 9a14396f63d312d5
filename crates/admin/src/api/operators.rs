//! Operators. Only superusers manage them, and only after signing in or confirming the password a short while ago: a stolen
//! token or cookie must not become an account.

use axum::Json;
use axum::extract::State;
use http::{HeaderMap, StatusCode};
use serde::Serialize;
use serde_json::{Map, Value};
use tracing::warn;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vestibule_core::TenantId;
use vestibule_core::fields;
use vestibule_core::fields::{FieldError, ObjectReader, Omissible};
use vestibule_core::settings::{FieldChange, FieldErrorCode, differences};
use vestibule_records::DocumentKind;

use crate::access::{NewPassword, Operator, OperatorName, Principal, Role, Scope, TenantIds, Token};
use crate::audit::AuditEventBuilder;
use crate::body::{Body, Segments, wrong};
use crate::codes::Code;
use crate::confirmation::confirmed;
use crate::describe::describe;
use crate::problem::Problem;
use crate::state::Admin;

pub(crate) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new()
        .routes(routes!(list_operators, create_operator))
        .routes(routes!(get_operator, update_operator, remove_operator))
        .routes(routes!(remove_operator_totp))
}

/// An operator, without the password.
#[derive(Serialize, ToSchema)]
pub(crate) struct OperatorView {
    /// Name of the operator.
    name: String,
    /// The role.
    role: Role,
    /// The accessible tenants; empty for a superuser, who has all.
    tenants: Vec<String>,
    /// Creation time in seconds since 1970.
    created_at: u64,
    /// When the password was set, in seconds since 1970; `null` without a password, for single
    /// sign-on.
    password_at: Option<u64>,
    /// When TOTP was set up, in seconds since 1970; `null` without TOTP.
    totp_at: Option<u64>,
}

impl OperatorView {
    fn of(name: &OperatorName, operator: &Operator) -> Self {
        Self {
            name: name.to_string(),
            role: operator.scope.role,
            tenants: operator.scope.tenants.iter().map(ToString::to_string).collect(),
            created_at: operator.created_at.seconds(),
            password_at: operator.password.as_ref().map(|_| operator.password_at.seconds()),
            totp_at: operator.totp.as_ref().map(|totp| totp.set_up_at.seconds()),
        }
    }

    /// The scope as recorded in the audit log.
    fn scope(operator: Option<&Operator>) -> Value {
        operator.map_or(Value::Null, |it| serde_json::json!({ "role": it.scope.role, "tenants": it.scope.tenants }))
    }
}

async fn find(admin: &Admin, name: &str) -> Result<(OperatorName, Operator, u64), Problem> {
    let unknown = || Problem::NotFound(Code::AnOperator);
    let name: OperatorName = name.parse().map_err(|_| unknown())?;
    let (operator, revision) = Operator::load(&*admin.records, &name).await?.ok_or_else(unknown)?;
    Ok((name, operator, revision))
}

/// Checks that there is another superuser, before a confirmation is asked for. The write checks it again atomically.
async fn not_the_last(admin: &Admin, name: &OperatorName) -> Result<(), Problem> {
    let all = Operator::all(&*admin.records).await?;
    if all.iter().any(|(other, operator, _)| other != name && operator.is_superuser()) {
        return Ok(());
    }
    Err(Problem::LastSuperuser(name.to_string()))
}

/// Refuses tenants that do not exist. A later tenant with such an ID would be accessible at once.
async fn tenants_exist(admin: &Admin, tenants: &[TenantId]) -> Result<(), Problem> {
    let known = admin.store.tenants().await?;
    let missing = tenants.iter().enumerate().filter(|(_, id)| known.iter().all(|tenant| tenant.id != **id));
    let error = |(index, id): (usize, &TenantId)| {
        FieldError::new(format!("tenants[{index}]"), Code::NoSuchTenant.with("tenant", id.as_str()))
    };
    Problem::unless_valid(missing.map(error).collect())
}

/// That a password was set, without it.
fn password_set() -> FieldChange {
    FieldChange { field: "password".to_owned(), from: Value::Null, to: Value::String("set".to_owned()) }
}

/// All operators.
#[derive(Serialize, ToSchema)]
pub(crate) struct Operators {
    /// The operators by name.
    operators: Vec<OperatorView>,
}

/// List operators
#[utoipa::path(get, path = "/operators", tag = "operators",
    responses((status = 200, description = "The operators", body = Operators)))]
pub(crate) async fn list_operators(
    State(admin): State<Admin>,
    principal: Principal,
) -> Result<Json<Operators>, Problem> {
    principal.at_least(Role::Superuser)?;
    let all = Operator::all(&*admin.records).await?;
    let operators = all.iter().map(|(name, operator, _)| OperatorView::of(name, operator)).collect();
    Ok(Json(Operators { operators }))
}

fields! {
    /// A new operator.
    pub(crate) struct OperatorDraft {
        /// The name to sign in with.
        name: OperatorName,
        /// The password. Without one the operator uses single sign-on, which must be configured.
        password: Omissible<NewPassword>,
        /// The role.
        role: Role,
        /// The accessible tenants; empty for a superuser.
        tenants: TenantIds = Vec::new(),
    }
    check = check_scope;
}

fn check_scope(draft: &mut OperatorDraft, object: &mut ObjectReader<'_>) {
    if let Err(error) = Scope::updated(None, Some(draft.role), Some(draft.tenants.clone())) {
        object.error(&error.field, error.fault);
    }
}

fields! {
    /// Changes to an operator. Absent fields stay unchanged.
    pub(crate) struct OperatorPatch {
        /// A new password; ends all their sign-ins.
        password: Omissible<NewPassword>,
        /// The role.
        role: Omissible<Role>,
        /// The accessible tenants.
        tenants: Omissible<TenantIds>,
    }
}

describe!(request OperatorDraft, OperatorPatch);

/// Create an operator
///
/// Requires a superuser who signed in or confirmed the password within the last five minutes (`POST /sign-in/proof`).
/// API tokens are not accepted.
#[utoipa::path(post, path = "/operators", tag = "operators", request_body = OperatorDraft,
    responses(
        (status = 201, description = "Created", body = OperatorView),
        (status = 409, description = "The name is in use"),
    ))]
pub(crate) async fn create_operator(
    State(admin): State<Admin>,
    principal: Principal,
    Body(draft): Body<OperatorDraft>,
) -> Result<(StatusCode, Json<OperatorView>), Problem> {
    let now = admin.now().await?;
    principal.manages_operators(now)?;
    let OperatorDraft { name, password, role, tenants } = draft;
    if password.is_none() && admin.provider.is_none() {
        return Err(wrong("password", FieldErrorCode::Required.with("what", Code::NewPassword)));
    }
    tenants_exist(&admin, &tenants).await?;
    let scope =
        Scope::updated(None, Some(role), Some(tenants)).map_err(|error| Problem::ValidationFailed(vec![error]))?;
    let password = match password {
        Some(password) => Some(admin.passwords.hash(&password).await?),
        None => None,
    };
    let operator = Operator { scope, password, password_at: now, created_at: now, totp: None, unknown: Map::new() };
    let changes = differences(&Value::Null, &OperatorView::scope(Some(&operator)));
    let changes = changes.into_iter().chain(operator.password.as_ref().map(|_| password_set())).collect();
    let event = AuditEventBuilder::of(&principal, "operator.create").subject(&name).changes(changes);
    event.concluded(&admin, operator.store(&*admin.records, &name, 0).await).await?;
    Ok((StatusCode::CREATED, Json(OperatorView::of(&name, &operator))))
}

/// Get an operator
#[utoipa::path(get, path = "/operators/{operator}", tag = "operators",
    responses((status = 200, description = "The operator", body = OperatorView)))]
pub(crate) async fn get_operator(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(name): Segments<String>,
) -> Result<Json<OperatorView>, Problem> {
    principal.at_least(Role::Superuser)?;
    let (name, operator, _) = find(&admin, &name).await?;
    Ok(Json(OperatorView::of(&name, &operator)))
}

/// Update an operator
///
/// Effective from their next request. A new password ends all their sign-ins. Requires a superuser who signed in or
/// confirmed the password within the last five minutes (`POST /sign-in/proof`). API tokens are not accepted.
#[utoipa::path(patch, path = "/operators/{operator}", tag = "operators", request_body = OperatorPatch,
    responses(
        (status = 200, description = "The updated operator", body = OperatorView),
        (status = 409, description = "The last superuser, or someone else is changing the operator"),
    ))]
pub(crate) async fn update_operator(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(name): Segments<String>,
    Body(patch): Body<OperatorPatch>,
) -> Result<Json<OperatorView>, Problem> {
    principal.manages_operators(admin.now().await?)?;
    let (name, before, revision) = find(&admin, &name).await?;
    let mut after = before.clone();
    let added = patch.tenants.iter().flatten().filter(|id| !before.scope.tenants.contains(id));
    tenants_exist(&admin, &added.cloned().collect::<Vec<_>>()).await?;
    after.scope = Scope::updated(Some(&before.scope), patch.role, patch.tenants)
        .map_err(|error| Problem::ValidationFailed(vec![error]))?;
    let mut changes = differences(&OperatorView::scope(Some(&before)), &OperatorView::scope(Some(&after)));
    if let Some(password) = patch.password {
        after.password = Some(admin.passwords.hash(&password).await?);
        after.password_at = admin.now().await?;
        changes.push(password_set());
    }
    if !changes.is_empty() {
        let event = AuditEventBuilder::of(&principal, "operator.update").subject(&name).changes(changes);
        event.concluded(&admin, after.replace(&*admin.records, &name, (&before, revision)).await).await?;
    }
    Ok(Json(OperatorView::of(&name, &after)))
}

/// Remove an operator
///
/// Removes the operator with their API tokens and ends their sign-ins. Needs a confirmation. Requires a superuser who
/// signed in or confirmed the password within the last five minutes (`POST /sign-in/proof`). API tokens are not
/// accepted.
#[utoipa::path(delete, path = "/operators/{operator}", tag = "operators",
    params(("X-Vestibule-Confirm" = Option<String>, Header, description = "The confirmation token of the first response")),
    responses(
        (status = 204, description = "Removed"),
        (status = 409, description = "The last superuser"),
    ))]
pub(crate) async fn remove_operator(
    State(admin): State<Admin>,
    principal: Principal,
    headers: HeaderMap,
    Segments(name): Segments<String>,
) -> Result<StatusCode, Problem> {
    principal.manages_operators(admin.now().await?)?;
    let (name, operator, revision) = find(&admin, &name).await?;
    if operator.is_superuser() {
        not_the_last(&admin, &name).await?;
    }
    let tokens: Vec<_> = Token::all(&*admin.records).await?.into_iter().filter(|(_, it)| it.operator == name).collect();
    let effect = || Code::WillRemoveOperator.with("operator", name.as_str()).with("tokens", tokens.len());
    confirmed(&admin, &principal, &headers, &format!("operator.remove {name} {revision}"), effect).await?;
    let event = AuditEventBuilder::of(&principal, "operator.remove").subject(&name).with("tokens", tokens.len());
    event.concluded(&admin, operator.remove(&*admin.records, &name, revision).await).await?;
    for (id, _) in &tokens {
        // A token without an owner is invalid, whether or not its record is removed.
        if let Err(error) = admin.records.remove_document(DocumentKind::Tokens, id).await {
            warn!(%error, token = id, "the token of a removed operator could not be removed");
        }
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Remove an operator's TOTP
///
/// For an operator who lost their phone and recovery codes: the next sign-in needs only the password. Requires a
/// superuser who signed in or confirmed the password within the last five minutes (`POST /sign-in/proof`). API tokens
/// are not accepted.
#[utoipa::path(delete, path = "/operators/{operator}/totp", tag = "operators",
    responses(
        (status = 204, description = "TOTP is off"),
        (status = 409, description = "Someone else changed this operator at the same time"),
    ))]
pub(crate) async fn remove_operator_totp(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(name): Segments<String>,
) -> Result<StatusCode, Problem> {
    principal.manages_operators(admin.now().await?)?;
    let (name, mut operator, revision) = find(&admin, &name).await?;
    if operator.totp.take().is_some() {
        let stored = operator.store(&*admin.records, &name, revision).await;
        AuditEventBuilder::of(&principal, "operator.disable_totp").subject(&name).concluded(&admin, stored).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}
