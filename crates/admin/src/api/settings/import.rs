use axum::Json;
use axum::extract::State;
use http::HeaderMap;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use vestibule_core::settings::parse_settings_document;
use vestibule_core::{PutMode, PutOutcome, StoreError};

use crate::access::{Principal, Role};
use crate::api::settings::plan::{Plan, QueueWork, Work};
use crate::api::tenants::TenantDraft;
use crate::audit::AuditEventBuilder;
use crate::body::{DOCUMENT_MAX, JsonBody};
use crate::confirmation::confirmed;
use crate::problem::Problem;
use crate::query::{Query, flag};
use crate::schema::QueueDraft;
use crate::secret::hash;
use crate::state::Admin;

/// A settings document to import.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes a body that is read field by field")]
pub(crate) struct SettingsDraft {
    /// The tenants.
    #[schema(max_items = 10_000, nullable = false)]
    tenants: Option<Vec<TenantDraft>>,
    /// The queues; their tenants must be in `tenants`.
    #[schema(max_items = 10_000, nullable = false)]
    queues: Option<Vec<QueueDraft>>,
}

/// The result of an import.
#[derive(Serialize, ToSchema)]
pub(crate) struct ImportResult {
    /// The planned changes.
    plan: Plan,
    /// Whether the plan was applied.
    applied: bool,
    /// Queues that somebody else changed meanwhile, and that were skipped as they are.
    skipped: Vec<String>,
}

/// Import settings
///
/// Creates and updates tenants and queues from a document. With `validate=true` the response is the plan and nothing is
/// written; otherwise a confirmation is needed. With `remove=true`, queues that the document does not contain are
/// removed.
#[utoipa::path(post, path = "/settings", tag = "settings", request_body = SettingsDraft,
    params(("validate" = Option<bool>, Query, description = "Return the plan only; nothing is written"),
        ("remove" = Option<bool>, Query, description = "Remove queues that the document does not contain"),
        ("X-Vestibule-Confirm" = Option<String>, Header, description = "The confirmation token of the first response")),
    responses(
        (status = 200, description = "The import or its plan", body = ImportResult),
        (status = 409, description = "Queues would conflict"),
        (status = 428, description = "Confirmation required"),
    ))]
pub(crate) async fn import_settings(
    State(admin): State<Admin>,
    principal: Principal,
    headers: HeaderMap,
    query: Query,
    JsonBody(body): JsonBody<DOCUMENT_MAX>,
) -> Result<Json<ImportResult>, Problem> {
    principal.at_least(Role::Superuser)?;
    let (only_plan, removes) = query.read(|fields| (flag(fields, "validate"), flag(fields, "remove")))?;
    let document = parse_settings_document(&Value::Object(body)).map_err(Problem::ValidationFailed)?;
    let mut plan = Plan::of(&admin, document, removes).await?;
    if only_plan || plan.is_empty() {
        return Ok(Json(ImportResult { plan, applied: false, skipped: Vec::new() }));
    }
    let subject = format!("settings.import {}", hash(&plan.subject()));
    confirmed(&admin, &principal, &headers, &subject, || plan.effect()).await?;
    let work = std::mem::take(&mut plan.work);
    let skipped = carry_out(&admin, &principal, work).await?;
    Ok(Json(ImportResult { plan, applied: true, skipped }))
}

async fn carry_out(admin: &Admin, principal: &Principal, work: Work) -> Result<Vec<String>, Problem> {
    let mut skipped = Vec::new();
    for (tenant, changes) in work.tenants {
        let event = AuditEventBuilder::of(principal, "settings.import").tenant(&tenant.id).changes(changes);
        event.written(admin, admin.store.put_tenant(&tenant).await).await?;
    }
    for QueueWork { mut settings, replaces, changes } in work.queues {
        let mode = replaces.map_or(PutMode::Always, PutMode::IfRevision);
        let event = AuditEventBuilder::of(principal, "settings.import").queue(&settings).changes(changes);
        match admin.store.put_settings(&settings, mode).await {
            Ok(PutOutcome::Stored(revision)) => {
                settings.line.revision = revision;
                event.queue(&settings).log(admin).await;
            }
            Ok(PutOutcome::Conflict(_) | PutOutcome::Removed) | Err(StoreError::UnknownQueue(_)) => {
                skipped.push(settings.id.to_string());
            }
            Err(error) => return Err(event.failed(admin, Problem::of_write(error)).await),
        }
    }
    for settings in work.removed {
        let event = AuditEventBuilder::of(principal, "queue.remove").queue(&settings);
        event.written(admin, admin.store.remove_queue(&settings.id).await).await?;
    }
    admin.refreshed().await;
    Ok(skipped)
}
