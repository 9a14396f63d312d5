use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use vestibule_core::Micros;
use vestibule_core::line::{LocatedSession, SessionLocation};
use vestibule_core::settings::Settings;

use crate::access::Caller;
use crate::api::sessions::list::seconds;
use crate::api::sessions::session;
use crate::codes::Code;
use crate::problem::Problem;
use crate::query::Segments;
use crate::queues::seen;
use crate::state::Admin;

/// Where a session is.
#[derive(Serialize, ToSchema)]
pub(crate) struct SessionView {
    /// The session.
    session: String,
    /// The code that its visitor can read out.
    support_code: String,
    /// Where it is.
    state: SessionState,
    /// Its rank in the line, from 1; `null` unless it waits.
    position: Option<u64>,
    /// When it joined, in seconds since 1970; `null` unless it waits.
    joined_at: Option<f64>,
    /// When it was let in, in seconds since 1970; `null` unless it is in.
    admitted_at: Option<f64>,
    /// When it was heard of, in seconds since 1970. It may have been heard of a little later: not every visit is written
    /// down. `null` once it ended.
    last_seen: Option<f64>,
    /// When it lapses unless it is heard of, or until when its ticket is void, in seconds since 1970.
    expires_at: f64,
}

/// Where a session is.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum SessionState {
    /// In line.
    Waiting,
    /// Let in.
    Active,
    /// Ended; its ticket can't return.
    Ended,
}

/// Find a session
///
/// By its id, or by the support code that its visitor reads out from the queue page. A session that is away is not
/// found: its place is in the visitor's own ticket.
#[utoipa::path(get, path = "/queues/{queue}/sessions/{session}", tag = "sessions",
    params(("queue" = String, Path, description = "ID of the queue"),
        ("session" = String, Path, description = "Id or support code of the session")),
    responses((status = 200, description = "Where it is", body = SessionView)))]
pub(crate) async fn find_session(
    State(admin): State<Admin>,
    caller: Caller,
    Segments((queue, text)): Segments<(String, String)>,
) -> Result<Json<SessionView>, Problem> {
    let settings = seen(&admin, &caller, &queue).await?;
    let session = session(&text)?;
    let found = admin.store.find(&settings.id, session).await?.ok_or(Problem::NotFound(Code::ASession))?;
    let (state, position, joined_at, admitted_at) = match found.state {
        SessionLocation::Waiting { arrival, position } => (SessionState::Waiting, Some(position), Some(arrival), None),
        SessionLocation::Active { admitted_at } => (SessionState::Active, None, None, Some(admitted_at)),
        SessionLocation::Ended => (SessionState::Ended, None, None, None),
    };
    Ok(Json(SessionView {
        session: session.to_string(),
        support_code: session.support_code(),
        state,
        position,
        joined_at: joined_at.map(seconds),
        admitted_at: admitted_at.map(seconds),
        last_seen: last_seen(&settings, found).map(seconds),
        expires_at: seconds(found.expires_at),
    }))
}

/// A visit sets the expiry a whole time ahead, so the expiry tells the visit; but never before it came.
fn last_seen(settings: &Settings, found: LocatedSession) -> Option<Micros> {
    let (since, ttl) = match found.state {
        SessionLocation::Waiting { arrival, .. } => (arrival, settings.line.waiting_ttl),
        SessionLocation::Active { admitted_at } => (admitted_at, settings.line.active_ttl),
        SessionLocation::Ended => return None,
    };
    let visit = found.expires_at.0.saturating_sub(Micros(0).add_seconds(ttl).0);
    Some(Micros(visit).max(since))
}
