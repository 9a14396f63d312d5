//! All settings as one document.

mod plan;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::HeaderMap;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vestibule_core::fields::Flag;
use vestibule_core::jobs::JobQueueSettings;
use vestibule_core::settings::{
    Document, JobQueueChange, JobQueuePlan, Plan, StoredJobQueue, StoredSettings, Tenant, TenantChange,
    parse_settings_document,
};
use vestibule_core::{fields, word_field};
use vestibule_runtime::write_queue;

pub use self::plan::{ImportPlan, PlannedChange, PlannedLobby, planned_lobbies};

use self::plan::{PlannedImport, plan_import};
use crate::access::{Principal, Role};
use crate::api::job_queues::{JobQueueDraft, settings_for};
use crate::api::queues::service::record_turning_points;
use crate::api::tenants::TenantView;
use crate::audit::AuditEventBuilder;
use crate::body::{Query, UnreadBody};
use crate::confirmation::confirmed;
use crate::describe::describe;
use crate::problem::Problem;
use crate::queue_settings::QueueSettings;
use crate::secret::hash;
use crate::state::Admin;
use crate::toml::to_toml;

pub(crate) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new().routes(routes!(export_settings, import_settings))
}

/// A settings document.
#[derive(Serialize, ToSchema)]
pub(crate) struct SettingsDocument {
    /// The tenants by id.
    #[schema(value_type = Vec<TenantView>)]
    tenants: Vec<Tenant>,
    /// The queues by id.
    queues: Vec<QueueSettings>,
    /// The job queues by id, without their signing secrets. An import keeps the secrets of job queues that exist, and
    /// generates others.
    #[schema(value_type = Vec<JobQueueDraft>)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    job_queues: Vec<Value>,
}

/// Export all settings
///
/// Returns all tenants, queues and job queues that you have access to as one JSON or TOML document, in the format of `POST
/// /settings` and `vestibule serve --settings`.
#[utoipa::path(get, path = "/settings", tag = "settings",
    params(ExportQuery),
    responses((status = 200, description = "The document", content((SettingsDocument = "application/json"), (String = "application/toml")))))]
pub(crate) async fn export_settings(
    State(admin): State<Admin>,
    principal: Principal,
    Query(ExportQuery { format }): Query<ExportQuery>,
) -> Result<Response, Problem> {
    // A document without a queue that can't be read would look complete.
    admin.directory.refresh().await?;
    let queues = admin.cached_queues(&principal);
    let tenants = admin.store.tenants().await?;
    let tenants = tenants.into_iter().filter(|tenant| principal.can_view(&tenant.id));
    let job_queues = match &admin.jobs {
        Some(job_queues) => job_queues.stored().await?,
        None => Vec::new(),
    };
    let job_queues = job_queues.iter().filter(|it| principal.can_view(&it.settings.tenant));
    let document = SettingsDocument {
        tenants: tenants.collect(),
        queues: queues.iter().map(|it| QueueSettings(it.settings.clone())).collect(),
        job_queues: job_queues.map(|it| settings_for(&principal, &it.settings)).collect(),
    };
    if format == SettingsFormat::Toml {
        let head =
            [(CONTENT_TYPE, "application/toml"), (CONTENT_DISPOSITION, "attachment; filename=\"vestibule.toml\"")];
        return Ok((head, to_toml(&json!(document))).into_response());
    }
    Ok(Json(document).into_response())
}

/// A settings document to import.
pub(crate) struct SettingsDraft;

describe!(SettingsDraft = Document, Request);

/// The format of an export.
#[derive(Clone, Copy, PartialEq)]
enum SettingsFormat {
    Json,
    Toml,
}

word_field!(SettingsFormat { Json = "json", Toml = "toml" });

fields! {
    /// An export.
    pub(crate) struct ExportQuery {
        /// Format of the document.
        format: SettingsFormat = SettingsFormat::Json,
    }
}

fields! {
    /// How to import.
    pub(crate) struct ImportQuery {
        /// Return the plan only; nothing is written.
        validate: Flag = false,
        /// Remove queues that the document does not contain.
        remove: Flag = false,
    }
}

describe!(query ExportQuery, ImportQuery);

/// The result of an import.
#[derive(Serialize, ToSchema)]
pub(crate) struct ImportResult {
    /// The planned changes.
    plan: ImportPlan,
    /// Whether the plan was applied.
    applied: bool,
    /// Queues that were skipped because someone else changed them.
    skipped: Vec<String>,
    /// Job queues that were skipped because someone else changed them, or that were not removed because they have jobs.
    skipped_job_queues: Vec<String>,
}

/// Import settings
///
/// Creates and updates tenants, queues and job queues from a document. With `validate=true` the response is the plan and
/// nothing is written; otherwise a confirmation is needed. With `remove=true`, queues and job queues that the document does not
/// contain are removed, except job queues with jobs or dead letters.
#[utoipa::path(post, path = "/settings", tag = "settings", request_body = SettingsDraft,
    params(ImportQuery,
        ("X-Vestibule-Confirm" = Option<String>, Header, description = "The confirmation token of the first response")),
    responses(
        (status = 200, description = "The import or its plan", body = ImportResult),
        (status = 409, description = "Queues would conflict, or someone else is changing a tenant; queues and job queues are not written then"),
    ))]
pub(crate) async fn import_settings(
    State(admin): State<Admin>,
    principal: Principal,
    headers: HeaderMap,
    Query(ImportQuery { validate, remove }): Query<ImportQuery>,
    body: UnreadBody,
) -> Result<Json<ImportResult>, Problem> {
    principal.at_least(Role::Superuser)?;
    let body = body.object().await?;
    let document = parse_settings_document(&Value::Object(body)).map_err(Problem::ValidationFailed)?;
    let PlannedImport { stored, mut plan, shown, consequences } = plan_import(&admin, document, remove).await?;
    if validate || plan.is_empty() {
        return Ok(Json(ImportResult {
            plan: shown,
            applied: false,
            skipped: Vec::new(),
            skipped_job_queues: Vec::new(),
        }));
    }
    let subject = format!("settings.import {}", hash(&shown.subject()));
    confirmed(&admin, &principal, &headers, &subject, || shown.effect(consequences)).await?;
    plan.settle_removed_beacons(&stored, admin.now().await?);
    let job_queues = std::mem::take(&mut plan.job_queues);
    let skipped = execute(&admin, &principal, &stored, plan).await?;
    let skipped_job_queues = execute_job_queues(&admin, &principal, &job_queues).await?;
    Ok(Json(ImportResult { plan: shown, applied: true, skipped, skipped_job_queues }))
}

/// Writes and audits the job queues of a plan. Returns those that were not written.
async fn execute_job_queues(admin: &Admin, principal: &Principal, plan: &JobQueuePlan) -> Result<Vec<String>, Problem> {
    let Some(job_queues) = admin.jobs.as_ref().filter(|_| !plan.is_empty()) else { return Ok(Vec::new()) };
    let written = job_queues.execute(plan).await.map_err(Problem::of_write)?;
    let event = |action, settings: &JobQueueSettings| {
        AuditEventBuilder::of(principal, action).tenant(&settings.tenant).subject(&settings.id)
    };
    for JobQueueChange { settings, changes, .. } in &plan.changed {
        if written.written.iter().any(|it| it.id == settings.id) {
            event("settings.import", settings).changes(changes.clone()).log(admin).await;
        }
    }
    for StoredJobQueue { settings, .. } in plan.removed.iter().filter(|it| written.removed.contains(&it.settings.id)) {
        event("job_queue.remove", settings).log(admin).await;
    }
    Ok(written.skipped.iter().chain(&written.not_empty).map(ToString::to_string).collect())
}

/// Writes and audits a plan. Returns the queues that were changed since it was made.
async fn execute(
    admin: &Admin,
    principal: &Principal,
    stored: &StoredSettings,
    plan: Plan,
) -> Result<Vec<String>, Problem> {
    let mut skipped = Vec::new();
    for TenantChange { tenant, changes, .. } in plan.tenants {
        let event = AuditEventBuilder::of(principal, "settings.import").tenant(&tenant.id).changes(changes);
        let written = admin.store.replace_tenant(stored.tenant(&tenant.id), &tenant).await.map_err(Problem::of_write);
        let written = written.and_then(|is_written| if is_written { Ok(()) } else { Err(Problem::ConcurrentChange) });
        event.concluded(admin, written).await?;
    }
    for change in &plan.queues {
        let mut settings = change.settings.clone();
        let event =
            AuditEventBuilder::of(principal, "settings.import").queue(&settings).changes(change.changes.clone());
        match write_queue(&*admin.store, change).await {
            Ok(Some(revision)) => {
                settings.line.revision = revision;
                event.queue(&settings).log(admin).await;
                record_turning_points(admin, stored.queue(&settings.id), &settings).await;
            }
            Ok(None) => skipped.push(settings.id.to_string()),
            Err(error) => return Err(event.failed(admin, Problem::of_write(error)).await),
        }
    }
    for settings in plan.removed.iter().filter_map(|id| stored.queue(id)) {
        let event = AuditEventBuilder::of(principal, "queue.remove").queue(settings);
        event.written(admin, admin.store.remove_queue(&settings.id).await).await?;
    }
    admin.refreshed().await;
    Ok(skipped)
}
