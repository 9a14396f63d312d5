use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use vestibule_core::Micros;
use vestibule_core::line::{LocatedSession, SessionLocation};
use vestibule_core::settings::Settings;

use crate::access::Principal;
use crate::api::sessions::list::seconds;
use crate::api::sessions::session;
use crate::codes::Code;
use crate::problem::Problem;
use crate::query::Segments;
use crate::queues::find_visible;
use crate::state::Admin;

/// A session.
#[derive(Serialize, ToSchema)]
pub(crate) struct SessionView {
    /// The session.
    session: String,
    /// The support code on the queue page.
    support_code: String,
    /// The state.
    state: SessionState,
    /// Position in line, from 1; `null` unless waiting.
    position: Option<u64>,
    /// Arrival in seconds since 1970; `null` unless waiting.
    joined_at: Option<f64>,
    /// Admission in seconds since 1970; `null` unless active.
    admitted_at: Option<f64>,
    /// Last recorded visit in seconds since 1970; not every visit is recorded, so the
    /// actual one can be slightly later. `null` after the end.
    last_seen: Option<f64>,
    /// When the session expires without another visit, or when its end is forgotten, in seconds since 1970.
    expires_at: f64,
}

/// A session.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum SessionState {
    /// Waiting in line.
    Waiting,
    /// Admitted and not ended.
    Active,
    /// Ended; its ticket is invalid.
    Ended,
}

/// Find a session
///
/// By its ID or by the support code on the queue page. An absent session is not found: its position is in the ticket of
/// the visitor.
#[utoipa::path(get, path = "/queues/{queue}/sessions/{session}", tag = "sessions",
    params(("queue" = String, Path, description = "ID of the queue"),
        ("session" = String, Path, description = "ID or support code of the session")),
    responses((status = 200, description = "The session", body = SessionView)))]
pub(crate) async fn find_session(
    State(admin): State<Admin>,
    principal: Principal,
    Segments((queue, text)): Segments<(String, String)>,
) -> Result<Json<SessionView>, Problem> {
    let settings = find_visible(&admin, &principal, &queue).await?;
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
