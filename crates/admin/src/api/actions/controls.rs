use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use http::header::ETAG;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::access::Caller;
use crate::body::{JsonBody, wrong};
use crate::codes::Code;
use crate::problem::Problem;
use crate::query::Segments;
use crate::queues::{Meant, change, etag, operated};
use crate::schema::QueueSettings;
use crate::state::Admin;

/// The settings that are pulled while a sale runs.
const CONTROLS: [&str; 8] =
    ["mode", "quota", "admissions_per_minute", "waiting_ttl", "active_ttl", "claim_ttl", "hold_ttl", "max_session"];

/// The levers of a queue. What is absent stays; `null` is the default again, for `admissions_per_minute` and
/// `max_session` no limit.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes a body that is read as settings are")]
pub(crate) struct Controls {
    /// Whether and whom the queue admits: `open`, `bypass`, `paused`, `closed`, `draining`.
    mode: Option<String>,
    /// Most visitors that are let in at once.
    #[schema(minimum = 0, maximum = 10_000_000, required = false, nullable = false)]
    quota: Option<u64>,
    /// Most admissions a minute.
    #[schema(minimum = 1)]
    admissions_per_minute: Option<u64>,
    /// Seconds for which a visit keeps somebody in line.
    #[schema(minimum = 3, maximum = 3600)]
    waiting_ttl: Option<u64>,
    /// Seconds for which a visit keeps a place.
    #[schema(minimum = 1, maximum = 86_400)]
    active_ttl: Option<u64>,
    /// Seconds that a place waits for who was let in while away.
    #[schema(minimum = 1, maximum = 3600)]
    claim_ttl: Option<u64>,
    /// Seconds for which a ticket holds a place in line.
    #[schema(minimum = 1, maximum = 604_800)]
    hold_ttl: Option<u64>,
    /// Seconds after which a place ends.
    #[schema(minimum = 1, maximum = 2_592_000)]
    max_session: Option<u64>,
}

/// Update controls
///
/// Sets mode, quota, rate and times to what the body says, whatever they were: no `If-Match` is needed. Lowering the
/// quota sends nobody away.
#[utoipa::path(patch, path = "/queues/{queue}/controls", tag = "actions", request_body = Controls,
    params(("queue" = String, Path, description = "ID of the queue")),
    responses(
        (status = 200, description = "The current settings", body = QueueSettings, headers(("ETag" = String))),
        (status = 409, description = "Someone else is changing it"),
    ))]
pub(crate) async fn update_controls(
    State(admin): State<Admin>,
    caller: Caller,
    Segments(id): Segments<String>,
    JsonBody(body): JsonBody,
) -> Result<impl IntoResponse, Problem> {
    let current = operated(&admin, &caller, &id).await?;
    known(&body)?;
    let settings = change(&admin, &caller, current, Meant::Any, &Value::Object(body), "queue.controls").await?;
    Ok(([(ETAG, etag(settings.line.revision))], Json(settings.to_value())))
}

fn known(body: &Map<String, Value>) -> Result<(), Problem> {
    match body.keys().find(|name| !CONTROLS.contains(&name.as_str())) {
        Some(name) => Err(wrong(name, Code::UnknownControl.with("known", CONTROLS.join(", ")))),
        None => Ok(()),
    }
}
