use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use http::header::ETAG;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::access::Principal;
use crate::body::{JsonBody, wrong};
use crate::codes::Code;
use crate::problem::Problem;
use crate::query::Segments;
use crate::queues::{IfMatch, change, etag, find_editable};
use crate::schema::QueueSettings;
use crate::state::Admin;

/// The settings that are pulled while a sale runs.
const CONTROLS: [&str; 8] =
    ["mode", "quota", "admissions_per_minute", "waiting_ttl", "active_ttl", "claim_ttl", "hold_ttl", "max_session"];

/// The controls of a queue. Absent fields stay unchanged; `null` resets to the default, for `admissions_per_minute` and
/// `max_session` to no limit.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes a body that is read as settings are")]
pub(crate) struct Controls {
    /// Mode: `open`, `bypass`, `paused`, `closed` or `draining`.
    mode: Option<String>,
    /// Maximum number of active visitors.
    #[schema(minimum = 0, maximum = 10_000_000, required = false, nullable = false)]
    quota: Option<u64>,
    /// Maximum admissions per minute.
    #[schema(minimum = 1)]
    admissions_per_minute: Option<u64>,
    /// Seconds after a visit until a waiting session expires.
    #[schema(minimum = 3, maximum = 3600)]
    waiting_ttl: Option<u64>,
    /// Seconds after a visit until an active session expires.
    #[schema(minimum = 1, maximum = 86_400)]
    active_ttl: Option<u64>,
    /// Seconds for which an admission is held for an absent visitor.
    #[schema(minimum = 1, maximum = 3600)]
    claim_ttl: Option<u64>,
    /// Seconds after the last visit for which a ticket restores its position.
    #[schema(minimum = 1, maximum = 604_800)]
    hold_ttl: Option<u64>,
    /// Maximum length of an active session in seconds.
    #[schema(minimum = 1, maximum = 2_592_000)]
    max_session: Option<u64>,
}

/// Update controls
///
/// Sets mode, quota, rate and times to the given values without `If-Match`. Lowering the quota removes nobody.
#[utoipa::path(patch, path = "/queues/{queue}/controls", tag = "actions", request_body = Controls,
    params(("queue" = String, Path, description = "ID of the queue")),
    responses(
        (status = 200, description = "The current settings", body = QueueSettings, headers(("ETag" = String))),
        (status = 409, description = "Someone else is changing it"),
    ))]
pub(crate) async fn update_controls(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
    JsonBody(body): JsonBody,
) -> Result<impl IntoResponse, Problem> {
    let current = find_editable(&admin, &principal, &id).await?;
    reject_unknown_controls(&body)?;
    let settings = change(&admin, &principal, current, IfMatch::Any, &Value::Object(body), "queue.controls").await?;
    Ok(([(ETAG, etag(settings.line.revision))], Json(settings.to_value())))
}

fn reject_unknown_controls(body: &Map<String, Value>) -> Result<(), Problem> {
    match body.keys().find(|name| !CONTROLS.contains(&name.as_str())) {
        Some(name) => Err(wrong(name, Code::UnknownControl.with("known", CONTROLS.join(", ")))),
        None => Ok(()),
    }
}
