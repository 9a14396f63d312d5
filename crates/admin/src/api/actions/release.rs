use axum::Json;
use axum::extract::State;
use http::HeaderMap;
use serde::Serialize;
use utoipa::ToSchema;
use vestibule_core::line::RELEASE_BATCH;
use vestibule_core::settings::FieldWording;

use crate::access::Caller;
use crate::audit::Deed;
use crate::body::{JsonBody, read};
use crate::confirmation::confirmed;
use crate::problem::{ErrorBody, Problem};
use crate::query::Segments;
use crate::queues::operated;
use crate::state::Admin;
use crate::wording::Wording;

/// Most that one release admits.
const RELEASE_MAX: u64 = 100_000;
/// Up to this many are released without a confirmation.
const UNCONFIRMED_MAX: u64 = 100;

/// How many are to be released.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes a body that is read field by field")]
pub(crate) struct Release {
    /// How many.
    #[schema(minimum = 1, maximum = 100_000)]
    count: u64,
}

/// How many were released.
#[derive(Serialize, ToSchema)]
pub(crate) struct Released {
    /// How many were let in: fewer than asked for if fewer waited.
    released: u64,
}

/// Releases the next
///
/// Admits the next `count` of the line now, whatever quota, rate or pause say. More than 100 are to be confirmed: they
/// can't be sent back.
#[utoipa::path(post, path = "/queues/{queue}/release", tag = "actions", request_body = Release,
    params(("queue" = String, Path, description = "Id of the queue"),
        ("X-Vestibule-Confirm" = Option<String>, Header, description = "The token that the first answer carried")),
    responses(
        (status = 200, description = "How many were let in", body = Released),
        (status = 428, description = "Is to be confirmed", body = ErrorBody),
    ))]
pub(crate) async fn release(
    State(admin): State<Admin>,
    caller: Caller,
    headers: HeaderMap,
    Segments(id): Segments<String>,
    JsonBody(body): JsonBody,
) -> Result<Json<Released>, Problem> {
    let settings = operated(&admin, &caller, &id).await?;
    let count = read(&body, |fields| {
        let takes = FieldWording::WholeNumber.with("least", 1_u64).with("most", RELEASE_MAX);
        fields.required("count", takes, |value| value.as_u64().filter(|count| (1..=RELEASE_MAX).contains(count)))
    })?;
    let count = count.unwrap_or_default();
    if count > UNCONFIRMED_MAX {
        let stats = admin.store.stats(&settings.id).await?;
        let next = count.min(stats.waiting);
        let effect = || {
            let people = Wording::WillRelease.with("people", next).with("active", stats.active + next);
            people.with("quota", stats.rules.quota)
        };
        let subject = format!("queue.release {} {} {count}", settings.id, settings.line.revision);
        confirmed(&admin, &caller, &headers, &subject, effect).await?;
    }
    let mut released = 0;
    while released < count {
        let batch = (count - released).min(RELEASE_BATCH as u64);
        let admitted = admin.store.release(&settings.id, batch).await?;
        released += admitted;
        if admitted == 0 {
            break;
        }
    }
    Deed::of(&caller, "queue.release")
        .queue(&settings)
        .with("asked", count)
        .with("released", released)
        .log(&admin)
        .await;
    Ok(Json(Released { released }))
}
