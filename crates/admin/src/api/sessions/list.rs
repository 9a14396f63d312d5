use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use vestibule_core::Micros;
use vestibule_core::line::PAGE_MAX;

use crate::access::Caller;
use crate::problem::Problem;
use crate::query::{Query, Segments, number};
use crate::queues::seen;
use crate::state::Admin;

/// A page of a line.
#[derive(Serialize, ToSchema)]
pub(crate) struct SessionPage {
    /// Those who wait, in their order.
    sessions: Vec<Waiting>,
    /// What the next page begins from; `null` at the end.
    next: Option<String>,
}

/// Somebody who waits.
#[derive(Serialize, ToSchema)]
struct Waiting {
    /// The session.
    session: String,
    /// The code that its visitor can read out.
    support_code: String,
    /// When it joined, in seconds since 1970.
    joined_at: f64,
    /// When it lapses unless it is heard of, in seconds since 1970.
    expires_at: f64,
}

/// List waiting visitors
///
/// A page of the line in the order of arrival.
#[utoipa::path(get, path = "/queues/{queue}/sessions", tag = "sessions",
    params(
        ("queue" = String, Path, description = "ID of the queue"),
        ("from" = Option<String>, Query, description = "`next` of the page before", pattern = "^[0-9]{1,16}$"),
        ("limit" = Option<u64>, Query, description = "At most this many", minimum = 1, maximum = 200),
    ),
    responses((status = 200, description = "A page of the line", body = SessionPage)))]
pub(crate) async fn list_sessions(
    State(admin): State<Admin>,
    caller: Caller,
    query: Query,
    Segments(id): Segments<String>,
) -> Result<Json<SessionPage>, Problem> {
    let (from, limit) = query.read(|fields| {
        let from = number(fields, "from", 0, 0, 1 << 53);
        (from, number(fields, "limit", 50, 1, PAGE_MAX as u64))
    })?;
    let settings = seen(&admin, &caller, &id).await?;
    let page = admin.store.page(&settings.id, Micros(from), limit as usize).await?;
    let waiting = page.entries.into_iter().map(|entry| Waiting {
        session: entry.session.to_string(),
        support_code: entry.session.support_code(),
        joined_at: seconds(entry.arrival),
        expires_at: seconds(entry.expires_at),
    });
    Ok(Json(SessionPage { sessions: waiting.collect(), next: page.next.map(|next| next.0.to_string()) }))
}

/// Seconds with their fraction.
pub(super) fn seconds(at: Micros) -> f64 {
    at.0 as f64 / vestibule_core::MICROS_PER_SECOND as f64
}
