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
use crate::audit::Deed;
use crate::body::{DOCUMENT_MAX, JsonBody};
use crate::confirmation::confirmed;
use crate::problem::{ErrorBody, Problem};
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
pub(crate) struct Imported {
    /// What there was to do.
    plan: Plan,
    /// Whether it was done.
    applied: bool,
    /// Queues that somebody else changed meanwhile, and that were left as they are.
    left: Vec<String>,
}

/// Imports settings
///
/// Makes tenants and queues what the document says. With `validate=true` the answer is the plan, and nothing is written;
/// without, it is to be confirmed. With `remove=true` queues that the document does not name are removed.
#[utoipa::path(post, path = "/settings", tag = "settings", request_body = SettingsDraft,
    params(("validate" = Option<bool>, Query, description = "Only say what would be done"),
        ("remove" = Option<bool>, Query, description = "Remove queues that the document does not name"),
        ("X-Vestibule-Confirm" = Option<String>, Header, description = "The token that the first answer carried")),
    responses(
        (status = 200, description = "What was done, or would be", body = Imported),
        (status = 409, description = "Queues would be in each other's way", body = ErrorBody),
        (status = 428, description = "Is to be confirmed", body = ErrorBody),
    ))]
pub(crate) async fn import_settings(
    State(admin): State<Admin>,
    caller: Caller,
    headers: HeaderMap,
    query: Query,
    JsonBody(body): JsonBody<DOCUMENT_MAX>,
) -> Result<Json<Imported>, Problem> {
    caller.at_least(Role::Superuser)?;
    let (only_plan, removes) = query.read(|fields| (flag(fields, "validate"), flag(fields, "remove")))?;
    let document = parse_settings_document(&Value::Object(body)).map_err(Problem::WrongFields)?;
    let mut plan = Plan::of(&admin, document, removes).await?;
    if only_plan || plan.is_empty() {
        return Ok(Json(Imported { plan, applied: false, left: Vec::new() }));
    }
    let subject = format!("settings.import {}", hash(&plan.subject()));
    confirmed(&admin, &caller, &headers, &subject, || plan.effect()).await?;
    let work = std::mem::take(&mut plan.work);
    let left = carry_out(&admin, &caller, work).await?;
    Ok(Json(Imported { plan, applied: true, left }))
}

async fn carry_out(admin: &Admin, caller: &Caller, work: Work) -> Result<Vec<String>, Problem> {
    let mut left = Vec::new();
    for (tenant, changes) in work.tenants {
        let deed = Deed::of(caller, "settings.import").tenant(&tenant.id).changes(changes);
        deed.written(admin, admin.store.put_tenant(&tenant).await).await?;
    }
    for QueueWork { mut settings, replaces, changes } in work.queues {
        let mode = replaces.map_or(PutMode::Always, PutMode::IfRevision);
        let deed = Deed::of(caller, "settings.import").queue(&settings).changes(changes);
        match admin.store.put_settings(&settings, mode).await {
            Ok(PutOutcome::Stored(revision)) => {
                settings.line.revision = revision;
                deed.queue(&settings).log(admin).await;
            }
            Ok(PutOutcome::Conflict(_) | PutOutcome::Removed) | Err(StoreError::UnknownQueue(_)) => {
                left.push(settings.id.to_string());
            }
            Err(error) => return Err(deed.failed(admin, Problem::of_write(error)).await),
        }
    }
    for settings in work.removed {
        let deed = Deed::of(caller, "queue.remove").queue(&settings);
        deed.written(admin, admin.store.remove_queue(&settings.id).await).await?;
    }
    admin.refreshed().await;
    Ok(left)
}
