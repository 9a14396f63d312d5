use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::Caller;
use crate::problem::Problem;
use crate::query::{Query, number};
use crate::state::Admin;
use crate::stats::{QueueStats, all_stats, recent};

/// Longest time that recent points are asked for, in minutes.
const RECENT_MAX: u64 = 60;

/// All queues at a glance.
#[derive(Serialize, ToSchema)]
pub(crate) struct QueueStatsList {
    /// The queues by id.
    queues: Vec<QueueStatsEntry>,
}

/// A queue at a glance, with how many waited of late.
#[derive(Serialize, ToSchema)]
pub(crate) struct QueueStatsEntry {
    #[serde(flatten)]
    stats: QueueStats,
    /// Points of the last minutes, the oldest first: seconds since 1970, and how many waited. A minute without a point
    /// had nobody in it.
    recent: Vec<[u64; 2]>,
}

/// List queue stats
///
/// The numbers of every queue that the caller may see.
#[utoipa::path(get, path = "/stats", tag = "stats",
    params(("recent" = Option<u64>, Query, description = "Minutes for which to tell how many waited", minimum = 0, maximum = 60)),
    responses((status = 200, description = "Their numbers", body = QueueStatsList)))]
pub(crate) async fn list_queue_stats(
    State(admin): State<Admin>,
    caller: Caller,
    query: Query,
) -> Result<Json<QueueStatsList>, Problem> {
    let minutes = query.read(|fields| number(fields, "recent", 0, 0, RECENT_MAX))?;
    let stats = all_stats(&admin, |settings| caller.sees(&settings.tenant)).await?;
    let recent = recent(&admin, &stats, minutes).await?;
    let queues = stats.into_iter().zip(recent).map(|(stats, recent)| QueueStatsEntry { stats, recent });
    Ok(Json(QueueStatsList { queues: queues.collect() }))
}
