use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::Principal;
use crate::problem::Problem;
use crate::query::{Query, number};
use crate::state::Admin;
use crate::stats::{QueueStats, all_stats, recent};

/// Longest time that recent points are asked for, in minutes.
const RECENT_MAX: u64 = 60;

/// Statistics of queues.
#[derive(Serialize, ToSchema)]
pub(crate) struct QueueStatsList {
    /// The queues by id.
    queues: Vec<QueueStatsEntry>,
}

/// Statistics of a queue with recent waiting counts.
#[derive(Serialize, ToSchema)]
pub(crate) struct QueueStatsEntry {
    #[serde(flatten)]
    stats: QueueStats,
    /// Samples of the last minutes, oldest first: seconds since 1970 and waiting visitors. A minute without a sample
    /// had no visitors.
    recent: Vec<[u64; 2]>,
}

/// List queue stats
///
/// Returns the statistics of all queues that you have access to.
#[utoipa::path(get, path = "/stats", tag = "stats",
    params(("recent" = Option<u64>, Query, description = "Minutes of recent waiting counts to include", minimum = 0, maximum = 60)),
    responses((status = 200, description = "The statistics", body = QueueStatsList)))]
pub(crate) async fn list_queue_stats(
    State(admin): State<Admin>,
    principal: Principal,
    query: Query,
) -> Result<Json<QueueStatsList>, Problem> {
    let minutes = query.read(|fields| number(fields, "recent", 0, 0, RECENT_MAX))?;
    let stats = all_stats(&admin, |settings| principal.can_view(&settings.tenant)).await?;
    let recent = recent(&admin, &stats, minutes).await?;
    let queues = stats.into_iter().zip(recent).map(|(stats, recent)| QueueStatsEntry { stats, recent });
    Ok(Json(QueueStatsList { queues: queues.collect() }))
}
