//! Tenants.

use axum::Json;
use axum::extract::State;
use http::{HeaderMap, StatusCode};
use serde::Serialize;
use serde_json::{Value, json};
use tracing::warn;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vestibule_core::settings::{Tenant, differences, job_queues_outside, values_outside};
use vestibule_core::{StoreError, TenantId};

use crate::access::{Operator, Principal, Role};
use crate::audit::AuditEventBuilder;
use crate::body::{Body, JsonBody, Segments, wrong};
use crate::codes::Code;
use crate::confirmation::confirmed;
use crate::describe::describe;
use crate::former_tenants::FormerTenants;
use crate::merge_patch::merge;
use crate::problem::Problem;
use crate::state::Admin;
use crate::themes::{quoted, refuse_missing_logo, takeover_refusal, themes_of};

/// How often an update begins again because someone else changed the tenant meanwhile.
const ATTEMPTS_MAX: usize = 5;

pub(crate) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new().routes(routes!(list_tenants, create_tenant)).routes(routes!(
        get_tenant,
        update_tenant,
        remove_tenant
    ))
}

/// A client brand.
pub(crate) struct TenantView;
/// A new tenant.
pub(crate) struct TenantDraft;
/// A JSON merge patch for a tenant.
pub(crate) struct TenantPatch;

describe! {
    TenantView = Tenant, Response;
    TenantDraft = Tenant, Request;
    TenantPatch = Tenant, Patch without ["id"];
}

/// A tenant that the principal may see.
async fn find_visible(admin: &Admin, principal: &Principal, id: &str) -> Result<Tenant, Problem> {
    let unknown = || Problem::NotFound(Code::ATenant);
    let id: TenantId = id.parse().map_err(|_| unknown())?;
    find(admin, &id).await?.filter(|_| principal.can_view(&id)).ok_or_else(unknown)
}

async fn find(admin: &Admin, id: &TenantId) -> Result<Option<Tenant>, StoreError> {
    Ok(admin.store.tenants().await?.into_iter().find(|tenant| tenant.id == *id))
}

/// A list of tenants.
#[derive(Serialize, ToSchema)]
pub(crate) struct Tenants {
    /// The tenants by id.
    #[schema(value_type = Vec<TenantView>)]
    tenants: Vec<Tenant>,
}

/// List tenants
///
/// Returns the tenants that you have access to, by ID.
#[utoipa::path(get, path = "/tenants", tag = "tenants",
    responses((status = 200, description = "The tenants", body = Tenants)))]
pub(crate) async fn list_tenants(State(admin): State<Admin>, principal: Principal) -> Result<Json<Tenants>, Problem> {
    let all = admin.store.tenants().await?;
    let tenants = all.into_iter().filter(|tenant| principal.can_view(&tenant.id)).collect();
    Ok(Json(Tenants { tenants }))
}

/// Create a tenant
#[utoipa::path(post, path = "/tenants", tag = "tenants", request_body = TenantDraft,
    responses(
        (status = 201, description = "Created", body = TenantView),
        (status = 409, description = "The ID is in use"),
    ))]
pub(crate) async fn create_tenant(
    State(admin): State<Admin>,
    principal: Principal,
    Body(tenant): Body<Tenant>,
) -> Result<(StatusCode, Json<Tenant>), Problem> {
    principal.at_least(Role::Superuser)?;
    if find(&admin, &tenant.id).await?.is_some() {
        return Err(Problem::AlreadyExists(Code::ThisId));
    }
    if let Some(error) = takeover_refusal(&admin, &tenant).await? {
        return Err(Problem::ValidationFailed(vec![error]));
    }
    refuse_missing_logo(&admin, &tenant).await?;
    let changes = differences(&Value::Null, &json!(tenant));
    let event = AuditEventBuilder::of(&principal, "tenant.create").tenant(&tenant.id).changes(changes);
    let created = admin.store.replace_tenant(None, &tenant).await.map_err(Problem::of_write);
    let created = created.and_then(|created| created.then_some(()).ok_or(Problem::AlreadyExists(Code::ThisId)));
    event.concluded(&admin, created).await?;
    Ok((StatusCode::CREATED, Json(tenant)))
}

/// Get a tenant
#[utoipa::path(get, path = "/tenants/{tenant}", tag = "tenants",
    responses((status = 200, description = "The tenant", body = TenantView)))]
pub(crate) async fn get_tenant(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
) -> Result<Json<Tenant>, Problem> {
    Ok(Json(find_visible(&admin, &principal, &id).await?))
}

/// Update a tenant
///
/// Applies a JSON merge patch. Pages show it within seconds. Only superusers can change `domains`, `origins` and
/// `max_job_queues`, and the lists only to such that cover all queues of the tenant.
#[utoipa::path(patch, path = "/tenants/{tenant}", tag = "tenants",
    request_body = TenantPatch,
    responses(
        (status = 200, description = "The updated tenant", body = TenantView),
        (status = 409, description = "Queues of the tenant use values that the lists do not allow, or others are changing the tenant"),
    ))]
pub(crate) async fn update_tenant(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
    JsonBody(patch): JsonBody,
) -> Result<Json<Tenant>, Problem> {
    let patch = Value::Object(patch);
    for _ in 0..ATTEMPTS_MAX {
        if let Some(tenant) = try_update(&admin, &principal, &id, &patch).await? {
            return Ok(Json(tenant));
        }
    }
    Err(Problem::ConcurrentChange)
}

/// Applies a merge patch to the tenant that is stored now; `None` if someone else changed it meanwhile.
async fn try_update(admin: &Admin, principal: &Principal, id: &str, patch: &Value) -> Result<Option<Tenant>, Problem> {
    let before = find_visible(admin, principal, id).await?;
    principal.can_edit(&before.id)?;
    let mut document = json!(before);
    merge(&mut document, patch);
    let tenant = Tenant::from_value(&document).map_err(Problem::ValidationFailed)?;
    if tenant.id != before.id {
        return Err(wrong("id", Code::Immutable));
    }
    let lists = [("domains", tenant.domains != before.domains), ("origins", tenant.origins != before.origins)];
    for (field, changed) in
        lists.into_iter().chain([("max_job_queues", tenant.max_job_queues != before.max_job_queues)])
    {
        if changed && !principal.is_superuser() {
            return Err(wrong(field, Code::SuperuserOnly));
        }
    }
    if lists.into_iter().any(|(_, changed)| changed) {
        refuse_if_outside(admin, &tenant).await?;
    }
    if tenant.logo != before.logo {
        refuse_missing_logo(admin, &tenant).await?;
    }
    let changes = differences(&json!(before), &json!(tenant));
    if changes.is_empty() {
        return Ok(Some(tenant));
    }
    let event = AuditEventBuilder::of(principal, "tenant.update").tenant(&tenant.id).changes(changes);
    match admin.store.replace_tenant(Some(&before), &tenant).await {
        Ok(false) => Ok(None),
        written => event.written(admin, written).await.map(|_| Some(tenant)),
    }
}

async fn refuse_if_outside(admin: &Admin, tenant: &Tenant) -> Result<(), Problem> {
    admin.directory.refresh().await?;
    let queues = admin.directory.queues();
    let mut found = values_outside(tenant, queues.iter().map(|queue| &queue.settings));
    if let Some(job_queues) = &admin.jobs {
        let job_queues = job_queues.stored().await?;
        found.extend(job_queues_outside(tenant, job_queues.iter().map(|it| &it.settings)));
    }
    if found.is_empty() { Ok(()) } else { Err(Problem::QueuesOutside(found)) }
}

/// Remove a tenant
///
/// Only a tenant without queues, job queues and themes can be removed. Needs a confirmation, which names the operators who keep
/// the ID of the tenant and so get access to a later tenant with it. Superusers can still read its audit events; a later tenant
/// with the same ID does not see them.
#[utoipa::path(delete, path = "/tenants/{tenant}", tag = "tenants",
    params(("X-Vestibule-Confirm" = Option<String>, Header, description = "The confirmation token of the first response")),
    responses(
        (status = 204, description = "Removed"),
        (status = 409, description = "The tenant has queues, job queues or themes, someone else is removing it, or too many tenants were removed within `--audit-days`"),
    ))]
pub(crate) async fn remove_tenant(
    State(admin): State<Admin>,
    principal: Principal,
    headers: HeaderMap,
    Segments(id): Segments<String>,
) -> Result<StatusCode, Problem> {
    principal.at_least(Role::Superuser)?;
    let tenant = find_visible(&admin, &principal, &id).await?;
    admin.directory.refresh().await?;
    let queues = admin.directory.queues();
    let own: Vec<_> = queues.iter().filter(|it| it.settings.tenant == tenant.id).map(|it| &it.settings.id).collect();
    let job_queues = match &admin.jobs {
        Some(job_queues) => job_queues.stored().await?,
        None => Vec::new(),
    };
    let job_queues: Vec<_> =
        job_queues.iter().filter(|it| it.settings.tenant == tenant.id).map(|it| it.settings.id.as_str()).collect();
    if !job_queues.is_empty() {
        return Err(Problem::NotEmptyOfJobs(job_queues.join(", ")));
    }
    if !own.is_empty() {
        let names: Vec<String> = own.iter().map(|id| format!("\"{id}\"")).collect();
        return Err(Problem::NotEmpty(names.join(", ")));
    }
    let themes = themes_of(&admin, &tenant.id).await?;
    if !themes.is_empty() {
        return Err(Problem::NotEmptyOfThemes(quoted(&themes)));
    }
    let operators = Operator::all(&*admin.records).await?.into_iter();
    let operators = operators.filter(|(_, operator, _)| operator.scope.tenants.contains(&tenant.id));
    let operators: Vec<String> = operators.map(|(name, ..)| name.to_string()).collect();
    let effect = || {
        let removal = Code::WillRemoveTenant.with("tenant", tenant.id.as_str());
        if operators.is_empty() {
            return removal;
        }
        let access = Code::WillLeaveOperators.with("operators", operators.join(", "));
        Code::Both.with("first", removal).with("then", access)
    };
    confirmed(&admin, &principal, &headers, &format!("tenant.remove {}", tenant.id), effect).await?;
    // First, so that a later tenant with this ID never sees the events.
    let earlier = FormerTenants::add(&admin, &tenant.id).await?;
    let removed = admin.store.remove_tenant(&tenant.id).await;
    // Its operators see its events again.
    if removed.is_err()
        && find(&admin, &tenant.id).await.is_ok_and(|found| found.is_some())
        && let Err(error) = FormerTenants::restore(&admin, &tenant.id, earlier).await
    {
        warn!(%error, tenant = %tenant.id, "the tenant was not removed, but its operators do not see its earlier events");
    }
    let event = AuditEventBuilder::of(&principal, "tenant.remove").tenant(&tenant.id);
    event.written(&admin, removed).await?;
    if let Err(error) = FormerTenants::add(&admin, &tenant.id).await {
        warn!(%error, tenant = %tenant.id, "operators of a later tenant with this ID can see the event of the removal");
    }
    Ok(StatusCode::NO_CONTENT)
}
