//! The report of an event, and of a queue since its state began.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;
use vestibule_core::{Timestamp, fields};
use vestibule_records::event_report::Report;

use crate::access::Principal;
use crate::api::queues::events::find_event;
use crate::api::queues::service::find_visible;
use crate::body::{Query, Segments};
use crate::codes::Code;
use crate::csv::{TableFormat, csv_file};
use crate::describe::describe;
use crate::problem::Problem;
use crate::state::Admin;

fields! {
    /// A report.
    pub(crate) struct ReportQuery {
        /// Format of the response.
        format: TableFormat = TableFormat::Json,
    }
}

describe!(query ReportQuery);

/// What a queue counted in a time.
#[derive(Serialize, ToSchema)]
pub(crate) struct QueueReport {
    /// ID of the queue.
    queue: String,
    /// ID of the event; `null` for the report of a queue since its state began.
    event: Option<String>,
    /// Start of the counted time, in RFC 3339.
    from: String,
    /// End of the counted time, in RFC 3339.
    to: String,
    /// Whether everything since the lobby opened is counted. `false` if the store lost data in that time, if the
    /// queue was created or reset in it, or if visitors may have joined before the first counts were taken.
    complete: bool,
    /// Lobby tickets that were issued, after a loss of data the most that were counted; `null` for an event in order of arrival, and for a queue.
    lobby_tickets: Option<u64>,
    /// Visitors who joined the line.
    joined: u64,
    /// Visitors whose browser returned the ticket; programs without cookies never do.
    confirmed: u64,
    /// Visitors who were admitted, by the rules or by a release.
    admitted: u64,
    /// Visitors who left the line: their presence expired, or they closed the page. Some of them return.
    abandoned: u64,
    /// Returns to the line or to a slot with a ticket.
    returned: u64,
    /// Active sessions that expired: visitors who did not come when it was their turn, and visitors who left the site.
    expired: u64,
    /// Sessions that visitors or the site ended.
    left: u64,
    /// Sessions that an operator or the maximum session duration ended.
    ended: u64,
    /// Waits of admitted visitors.
    waits: Vec<WaitCount>,
}

/// Number of admitted visitors who waited no longer than a time.
#[derive(Serialize, ToSchema)]
pub(crate) struct WaitCount {
    /// Longest wait in seconds; `null` for any.
    le: Option<u64>,
    /// Admitted visitors who waited at most this long, those of shorter waits included.
    count: u64,
}

impl QueueReport {
    fn new(queue: &str, event: Option<&str>, report: &Report) -> Self {
        let counters = report.totals.counters;
        let waits = report.totals.waits.cumulative().into_iter().map(|(le, count)| WaitCount { le, count });
        Self {
            queue: queue.to_owned(),
            event: event.map(str::to_owned),
            from: Timestamp::of(report.from).to_string(),
            to: Timestamp::of(report.to).to_string(),
            complete: report.complete,
            lobby_tickets: report.lobby_tickets,
            joined: counters.joined,
            confirmed: counters.confirmed,
            admitted: counters.admitted + counters.released,
            abandoned: counters.expired_waiting + counters.away,
            returned: counters.returned,
            expired: counters.expired_active,
            left: counters.left,
            ended: counters.ended,
            waits: waits.collect(),
        }
    }

    fn in_format(self, format: TableFormat) -> Response {
        if format == TableFormat::Json {
            return Json(self).into_response();
        }
        let Self { queue, event, from, to, complete, waits, .. } = &self;
        let name = event.as_ref().map_or_else(|| format!("{queue}-report"), |event| format!("{queue}-{event}-report"));
        let texts = [("from", from.clone()), ("to", to.clone()), ("complete", complete.to_string())];
        let counts = [
            ("joined", self.joined),
            ("confirmed", self.confirmed),
            ("admitted", self.admitted),
            ("abandoned", self.abandoned),
            ("returned", self.returned),
            ("expired", self.expired),
            ("left", self.left),
            ("ended", self.ended),
        ];
        let lobby = self.lobby_tickets.map(|tickets| ("lobby_tickets", tickets));
        let counts = lobby.into_iter().chain(counts).map(|(metric, count)| (metric, count.to_string()));
        let rows = texts.into_iter().chain(counts).map(|(metric, value)| [metric.to_owned(), value]);
        let bounds = waits.iter().map(|WaitCount { le, count }| {
            let le = le.map_or_else(|| "inf".to_owned(), |le| le.to_string());
            [format!("wait_le_{le}"), count.to_string()]
        });
        csv_file(&name, ["metric", "value"], rows.chain(bounds))
    }
}

/// Get the report of an event
///
/// Returns what the queue counted from the opening of the lobby until the event was over, or until now. As CSV it has
/// the columns `metric` and `value`, with a row for each wait such as `wait_le_60`.
#[utoipa::path(get, path = "/queues/{queue}/events/{event}/report", tag = "stats",
    params(ReportQuery),
    responses(
        (status = 200, description = "The report", content((QueueReport = "application/json"), (String = "text/csv"))),
        (status = 409, description = "The lobby has not opened, or the event is suspended"),
    ))]
pub(crate) async fn get_event_report(
    State(admin): State<Admin>,
    principal: Principal,
    Query(query): Query<ReportQuery>,
    Segments((queue, event)): Segments<(String, String)>,
) -> Result<Response, Problem> {
    let settings = find_visible(&admin, &principal, &queue).await?;
    let event = find_event(&settings, &event)?;
    let stats = admin.store.stats(&settings.id).await?;
    let report = Report::of_event(&*admin.records, &settings, event, &stats)
        .await?
        .ok_or(Problem::Plain(StatusCode::CONFLICT, Code::NoReport))?;
    Ok(QueueReport::new(settings.id.as_str(), Some(event.id.as_str()), &report).in_format(query.format))
}

/// Get the report of a queue
///
/// Returns what the queue counted since its state began: since it was created or reset, or since the store lost its data.
/// For queues without events; the format is that of an event's report.
#[utoipa::path(get, path = "/queues/{queue}/report", tag = "stats",
    params(ReportQuery),
    responses((status = 200, description = "The report", content((QueueReport = "application/json"), (String = "text/csv")))))]
pub(crate) async fn get_queue_report(
    State(admin): State<Admin>,
    principal: Principal,
    Query(query): Query<ReportQuery>,
    Segments(queue): Segments<String>,
) -> Result<Response, Problem> {
    let settings = find_visible(&admin, &principal, &queue).await?;
    let stats = admin.store.stats(&settings.id).await?;
    let report = Report::since_state_began(&stats);
    Ok(QueueReport::new(settings.id.as_str(), None, &report).in_format(query.format))
}
