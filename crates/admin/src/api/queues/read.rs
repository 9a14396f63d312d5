use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use http::header::ETAG;

use crate::access::Caller;
use crate::problem::Problem;
use crate::query::Segments;
use crate::queues::{etag, seen};
use crate::schema::QueueSettings;
use crate::state::Admin;

/// Get a queue
///
/// All its settings; their revision is the `ETag`.
#[utoipa::path(get, path = "/queues/{queue}", tag = "queues", params(("queue" = String, Path, description = "ID of the queue")),
    responses((status = 200, description = "Its settings", body = QueueSettings, headers(("ETag" = String)))))]
pub(crate) async fn get_queue(
    State(admin): State<Admin>,
    caller: Caller,
    Segments(id): Segments<String>,
) -> Result<impl IntoResponse, Problem> {
    let settings = seen(&admin, &caller, &id).await?;
    Ok(([(ETAG, etag(settings.line.revision))], Json(settings.to_value())))
}
