use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::Stream;
use serde::Serialize;
use tokio::time::{Instant, timeout_at};
use utoipa::ToSchema;

use crate::access::Caller;
use crate::problem::Problem;
use crate::state::Admin;
use crate::stats::QueueStats;

/// How long a stream lasts. The browser opens another one then, which looks anew at who asks.
const LASTS: Duration = Duration::from_mins(5);

/// What an event `stats` carries.
#[derive(Serialize, ToSchema)]
pub(crate) struct StatsEvent<'a> {
    /// The queues by id.
    queues: Vec<&'a QueueStats>,
}

/// Stream stats
///
/// Server-sent events `stats`, every two seconds, with the numbers of every queue that the caller may see. A stream ends
/// after five minutes, and when the store gives no answer, so that nobody takes old numbers for new ones: whoever asks for
/// the next one is told why there is none. Where answers can't be streamed there is none: poll
/// `/stats` there.
#[utoipa::path(get, path = "/stats/stream", tag = "stats",
    responses(
        (status = 200, description = "Events `stats`; their data is a `StatsEvent`", content((String = "text/event-stream"))),
        (status = 404, description = "Answers are not streamed here"),
    ))]
pub(crate) async fn stream_stats(
    State(admin): State<Admin>,
    caller: Caller,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    if !admin.streams {
        return Err(Problem::StreamingUnavailable);
    }
    let live = admin.live.subscribe(&admin)?;
    let end = Instant::now() + LASTS;
    let events = futures_util::stream::unfold((live, caller), move |(mut live, caller)| async move {
        let changed = timeout_at(end, live.numbers.changed()).await;
        changed.ok()?.ok()?;
        let event = {
            let numbers = live.numbers.borrow_and_update();
            let queues = numbers.as_ref()?.iter().filter(|stats| caller.sees(&stats.tenant)).collect();
            Event::default().event("stats").json_data(StatsEvent { queues }).unwrap_or_default()
        };
        Some((Ok(event), (live, caller)))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}
