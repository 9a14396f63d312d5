use axum::Json;
use axum::extract::State;
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use tracing::warn;
use utoipa::ToSchema;
use vestibule_core::line::RELEASE_BATCH;
use vestibule_core::settings::FieldWording;
use vestibule_core::{QueueId, StoreError};

use crate::access::Principal;
use crate::audit::AuditEventBuilder;
use crate::body::{JsonBody, read};
use crate::codes::Code;
use crate::confirmation::confirmed;
use crate::idempotency::Idempotency;
use crate::problem::Problem;
use crate::query::Segments;
use crate::queues::find_editable;
use crate::state::Admin;

/// Most that one release admits.
const RELEASE_MAX: u64 = 100_000;
/// Up to this many are released without a confirmation.
const UNCONFIRMED_MAX: u64 = 100;

/// How many visitors to admit.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes a body that is read field by field")]
pub(crate) struct ReleaseRequest {
    /// Number of visitors to admit.
    #[schema(minimum = 1, maximum = 100_000)]
    count: u64,
}

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
/// they cannot be sent back. With an `Idempotency-Key`, a request that is repeated within a day admits nobody again and
/// returns the first response.
#[utoipa::path(post, path = "/queues/{queue}/release", tag = "actions", request_body = ReleaseRequest,
    params(("queue" = String, Path, description = "ID of the queue"),
        ("X-Vestibule-Confirm" = Option<String>, Header, description = "The confirmation token of the first response"),
        ("Idempotency-Key" = Option<String>, Header, description = "Identifies the request so that it can be retried safely",
            pattern = "^[A-Za-z0-9_-]{1,128}$")),
    responses(
        (status = 200, description = "How many visitors were admitted", body = ReleaseResult),
        (status = 428, description = "Confirmation required"),
        (status = 504, description = "The store did not respond; visitors may or may not have been admitted"),
    ))]
pub(crate) async fn release(
    State(admin): State<Admin>,
    principal: Principal,
    headers: HeaderMap,
    Segments(id): Segments<String>,
    JsonBody(body): JsonBody,
) -> Result<Json<ReleaseResult>, Problem> {
    let settings = find_editable(&admin, &principal, &id).await?;
    let count = read(&body, |fields| {
        let takes = FieldWording::WholeNumber.with("least", 1_u64).with("most", RELEASE_MAX);
        fields.required("count", takes, |value| value.as_u64().filter(|count| (1..=RELEASE_MAX).contains(count)))
    })?;
    let count = count.unwrap_or_default();
    let key = Idempotency::of(&headers, &principal, &format!("queue.release {} {count}", settings.id))?;
    if let Some(key) = &key
        && let Some(released) = key.answered(&admin).await?
    {
        return Ok(Json(released));
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
    let (released, broke_off) = release_batches(&admin, &settings.id, count).await;
    let event = event.with("released", released);
    match &broke_off {
        None => event.log(&admin).await,
        Some(error) if released > 0 => {
            warn!(%error, queue = %settings.id, released, count, "a release broke off");
            event.incomplete().log(&admin).await;
        }
        Some(error) => return Err(event.failed(&admin, Problem::of_write(error.clone())).await),
    }
    let answer = ReleaseResult { released, complete: broke_off.is_none() };
    if let Some(key) = &key {
        key.end(&admin, &answer).await;
    }
    Ok(Json(answer))
}

/// Admits batch after batch, until all are admitted, nobody waits any more, or the store stops responding. Returns how many
/// were admitted for certain.
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
