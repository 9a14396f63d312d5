use axum::Json;
use axum::extract::State;
use http::HeaderMap;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use vestibule_core::settings::parse_settings_document;
use vestibule_core::{PutMode, PutOutcome, StoreError};

use crate::access::{Caller, Role};
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

/// Tenants and queues that are to be as they stand here.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes a body that is read field by field")]
pub(crate) struct SettingsDraft {
    /// The tenants.
    #[schema(max_items = 10_000, nullable = false)]
    tenants: Option<Vec<TenantDraft>>,
    /// The queues; their tenants are among those above.
    #[schema(max_items = 10_000, nullable = false)]
    queues: Option<Vec<QueueDraft>>,
}

/// What was done with a document.
#[derive(Serialize, ToSchema)]
pub(crate) struct ImportResult {
    /// What there was to do.
    plan: Plan,
    /// Whether it was done.
    applied: bool,
    /// Queues that somebody else changed meanwhile, and that were skipped as they are.
    skipped: Vec<String>,
}

/// Import settings
///
/// Makes tenants and queues what the document says. With `validate=true` the answer is the plan, and nothing is written;
/// without, it is to be confirmed. With `remove=true` queues that the document does not name are removed.
#[utoipa::path(post, path = "/settings", tag = "settings", request_body = SettingsDraft,
    params(("validate" = Option<bool>, Query, description = "Only say what would be done"),
        ("remove" = Option<bool>, Query, description = "Remove queues that the document does not name"),
        ("X-Vestibule-Confirm" = Option<String>, Header, description = "The confirmation token of the first response")),
    responses(
        (status = 200, description = "What was done, or would be", body = ImportResult),
        (status = 409, description = "Queues would be in each other's way"),
        (status = 428, description = "Confirmation required"),
    ))]
pub(crate) async fn import_settings(
    State(admin): State<Admin>,
    caller: Caller,
    headers: HeaderMap,
    query: Query,
    JsonBody(body): JsonBody<DOCUMENT_MAX>,
) -> Result<Json<ImportResult>, Problem> {
    caller.at_least(Role::Superuser)?;
    let (only_plan, removes) = query.read(|fields| (flag(fields, "validate"), flag(fields, "remove")))?;
    let document = parse_settings_document(&Value::Object(body)).map_err(Problem::ValidationFailed)?;
    let mut plan = Plan::of(&admin, document, removes).await?;
    if only_plan || plan.is_empty() {
        return Ok(Json(ImportResult { plan, applied: false, skipped: Vec::new() }));
    }
    let subject = format!("settings.import {}", hash(&plan.subject()));
    confirmed(&admin, &caller, &headers, &subject, || plan.effect()).await?;
    let work = std::mem::take(&mut plan.work);
    let skipped = carry_out(&admin, &caller, work).await?;
    Ok(Json(ImportResult { plan, applied: true, skipped }))
}

async fn carry_out(admin: &Admin, caller: &Caller, work: Work) -> Result<Vec<String>, Problem> {
    let mut skipped = Vec::new();
    for (tenant, changes) in work.tenants {
        let event = AuditEventBuilder::of(caller, "settings.import").tenant(&tenant.id).changes(changes);
        event.written(admin, admin.store.put_tenant(&tenant).await).await?;
    }
    for QueueWork { mut settings, replaces, changes } in work.queues {
        let mode = replaces.map_or(PutMode::Always, PutMode::IfRevision);
        let event = AuditEventBuilder::of(caller, "settings.import").queue(&settings).changes(changes);
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
        let event = AuditEventBuilder::of(caller, "queue.remove").queue(&settings);
        event.written(admin, admin.store.remove_queue(&settings.id).await).await?;
    }
    admin.refreshed().await;
    Ok(skipped)
}
