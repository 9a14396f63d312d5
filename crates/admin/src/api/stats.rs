//! Statistics and history.

use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::extract::{FromRequestParts as _, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::Stream;
use http::StatusCode;
use http::request::Parts;
use serde::Serialize;
use tokio::time::{Instant, timeout_at};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vestibule_core::fields::{Bounded, Omissible};
use vestibule_core::line::QUOTA_MAX;
use vestibule_core::{Micros, fields};
use vestibule_records::LoggedQueue;
use vestibule_records::history::{History, Sample, Step};

use crate::access::Principal;
use crate::api::queues::service::find_visible;
use crate::body::{Query, Segments};
use crate::codes::Code;
use crate::csv::{TableFormat, csv_file};
use crate::describe::describe;
use crate::former_tenants::FormerTenants;
use crate::problem::Problem;
use crate::state::Admin;
use crate::stats::{QueueForecast, QueueStats, all_stats, recent};
use crate::stats_stream::Subscriber;

pub(crate) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new()
        .routes(routes!(list_queue_stats))
        .routes(routes!(get_queue_stats))
        .routes(routes!(get_queue_forecast))
        .routes(routes!(get_queue_history))
        .routes(routes!(stream_stats))
}

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
    /// Samples of the last minutes, oldest first: seconds since 1970 and waiting visitors. In a minute without a sample nothing
    /// was recorded.
    recent: Vec<[u64; 2]>,
}

fields! {
    /// What to include.
    pub(crate) struct StatsQuery {
        /// Minutes of recent waiting counts to include.
        recent: Bounded<0, RECENT_MAX> = 0,
    }
}

describe!(query StatsQuery);

/// List queue stats
///
/// Returns the statistics of all queues that you have access to.
#[utoipa::path(get, path = "/stats", tag = "stats",
    params(StatsQuery),
    responses((status = 200, description = "The statistics", body = QueueStatsList)))]
pub(crate) async fn list_queue_stats(
    State(admin): State<Admin>,
    principal: Principal,
    Query(query): Query<StatsQuery>,
) -> Result<Json<QueueStatsList>, Problem> {
    let stats = all_stats(&admin.stats, |settings| principal.can_view(&settings.tenant)).await?;
    let recent = recent(&admin.stats, &stats, query.recent).await?;
    let queues = stats.into_iter().zip(recent).map(|(stats, recent)| QueueStatsEntry { stats, recent });
    Ok(Json(QueueStatsList { queues: queues.collect() }))
}

/// Get queue stats
#[utoipa::path(get, path = "/queues/{queue}/stats", tag = "stats",
    responses((status = 200, description = "The statistics", body = QueueStats)))]
pub(crate) async fn get_queue_stats(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
) -> Result<Json<QueueStats>, Problem> {
    let settings = find_visible(&admin, &principal, &id).await?;
    Ok(Json(QueueStats::of(&admin.stats, &settings).await?))
}

fields! {
    /// The quota of a forecast.
    pub(crate) struct ForecastQuery {
        /// The quota; by default the current one.
        quota: Omissible<Bounded<0, QUOTA_MAX>>,
    }
}

describe!(query ForecastQuery);

/// Forecast the line at a quota
///
/// Estimates how long the last waiting visitor would wait with another quota, and when the present line would end. Nothing is
/// changed. Visitors who join later are not included. Before an event admits visitors, the forecast
/// is from then on and includes the lobby; otherwise, while nobody is admitted, it presumes that the queue opens now.
#[utoipa::path(get, path = "/queues/{queue}/forecast", tag = "stats",
    params(ForecastQuery),
    responses((status = 200, description = "The forecast", body = QueueForecast)))]
pub(crate) async fn get_queue_forecast(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
    Query(query): Query<ForecastQuery>,
) -> Result<Json<QueueForecast>, Problem> {
    let settings = find_visible(&admin, &principal, &id).await?;
    let stats = admin.store.stats(&settings.id).await?;
    Ok(Json(QueueForecast::of(&settings, &stats, query.quota.unwrap_or(stats.rules.quota))))
}

const COLUMNS: [&str; 9] =
    ["at", "waiting", "active", "quota", "joined", "admitted", "pre_tickets", "rejected", "challenged"];

/// History of a queue.
#[derive(Serialize, ToSchema)]
pub(crate) struct QueueHistory {
    /// Seconds between two samples.
    step_seconds: u64,
    /// Columns of a sample: `at` in seconds since 1970, `waiting` and `active` visitors at that time, the
    /// `quota`, and since the previous sample the visitors who `joined` and were `admitted`, the `pre_tickets` issued to first
    /// visits, the `rejected` joins, and the newcomers who were `challenged` to prove work.
    columns: [&'static str; 9],
    /// The samples, oldest first, one for each step. `null` is unknown: in a step with nothing but `at` nothing was recorded.
    points: Vec<[Option<u64>; 9]>,
}

fields! {
    /// The part of a history.
    pub(crate) struct HistoryQuery {
        /// Time between two samples: a minute, for the last day, or five minutes, for the last 30 days.
        step: Step = Step::Minute,
        /// Start time in seconds since 1970.
        from: Bounded<0, { 1 << 40 }> = 0,
        /// Format of the response.
        format: TableFormat = TableFormat::Json,
    }
}

describe!(query HistoryQuery);

/// Get queue history
///
/// Returns one sample per minute for the last day, or one per five minutes for the last 30 days, as JSON or CSV. Unknown values
/// are `null` in JSON and empty in CSV.
#[utoipa::path(get, path = "/queues/{queue}/history", tag = "stats",
    params(HistoryQuery),
    responses((status = 200, description = "The samples", content((QueueHistory = "application/json"), (String = "text/csv")))))]
pub(crate) async fn get_queue_history(
    State(admin): State<Admin>,
    principal: Principal,
    Query(query): Query<HistoryQuery>,
    Segments(id): Segments<String>,
) -> Result<Response, Problem> {
    let settings = find_visible(&admin, &principal, &id).await?;
    let HistoryQuery { step, from, format } = query;
    // An earlier tenant with this ID may have had a queue with the same ID.
    let removed_at = FormerTenants::load(&*admin.records).await?.removed_at(&settings.tenant);
    let from = removed_at.map_or(from, |removed_at| from.max(removed_at.seconds() + 1));
    let history = History::since(&*admin.records, step, Micros(0).add_seconds(from)).await?;
    let points: Vec<_> = history.samples(&LoggedQueue::of(&settings)).await?.into_iter().map(point).collect();
    if format == TableFormat::Csv {
        let text = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
        return Ok(csv_file(settings.id.as_str(), COLUMNS, points.into_iter().map(|point| point.map(text))));
    }
    Ok(Json(QueueHistory { step_seconds: step.seconds(), columns: COLUMNS, points }).into_response())
}

const fn point((at, sample): (u64, Option<Sample>)) -> [Option<u64>; 9] {
    let Some(Sample { waiting, active, quota, joined, admitted, pre_tickets, rejected, challenged, .. }) = sample
    else {
        return [Some(at), None, None, None, None, None, None, None, None];
    };
    [Some(at), Some(waiting), Some(active), Some(quota), joined, admitted, pre_tickets, rejected, challenged]
}

/// How long a stream lasts. Then the browser opens another one.
const STREAM_TTL: Duration = Duration::from_mins(5);
/// How often the principal of a stream is authenticated again: they may have been removed, or have another role.
const RECHECK_EVERY: Duration = Duration::from_secs(5);

/// Data of an event `stats`.
#[derive(Serialize, ToSchema)]
pub(crate) struct StatsEvent<'a> {
    /// The queues by id.
    queues: Vec<&'a QueueStats>,
}

/// Stream stats
///
/// Sends server-sent events `stats` every two seconds with the statistics of all queues that you have access to. A
/// stream ends after five minutes, when the store is unavailable, and seconds after the sign-in or token has ended;
/// reconnecting returns the error. An operator can open 20 streams. Where streaming is not available, poll `/stats`.
#[utoipa::path(get, path = "/stats/stream", tag = "stats",
    responses(
        (status = 200, description = "Events `stats`; their data is a `StatsEvent`", content((String = "text/event-stream"))),
        (status = 404, description = "Streaming is not available in this deployment"),
    ))]
pub(crate) async fn stream_stats(
    State(admin): State<Admin>,
    principal: Principal,
    parts: Parts,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    if !admin.streams {
        return Err(Problem::Plain(StatusCode::NOT_FOUND, Code::StreamingUnavailable));
    }
    let subscriber = admin.stats_stream.subscribe(&principal.operator)?;
    let end = Instant::now() + STREAM_TTL;
    let stream = PrincipalStream { admin, subscriber, principal, parts, checked_at: Instant::now() };
    let events = futures_util::stream::unfold(stream, move |mut stream| async move {
        let changed = timeout_at(end, stream.subscriber.stats.changed()).await;
        changed.ok()?.ok()?;
        // Without the store nobody can be authenticated, which takes until its timeout.
        let is_available = stream.subscriber.stats.borrow().is_some();
        if !is_available {
            return None;
        }
        stream.check().await.ok()?;
        let event = stream.event()?;
        Some((Ok(event), stream))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

/// A stream of statistics and who receives it.
struct PrincipalStream {
    admin: Admin,
    subscriber: Subscriber,
    principal: Principal,
    /// The request.
    parts: Parts,
    checked_at: Instant,
}

impl PrincipalStream {
    /// Authenticates the request again from time to time.
    async fn check(&mut self) -> Result<(), Problem> {
        if self.checked_at.elapsed() >= RECHECK_EVERY {
            self.principal = Principal::from_request_parts(&mut self.parts, &self.admin).await?;
            self.checked_at = Instant::now();
        }
        Ok(())
    }

    /// The statistics that the principal can view; `None` while the store is unavailable.
    fn event(&mut self) -> Option<Event> {
        let stats = self.subscriber.stats.borrow_and_update();
        let queues = stats.as_ref()?.iter().filter(|it| self.principal.can_view(&it.tenant)).collect();
        Some(Event::default().event("stats").json_data(StatsEvent { queues }).unwrap_or_default())
    }
}
