//! Actions during a sale, effective from the next request.

use axum::Json;
use axum::extract::State;
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tracing::warn;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vestibule_core::fields::Bounded;
use vestibule_core::line::{Mode, RELEASE_BATCH, Stats};
use vestibule_core::settings::{Settings, differences};
use vestibule_core::{QueueId, StoreError, fields};

use crate::access::Principal;
use crate::api::queues::events::with_lobbies;
use crate::api::queues::service::{IfMatch, change, find_editable, find_visible};
use crate::audit::{AuditEventBuilder, RESET};
use crate::body::{Body, JsonBody, Segments, wrong};
use crate::codes::Code;
use crate::confirmation::confirmed;
use crate::describe::describe;
use crate::idempotency::Idempotency;
use crate::problem::Problem;
use crate::queue_settings::QueueSettings;
use crate::state::Admin;

pub(crate) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new()
        .routes(routes!(update_controls))
        .routes(routes!(release))
        .routes(routes!(reset_queue))
        .routes(routes!(drain_queue))
}

/// The settings that are changed during a sale.
const CONTROLS: [&str; 11] = [
    "mode",
    "quota",
    "admissions_per_minute",
    "admissions_every",
    "max_waiting",
    "waiting_ttl",
    "active_ttl",
    "claim_ttl",
    "hold_ttl",
    "max_session",
    "message",
];

/// The controls of a queue. Absent fields stay unchanged; `null` resets to the default, for `admissions_per_minute`,
/// `max_waiting` and `max_session` to no limit, for `admissions_every` to even admissions, and removes the `message` or one language of it.
pub(crate) struct Controls;

describe!(Controls = Settings, Patch, only CONTROLS);

/// Update controls
///
/// Sets mode, quota, rate and its steps, maximum queue length, times and the message on the queue page to the given values without
/// `If-Match`. Lowering the quota removes nobody.
#[utoipa::path(patch, path = "/queues/{queue}/controls", tag = "actions", request_body = Controls,
    responses(
        (status = 200, description = "The current settings", body = QueueSettings, headers(("ETag" = String))),
        (status = 409, description = "Someone else is changing it"),
    ))]
pub(crate) async fn update_controls(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
    JsonBody(body): JsonBody,
) -> Result<QueueSettings, Problem> {
    let current = find_editable(&admin, &principal, &id).await?;
    reject_unknown_controls(&body)?;
    let settings = change(&admin, &principal, current, IfMatch::Any, &Value::Object(body), "queue.controls").await?;
    Ok(QueueSettings(settings))
}

fn reject_unknown_controls(body: &Map<String, Value>) -> Result<(), Problem> {
    match body.keys().find(|name| !CONTROLS.contains(&name.as_str())) {
        Some(name) => Err(wrong(name, Code::UnknownControl.with("known", CONTROLS.join(", ")))),
        None => Ok(()),
    }
}

/// Maximum number of visitors of one release.
const RELEASE_MAX: u64 = 100_000;
/// Releases of more visitors need a confirmation.
const UNCONFIRMED_MAX: u64 = 100;

fields! {
    /// How many visitors to admit.
    pub(crate) struct ReleaseRequest {
        /// Number of visitors to admit.
        count: Bounded<1, RELEASE_MAX>,
    }
}

describe!(request ReleaseRequest);

/// How many visitors were admitted.
#[derive(Clone, Copy, Serialize, Deserialize, ToSchema)]
pub(crate) struct ReleaseResult {
    /// Number of admitted visitors; less than `count` if fewer were waiting.
    released: u64,
    /// `false` if the store stopped responding; up to 500 more visitors may have been admitted.
    complete: bool,
}

/// Admit the next visitors
///
/// Admits the next `count` visitors now, regardless of mode, quota and rate. More than 100 need a confirmation, because
/// they cannot be sent back. While the order of an event is drawn, nobody can be admitted. With an `Idempotency-Key`, a request that is repeated within a day admits nobody again and
/// returns the first response.
#[utoipa::path(post, path = "/queues/{queue}/release", tag = "actions", request_body = ReleaseRequest,
    params(("X-Vestibule-Confirm" = Option<String>, Header, description = "The confirmation token of the first response"),
        ("Idempotency-Key" = Option<String>, Header, description = "Identifies the request so that it can be retried safely",
            pattern = "^[A-Za-z0-9_-]{1,128}$")),
    responses(
        (status = 200, description = "How many visitors were admitted", body = ReleaseResult),
        (status = 409, description = "The order of an event is being drawn"),
        (status = 504, description = "The store did not respond; visitors may or may not have been admitted"),
    ))]
pub(crate) async fn release(
    State(admin): State<Admin>,
    principal: Principal,
    headers: HeaderMap,
    Segments(id): Segments<String>,
    Body(ReleaseRequest { count }): Body<ReleaseRequest>,
) -> Result<Json<ReleaseResult>, Problem> {
    let settings = find_editable(&admin, &principal, &id).await?;
    let key = Idempotency::of(&headers, &principal, &format!("queue.release {} {count}", settings.id))?;
    if let Some(key) = &key
        && let Some(released) = key.answered(&admin).await?
    {
        return Ok(Json(released));
    }
    if settings.line.mode == Mode::Scheduled {
        no_draw_in_progress(&settings, &admin.store.stats(&settings.id).await?)?;
    }
    if count > UNCONFIRMED_MAX {
        let stats = admin.store.stats(&settings.id).await?;
        let next = count.min(stats.waiting);
        let effect = || {
            let people = Code::WillRelease.with("people", next).with("active", stats.active + next);
            people.with("quota", stats.rules.quota)
        };
        let subject = format!("queue.release {} {} {count}", settings.id, settings.line.revision);
        confirmed(&admin, &principal, &headers, &subject, effect).await?;
    }
    if let Some(key) = &key
        && !key.begin(&admin).await?
    {
        let first = key.answered(&admin).await?;
        return first.map(Json).ok_or(Problem::ConcurrentChange);
    }
    let event = AuditEventBuilder::of(&principal, "queue.release").queue(&settings).with("asked", count);
    let (released, failure) = release_batches(&admin, &settings.id, count).await;
    let event = event.with("released", released);
    match &failure {
        None => event.log(&admin).await,
        Some(error) if released > 0 => {
            warn!(%error, queue = %settings.id, released, count, "release incomplete");
            event.incomplete().log(&admin).await;
        }
        Some(error) => return Err(event.failed(&admin, Problem::of_write(error.clone())).await),
    }
    let answer = ReleaseResult { released, complete: failure.is_none() };
    if let Some(key) = &key {
        key.end(&admin, &answer).await;
    }
    Ok(Json(answer))
}

/// Seconds after which to try again while the value of a beacon is missing.
const BEACON_RETRY: f64 = 60.0;

/// Rule 13.9: while the order of an event is drawn, the store admits nobody.
pub(crate) fn no_draw_in_progress(settings: &Settings, stats: &Stats) -> Result<(), Problem> {
    if stats.mode != Mode::Draw {
        return Ok(());
    }
    let current = settings.line.phase(stats.now, stats.may_wait()).and_then(|current| current.event);
    let left = current.and_then(|event| event.draw_ends_in(stats.now)).unwrap_or(BEACON_RETRY);
    Err(Problem::DrawInProgress(left.max(1.0).ceil() as u64))
}

/// Admits batch after batch until all are admitted, the line is empty, or the store stops responding. Returns the number
/// of confirmed admissions.
async fn release_batches(admin: &Admin, queue: &QueueId, count: u64) -> (u64, Option<StoreError>) {
    let mut released = 0;
    while released < count {
        let batch = (count - released).min(RELEASE_BATCH as u64);
        match admin.store.release(queue, batch).await {
            Ok(0) => break,
            Ok(admitted) => released += admitted,
            Err(error) => return (released, Some(error)),
        }
    }
    (released, None)
}

/// Reset a queue
///
/// Starts a new epoch: all waiting and active visitors lose their position and rejoin at the end, and all tickets
/// become invalid. All slots are free at once; with the handover `redirect`, passes of visitors who were active stay valid for up
/// to a minute. Needs a confirmation.
#[utoipa::path(post, path = "/queues/{queue}/reset", tag = "actions",
    params(("X-Vestibule-Confirm" = Option<String>, Header, description = "The confirmation token of the first response")),
    responses(
        (status = 200, description = "The current settings", body = QueueSettings, headers(("ETag" = String))),
    ))]
pub(crate) async fn reset_queue(
    State(admin): State<Admin>,
    principal: Principal,
    headers: HeaderMap,
    Segments(id): Segments<String>,
) -> Result<QueueSettings, Problem> {
    let before = find_editable(&admin, &principal, &id).await?;
    let stats = admin.store.stats(&before.id).await?;
    let effect = || {
        let will_reset = Code::WillReset.with("waiting", stats.waiting).with("active", stats.active);
        with_lobbies(will_reset, &before, &stats)
    };
    let subject = format!("queue.reset {} {}", before.id, before.line.revision);
    confirmed(&admin, &principal, &headers, &subject, effect).await?;
    let event = AuditEventBuilder::of(&principal, RESET);
    let numbers = |event: AuditEventBuilder| event.with("waiting", stats.waiting).with("active", stats.active);
    let mut after = before.clone();
    match admin.store.reset(&before.id).await {
        Ok(epoch) => (after.line.epoch, after.line.revision) = (epoch, before.line.revision + 1),
        Err(error) => return Err(numbers(event.queue(&before)).failed(&admin, Problem::of_write(error)).await),
    }
    let changes = differences(&before.to_value(), &after.to_value());
    numbers(event.queue(&after).changes(changes)).log(&admin).await;
    admin.changed(&before.id).await;
    // The response contains concurrent changes, too, if the store still responds.
    let after = find_visible(&admin, &principal, before.id.as_str()).await.unwrap_or(after);
    Ok(QueueSettings(after))
}

/// Drain a queue
///
/// Sets the mode `draining`: no new visitors join, waiting visitors are admitted in order of arrival, and then the
/// queue closes. Any other mode ends it. The statistics of the queue contain the remaining time.
#[utoipa::path(post, path = "/queues/{queue}/drain", tag = "actions",
    responses(
        (status = 200, description = "The current settings", body = QueueSettings, headers(("ETag" = String))),
        (status = 409, description = "Someone else is changing it"),
    ))]
pub(crate) async fn drain_queue(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
) -> Result<QueueSettings, Problem> {
    let current = find_editable(&admin, &principal, &id).await?;
    let patch = json!({ "mode": "draining" });
    let settings = change(&admin, &principal, current, IfMatch::Any, &patch, "queue.drain").await?;
    Ok(QueueSettings(settings))
}
