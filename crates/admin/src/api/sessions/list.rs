use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use vestibule_core::Micros;
use vestibule_core::line::PAGE_MAX;

use crate::access::Principal;
use crate::problem::Problem;
use crate::query::{Query, Segments, number};
use crate::queues::find_visible;
use crate::state::Admin;

/// A page of waiting sessions.
#[derive(Serialize, ToSchema)]
pub(crate) struct SessionPage {
    /// Waiting sessions in order of arrival.
    sessions: Vec<Waiting>,
    /// Start of the next page as `from`; `null` at the end.
    next: Option<String>,
}

/// A waiting session.
#[derive(Serialize, ToSchema)]
struct Waiting {
    /// The session.
    session: String,
    /// The support code on the queue page.
    support_code: String,
    /// Arrival in seconds since 1970.
    joined_at: f64,
    /// When the session expires without another visit, in seconds since 1970.
    expires_at: f64,
}

/// List waiting visitors
///
/// Returns a page of waiting sessions in order of arrival.
#[utoipa::path(get, path = "/queues/{queue}/sessions", tag = "sessions",
    params(
        ("queue" = String, Path, description = "ID of the queue"),
        ("from" = Option<String>, Query, description = "`next` of the previous page", pattern = "^[0-9]{1,16}$"),
        ("limit" = Option<u64>, Query, description = "Maximum number of results", minimum = 1, maximum = 200),
    ),
    responses((status = 200, description = "A page of waiting visitors", body = SessionPage)))]
pub(crate) async fn list_sessions(
    State(admin): State<Admin>,
    principal: Principal,
    query: Query,
    Segments(id): Segments<String>,
) -> Result<Json<SessionPage>, Problem> {
    let (from, limit) = query.read(|fields| {
        let from = number(fields, "from", 0, 0, 1 << 53);
        (from, number(fields, "limit", 50, 1, PAGE_MAX as u64))
    })?;
    let settings = find_visible(&admin, &principal, &id).await?;
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
