use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::Stream;
use serde::Serialize;
use tokio::time::{Instant, timeout_at};
use utoipa::ToSchema;

use crate::access::Principal;
use crate::problem::Problem;
use crate::state::Admin;
use crate::stats::QueueStats;

/// How long a stream lasts. Then the browser opens another one, which checks the principal again.
const STREAM_TTL: Duration = Duration::from_mins(5);

/// Data of an event `stats`.
#[derive(Serialize, ToSchema)]
pub(crate) struct StatsEvent<'a> {
    /// The queues by id.
    queues: Vec<&'a QueueStats>,
}

/// Stream stats
///
/// Sends server-sent events `stats` every two seconds with the statistics of all queues that you have access to. A
/// stream ends after five minutes, and when the store is unavailable; reconnecting returns the error. Where streaming
/// is not available, poll `/stats`.
#[utoipa::path(get, path = "/stats/stream", tag = "stats",
    responses(
        (status = 200, description = "Events `stats`; their data is a `StatsEvent`", content((String = "text/event-stream"))),
        (status = 404, description = "Streaming is not available in this deployment"),
    ))]
pub(crate) async fn stream_stats(
    State(admin): State<Admin>,
    principal: Principal,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    if !admin.streams {
        return Err(Problem::StreamingUnavailable);
    }
    let subscriber = admin.stats_stream.subscribe(&admin)?;
    let end = Instant::now() + STREAM_TTL;
    let events = futures_util::stream::unfold((subscriber, principal), move |(mut subscriber, principal)| async move {
        let changed = timeout_at(end, subscriber.stats.changed()).await;
        changed.ok()?.ok()?;
        let event = {
            let stats = subscriber.stats.borrow_and_update();
            let queues = stats.as_ref()?.iter().filter(|it| principal.can_view(&it.tenant)).collect();
            Event::default().event("stats").json_data(StatsEvent { queues }).unwrap_or_default()
        };
        Some((Ok(event), (subscriber, principal)))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}
