use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use http::header::ETAG;

use crate::access::Principal;
use crate::problem::Problem;
use crate::query::Segments;
use crate::queues::{etag, find_visible};
use crate::schema::QueueSettings;
use crate::state::Admin;

/// Get a queue
///
/// Returns all settings; their revision is the `ETag`.
#[utoipa::path(get, path = "/queues/{queue}", tag = "queues", params(("queue" = String, Path, description = "ID of the queue")),
    responses((status = 200, description = "The settings", body = QueueSettings, headers(("ETag" = String)))))]
pub(crate) async fn get_queue(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
) -> Result<impl IntoResponse, Problem> {
    let settings = find_visible(&admin, &principal, &id).await?;
    Ok(([(ETAG, etag(settings.line.revision))], Json(settings.to_value())))
}
