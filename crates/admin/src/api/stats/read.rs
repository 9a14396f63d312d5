use axum::Json;
use axum::extract::State;

use crate::access::Principal;
use crate::problem::Problem;
use crate::query::Segments;
use crate::queues::find_visible;
use crate::state::Admin;
use crate::stats::QueueStats;

/// Get queue stats
#[utoipa::path(get, path = "/queues/{queue}/stats", tag = "stats", params(("queue" = String, Path, description = "ID of the queue")),
    responses((status = 200, description = "The statistics", body = QueueStats)))]
pub(crate) async fn get_queue_stats(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
) -> Result<Json<QueueStats>, Problem> {
    let settings = find_visible(&admin, &principal, &id).await?;
    Ok(Json(QueueStats::of(&admin, &settings).await?))
}
