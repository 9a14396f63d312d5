//! Queues.

mod beacon;
pub(crate) mod events;
mod invitations;
mod protection;
mod report;
pub(crate) mod service;
mod url_test;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::ETAG;
use http::{HeaderMap, StatusCode};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vestibule_core::fields::{Bounded, Omissible, Text};
use vestibule_core::settings::{FieldChange, Settings, differences, hasty_starts, late_lobbies};
use vestibule_core::{QueueId, TenantId, fields};

use self::events::confirm_lobby_changes;
use self::service::{IfMatch, Patched, change, create, draft, find_editable, find_visible, patched};
use crate::access::Principal;
use crate::audit::AuditEventBuilder;
use crate::body::{JsonBody, Query, Segments, ValidateQuery, wrong};
use crate::codes::Code;
use crate::confirmation::confirmed;
use crate::describe::{FieldChangeSchema, describe};
use crate::merge_patch::merge;
use crate::problem::{FieldProblem, Problem, RevisionConflict};
use crate::queue_settings::{QueueClone, QueueDraft, QueuePatch, QueueSettings, etag};
use crate::state::Admin;

pub(crate) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new()
        .routes(routes!(list_queues, create_queue))
        .routes(routes!(get_queue, update_queue, remove_queue))
        .routes(routes!(clone_queue))
        .routes(routes!(events::get_event))
        .routes(routes!(beacon::record_beacon_value))
        .routes(routes!(report::get_event_report))
        .routes(routes!(report::get_queue_report))
        .routes(routes!(invitations::list_invitations))
        .routes(routes!(invitations::get_invitation_codes))
        .routes(routes!(protection::start_attack_mode, protection::end_attack_mode))
        .routes(routes!(protection::get_queue_protection))
        .routes(routes!(url_test::test_url))
}

/// The result of a validation.
#[derive(Serialize, ToSchema)]
pub(crate) struct Validated {
    /// The resulting settings.
    settings: QueueSettings,
    /// The changed fields.
    #[schema(value_type = Vec<FieldChangeSchema>)]
    changes: Vec<FieldChange>,
    /// What the change does not prevent, and may surprise: an event that is saved shortly before its lobby.
    warnings: Vec<FieldProblem>,
}

impl Validated {
    fn without_warnings(settings: Settings, changes: Vec<FieldChange>) -> Self {
        Self { settings: QueueSettings(settings), changes, warnings: Vec::new() }
    }
}

/// Most queues of a page.
const PAGE_MAX: u64 = 500;
/// Longest text that is searched for.
const SEARCH_MAX: usize = 200;

/// A page of queues.
#[derive(Serialize, ToSchema)]
pub(crate) struct QueuePage {
    /// The queues by id.
    queues: Vec<QueueSettings>,
    /// Start of the next page as `after`; `null` at the end.
    next: Option<String>,
}

fields! {
    /// The wanted queues.
    pub(crate) struct QueuesQuery {
        /// Only queues of this tenant.
        tenant: Omissible<TenantId>,
        /// Only queues with this text in ID, name or a host.
        search: Text<SEARCH_MAX> = String::new(),
        /// Return queues after this ID.
        after: Omissible<QueueId>,
        /// Maximum number of results.
        limit: Bounded<1, PAGE_MAX> = 100,
    }
}

describe!(query QueuesQuery);

/// List queues
///
/// Returns the queues that you have access to, with all settings, by ID.
#[utoipa::path(get, path = "/queues", tag = "queues",
    params(QueuesQuery),
    responses((status = 200, description = "The queues", body = QueuePage)))]
pub(crate) async fn list_queues(
    State(admin): State<Admin>,
    principal: Principal,
    Query(QueuesQuery { tenant, search, after, limit }): Query<QueuesQuery>,
) -> Result<Json<QueuePage>, Problem> {
    let (search, limit) = (search.to_lowercase(), limit as usize);
    let mut queues = admin.visible_queues(&principal).await?;
    queues.retain(|queue| {
        let settings = &queue.settings;
        tenant.as_ref().is_none_or(|tenant| settings.tenant == *tenant)
            && after.as_ref().is_none_or(|after| settings.id > *after)
            && (settings.id.as_str().contains(&search)
                || settings.name.to_lowercase().contains(&search)
                || settings.hosts.iter().any(|host| host.to_string().contains(&search)))
    });
    let more = queues.len() > limit;
    queues.truncate(limit);
    let next = queues.last().filter(|_| more).map(|queue| queue.settings.id.to_string());
    Ok(Json(QueuePage { queues: queues.iter().map(|queue| QueueSettings(queue.settings.clone())).collect(), next }))
}

/// Create a queue
///
/// Active from the next request to its hosts. The server sets `epoch`, so that tickets of an earlier queue with this ID are void. With
/// `validate=true` nothing is written.
#[utoipa::path(post, path = "/queues", tag = "queues", request_body = QueueDraft,
    params(ValidateQuery),
    responses(
        (status = 200, description = "What would be written", body = Validated),
        (status = 201, description = "Created", body = QueueSettings, headers(("ETag" = String))),
        (status = 409, description = "The ID is in use, or another queue conflicts"),
    ))]
pub(crate) async fn create_queue(
    State(admin): State<Admin>,
    principal: Principal,
    Query(ValidateQuery { validate }): Query<ValidateQuery>,
    JsonBody(body): JsonBody,
) -> Result<Response, Problem> {
    let settings = draft(&admin, &principal, body, None).await?;
    if validate {
        let changes = differences(&Value::Null, &settings.to_value());
        return Ok(Json(Validated::without_warnings(settings, changes)).into_response());
    }
    let settings = create(&admin, AuditEventBuilder::of(&principal, "queue.create"), settings).await?;
    Ok((StatusCode::CREATED, QueueSettings(settings)).into_response())
}

/// Clone a queue
///
/// Applies the body to the settings of the queue. It needs at least an `id`, and hosts if both queues cannot have the
/// same. Sessions are not cloned. With `validate=true` nothing is written.
#[utoipa::path(post, path = "/queues/{queue}/clone", tag = "queues", request_body = QueueClone,
    params(ValidateQuery),
    responses(
        (status = 200, description = "What would be written", body = Validated),
        (status = 201, description = "Created", body = QueueSettings, headers(("ETag" = String))),
        (status = 409, description = "The ID is in use, or another queue conflicts"),
    ))]
pub(crate) async fn clone_queue(
    State(admin): State<Admin>,
    principal: Principal,
    Query(ValidateQuery { validate }): Query<ValidateQuery>,
    Segments(id): Segments<String>,
    JsonBody(patch): JsonBody,
) -> Result<Response, Problem> {
    let original = find_editable(&admin, &principal, &id).await?;
    if patch.get("id").is_none_or(Value::is_null) {
        return Err(wrong("id", Code::CloneNeedsId));
    }
    let mut document = original.to_value();
    if let Some(map) = document.as_object_mut() {
        map.remove("epoch");
    }
    forget_recorded_beacons(&mut document);
    merge(&mut document, &Value::Object(patch));
    let Value::Object(document) = document else { return Err(Problem::InvalidBody(Code::NotAnObject.into())) };
    let settings = draft(&admin, &principal, document, Some(&original)).await?;
    if validate {
        let changes = differences(&original.to_value(), &settings.to_value());
        return Ok(Json(Validated::without_warnings(settings, changes)).into_response());
    }
    let event = AuditEventBuilder::of(&principal, "queue.clone").subject(&original.id);
    let settings = create(&admin, event, settings).await?;
    Ok((StatusCode::CREATED, QueueSettings(settings)).into_response())
}

/// Get a queue
///
/// Returns all settings; their revision is the `ETag`.
#[utoipa::path(get, path = "/queues/{queue}", tag = "queues",
    responses((status = 200, description = "The settings", body = QueueSettings, headers(("ETag" = String)))))]
pub(crate) async fn get_queue(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
) -> Result<QueueSettings, Problem> {
    let settings = find_visible(&admin, &principal, &id).await?;
    Ok(QueueSettings(settings))
}

/// Removes what the server has recorded about beacons: a clone has draws of its own.
fn forget_recorded_beacons(document: &mut Value) {
    let events = document.get_mut("events").and_then(Value::as_array_mut).into_iter().flatten();
    for event in events.filter_map(Value::as_object_mut) {
        event.remove("beacon_value");
        event.remove("beacon_removed_at");
    }
}

/// The settings, or with `validate=true` what would be written.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Changed {
    Settings(QueueSettings),
    Validated(Validated),
}

/// Update a queue
///
/// Applies a JSON merge patch to the revision in `If-Match`, effective from the next request. If the queue has changed
/// since that revision, nothing is written and the response contains the current settings. Removing or suspending an event
/// with lobby tickets, or removing its beacon, needs a confirmation. With `validate=true` nothing is written.
#[utoipa::path(patch, path = "/queues/{queue}", tag = "queues",
    request_body(content = QueuePatch, content_type = "application/merge-patch+json"),
    params(("If-Match" = String, Header, description = "The `ETag` of the revision to update, or `*` for any"),
        ("X-Vestibule-Confirm" = Option<String>, Header, description = "The confirmation token of the first response"),
        ValidateQuery),
    responses(
        (status = 200, description = "The settings after the update, or with `validate` the changes", body = Changed, headers(("ETag" = String))),
        (status = 409, description = "Another queue conflicts"),
        (status = 412, description = "Changed by someone else"),
        (status = 428, description = "`If-Match` is missing, or confirmation required"),
    ))]
pub(crate) async fn update_queue(
    State(admin): State<Admin>,
    principal: Principal,
    headers: HeaderMap,
    Query(ValidateQuery { validate }): Query<ValidateQuery>,
    Segments(id): Segments<String>,
    JsonBody(patch): JsonBody,
) -> Result<impl IntoResponse, Problem> {
    let current = find_editable(&admin, &principal, &id).await?;
    let (if_match, patch) = (IfMatch::of(&headers)?, Value::Object(patch));
    let revision = current.line.revision;
    if if_match.revision().is_some_and(|known| known != revision) {
        return Err(Problem::RevisionConflict(Box::new(RevisionConflict::with(&current))));
    }
    if !validate {
        if patch.get("events").is_some() {
            let after = patched(&admin, &principal, &current, &patch).await?.settings;
            confirm_lobby_changes(&admin, &principal, &headers, &current, &after).await?;
        }
        let settings = change(&admin, &principal, current, if_match, &patch, "queue.update").await?;
        return Ok(([(ETAG, etag(settings.line.revision))], Json(Changed::Settings(QueueSettings(settings)))));
    }
    let Patched { settings, changes } = patched(&admin, &principal, &current, &patch).await?;
    let now = admin.now().await?;
    let (late, hasty) =
        (late_lobbies(&current.line, &settings.line, now), hasty_starts(&current.line, &settings.line, now));
    let warnings = late.iter().chain(&hasty).map(FieldProblem::of).collect();
    Ok((
        [(ETAG, etag(revision))],
        Json(Changed::Validated(Validated { settings: QueueSettings(settings), changes, warnings })),
    ))
}

/// Remove a queue
///
/// Removes the queue with all its sessions. Needs a confirmation, which also says how many held orders of its job queues are not
/// finished: they are still sent, but their visitors cannot follow them any longer.
#[utoipa::path(delete, path = "/queues/{queue}", tag = "queues",
    params(("X-Vestibule-Confirm" = Option<String>, Header, description = "The confirmation token of the first response")),
    responses(
        (status = 204, description = "Removed"),
    ))]
pub(crate) async fn remove_queue(
    State(admin): State<Admin>,
    principal: Principal,
    headers: HeaderMap,
    Segments(id): Segments<String>,
) -> Result<StatusCode, Problem> {
    let settings = find_editable(&admin, &principal, &id).await?;
    let stats = admin.store.stats(&settings.id).await?;
    let orders = unfinished_orders(&admin, &settings).await?;
    let effect = || {
        let queue = Code::WillRemoveQueue.with("queue", settings.id.as_str());
        let will_remove = queue.with("waiting", stats.waiting).with("active", stats.active);
        let effect = events::with_lobbies(will_remove, &settings, &stats);
        if orders == 0 {
            return effect;
        }
        Code::Both.with("first", effect).with("then", Code::WillLeaveOrders.with("orders", orders))
    };
    let subject = format!("queue.remove {} {}", settings.id, settings.line.revision);
    confirmed(&admin, &principal, &headers, &subject, effect).await?;
    let event = AuditEventBuilder::of(&principal, "queue.remove").queue(&settings);
    let event = event.with("waiting", stats.waiting).with("active", stats.active).with("orders", orders);
    event.written(&admin, admin.store.remove_queue(&settings.id).await).await?;
    admin.refreshed().await;
    Ok(StatusCode::NO_CONTENT)
}

/// The held orders of the job queues that the rules of a queue name, as far as they are not finished.
async fn unfinished_orders(admin: &Admin, settings: &Settings) -> Result<u64, Problem> {
    match &admin.jobs {
        Some(jobs) => jobs.unfinished_orders(settings).await.map_err(Problem::from),
        None => Ok(0),
    }
}
