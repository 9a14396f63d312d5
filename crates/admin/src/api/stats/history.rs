use std::fmt::Write as _;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use serde::Serialize;
use utoipa::ToSchema;
use vestibule_core::Micros;
use vestibule_records::history::{Sample, Step, samples};

use crate::access::Principal;
use crate::problem::Problem;
use crate::query::{Query, Segments, format, number, one_of};
use crate::queues::find_visible;
use crate::state::Admin;

const COLUMNS: [&str; 6] = ["at", "waiting", "active", "quota", "joined", "admitted"];

/// History of a queue.
#[derive(Serialize, ToSchema)]
pub(crate) struct QueueHistory {
    /// Seconds between two samples.
    step_seconds: u64,
    /// Columns of a sample: `at` in seconds since 1970, `waiting` and `active` visitors at that time, the
    /// `quota`, and visitors who `joined` and were `admitted` since the previous sample.
    columns: [&'static str; 6],
    /// The samples, oldest first. A step without a sample had no visitors; `null` is unknown.
    points: Vec<[Option<u64>; 6]>,
}

/// Get queue history
///
/// Returns one sample per minute for the last day, or one per five minutes for the last 30 days, as JSON or CSV.
#[utoipa::path(get, path = "/queues/{queue}/history", tag = "stats",
    params(("queue" = String, Path, description = "ID of the queue"),
        ("step" = Option<String>, Query, description = "`minute` or `five_minutes`", pattern = "^(minute|five_minutes)$"),
        ("from" = Option<u64>, Query, description = "Start time in seconds since 1970"),
        ("format" = Option<String>, Query, description = "`json` or `csv`", pattern = "^(json|csv)$")),
    responses((status = 200, description = "The samples", content((QueueHistory = "application/json"), (String = "text/csv")))))]
pub(crate) async fn get_queue_history(
    State(admin): State<Admin>,
    principal: Principal,
    query: Query,
    Segments(id): Segments<String>,
) -> Result<Response, Problem> {
    let (step, from, format) = query.read(|fields| {
        let step =
            fields.or("step", Step::Minute, one_of(&["minute", "five_minutes"]), |value| match value.as_str()? {
                "minute" => Some(Step::Minute),
                "five_minutes" => Some(Step::FiveMinutes),
                _ => None,
            });
        (step, number(fields, "from", 0, 0, 1 << 40), format(fields, ["json", "csv"]))
    })?;
    let settings = find_visible(&admin, &principal, &id).await?;
    let samples = samples(&*admin.records, &settings.id, step, Micros(0).add_seconds(from)).await?;
    let points: Vec<_> = samples.iter().map(point).collect();
    if format == "csv" {
        let name = format!("attachment; filename=\"{}.csv\"", settings.id);
        return Ok(([(CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()), (CONTENT_DISPOSITION, name)], csv(&points))
            .into_response());
    }
    Ok(Json(QueueHistory { step_seconds: step.seconds(), columns: COLUMNS, points }).into_response())
}

const fn point(sample: &Sample) -> [Option<u64>; 6] {
    let Sample { at, waiting, active, quota, joined, admitted } = *sample;
    [Some(at), Some(waiting), Some(active), Some(quota), joined, admitted]
}

fn csv(points: &[[Option<u64>; 6]]) -> String {
    let mut csv = COLUMNS.join(",") + "\r\n";
    for point in points {
        let numbers: Vec<String> = point.iter().map(|it| it.map(|it| it.to_string()).unwrap_or_default()).collect();
        let _ = write!(csv, "{}\r\n", numbers.join(","));
    }
    csv
}
