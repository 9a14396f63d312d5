use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use http::header::ETAG;
use serde_json::json;

use crate::access::Principal;
use crate::problem::Problem;
use crate::query::Segments;
use crate::queues::{IfMatch, change, etag, find_editable};
use crate::schema::QueueSettings;
use crate::state::Admin;

/// Drain a queue
///
/// Sets the mode `draining`: no new visitors join, waiting visitors are admitted in order of arrival, and then the
/// queue closes. Any other mode ends it. The statistics of the queue contain the remaining time.
#[utoipa::path(post, path = "/queues/{queue}/drain", tag = "actions",
    params(("queue" = String, Path, description = "ID of the queue")),
    responses(
        (status = 200, description = "The current settings", body = QueueSettings, headers(("ETag" = String))),
        (status = 409, description = "Someone else is changing it"),
    ))]
pub(crate) async fn drain_queue(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
) -> Result<impl IntoResponse, Problem> {
    let current = find_editable(&admin, &principal, &id).await?;
    let patch = json!({ "mode": "draining" });
    let settings = change(&admin, &principal, current, IfMatch::Any, &patch, "queue.drain").await?;
    Ok(([(ETAG, etag(settings.line.revision))], Json(settings.to_value())))
}
