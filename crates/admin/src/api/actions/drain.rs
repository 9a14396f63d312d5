use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use http::header::ETAG;
use serde_json::json;

use crate::access::Caller;
use crate::problem::Problem;
use crate::query::Segments;
use crate::queues::{Meant, change, etag, operated};
use crate::schema::QueueSettings;
use crate::state::Admin;

/// Drain a queue
///
/// Ends a sale in good order: nobody joins any more, everybody who waits is let in, first come, first served, and then the
/// queue closes by itself. The mode `draining`; any other mode ends it. How long it takes stands in the queue's numbers.
#[utoipa::path(post, path = "/queues/{queue}/drain", tag = "actions",
    params(("queue" = String, Path, description = "ID of the queue")),
    responses(
        (status = 200, description = "The current settings", body = QueueSettings, headers(("ETag" = String))),
        (status = 409, description = "Someone else is changing it"),
    ))]
pub(crate) async fn drain_queue(
    State(admin): State<Admin>,
    caller: Caller,
    Segments(id): Segments<String>,
) -> Result<impl IntoResponse, Problem> {
    let current = operated(&admin, &caller, &id).await?;
    let patch = json!({ "mode": "draining" });
    let settings = change(&admin, &caller, current, Meant::Any, &patch, "queue.drain").await?;
    Ok(([(ETAG, etag(settings.line.revision))], Json(settings.to_value())))
}
