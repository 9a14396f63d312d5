//! Visitor sessions.

use axum::Json;
use axum::extract::State;
use http::HeaderMap;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vestibule_core::fields;
use vestibule_core::fields::{Bounded, Field, Reader};
use vestibule_core::line::{LocatedSession, PAGE_MAX, Removed, SessionLocation};
use vestibule_core::settings::{FieldWording, Settings};
use vestibule_core::{Message, Micros, SessionId};

use crate::access::Principal;
use crate::api::queues::service::{find_editable, find_visible};
use crate::audit::AuditEventBuilder;
use crate::body::{Query, Segments};
use crate::codes::Code;
use crate::confirmation::confirmed;
use crate::describe::describe;
use crate::problem::Problem;
use crate::state::Admin;

pub(crate) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new()
        .routes(routes!(list_sessions))
        .routes(routes!(find_session))
        .routes(routes!(end_session))
        .routes(routes!(admit_session))
}

/// Parses a session ID or the support code on the queue page.
fn session(text: &str) -> Result<SessionId, Problem> {
    let found = text.trim().parse().ok().or_else(|| SessionId::from_support_code(text));
    found.ok_or(Problem::NotFound(Code::ASession))
}

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

/// Start of a page of the line. It is an opaque text to clients.
struct PageStart;

impl Field for PageStart {
    type Value = u64;

    fn expected() -> Message {
        FieldWording::WholeNumber.with("least", 0_u64).with("most", 1_u64 << 53)
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[0-9]{1,16}$" })
    }

    fn parse(value: &Value, reader: &mut Reader) -> Option<u64> {
        let start = value.as_str().and_then(|text| text.parse().ok()).filter(|start| *start <= 1 << 53);
        reader.accept::<Self>(value, start)
    }
}

fields! {
    /// A page of the line.
    pub(crate) struct SessionsQuery {
        /// `next` of the previous page.
        from: PageStart = 0,
        /// Maximum number of results.
        limit: Bounded<1, { PAGE_MAX as u64 }> = 50,
    }
}

describe!(query SessionsQuery);

/// List waiting visitors
///
/// Returns a page of waiting sessions in order of arrival.
#[utoipa::path(get, path = "/queues/{queue}/sessions", tag = "sessions",
    params(("queue" = String, Path, description = "ID of the queue"), SessionsQuery),
    responses((status = 200, description = "A page of waiting visitors", body = SessionPage)))]
pub(crate) async fn list_sessions(
    State(admin): State<Admin>,
    principal: Principal,
    Query(SessionsQuery { from, limit }): Query<SessionsQuery>,
    Segments(id): Segments<String>,
) -> Result<Json<SessionPage>, Problem> {
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
pub(crate) fn seconds(at: Micros) -> f64 {
    at.0 as f64 / vestibule_core::MICROS_PER_SECOND as f64
}

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

/// A visit sets the expiry one TTL ahead, so the expiry tells the time of the visit, but never before the arrival.
fn last_seen(settings: &Settings, found: LocatedSession) -> Option<Micros> {
    let (since, ttl) = match found.state {
        SessionLocation::Waiting { arrival, .. } => (arrival, settings.line.waiting_ttl),
        SessionLocation::Active { admitted_at } => (admitted_at, settings.line.active_ttl),
        SessionLocation::Ended => return None,
    };
    let visit = found.expires_at.0.saturating_sub(Micros(0).add_seconds(ttl).0);
    Some(Micros(visit).max(since))
}

/// A session that was ended.
#[derive(Serialize, ToSchema)]
pub(crate) struct EndedSession {
    /// State before the end.
    previous_state: PreviousState,
}

/// State of a session before it ended.
#[derive(Serialize, ToSchema, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum PreviousState {
    /// Waiting.
    Waiting,
    /// Active.
    Active,
    /// Not present. Its ticket, if any, is now invalid.
    Absent,
}

impl PreviousState {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Active => "active",
            Self::Absent => "absent",
        }
    }
}

/// End a session
///
/// Frees its slot immediately and invalidates its ticket. Needs a confirmation.
#[utoipa::path(post, path = "/queues/{queue}/sessions/{session}/end", tag = "sessions",
    params(("queue" = String, Path, description = "ID of the queue"),
        ("session" = String, Path, description = "ID or support code of the session"),
        ("X-Vestibule-Confirm" = Option<String>, Header, description = "The confirmation token of the first response")),
    responses(
        (status = 200, description = "The session before it ended", body = EndedSession),
        (status = 428, description = "Confirmation required"),
    ))]
pub(crate) async fn end_session(
    State(admin): State<Admin>,
    principal: Principal,
    headers: HeaderMap,
    Segments((queue, text)): Segments<(String, String)>,
) -> Result<Json<EndedSession>, Problem> {
    let settings = find_editable(&admin, &principal, &queue).await?;
    let session = session(&text)?;
    let effect = || Code::WillEndSession.with("session", session.to_string());
    confirmed(&admin, &principal, &headers, &format!("session.end {} {session}", settings.id), effect).await?;
    let event = AuditEventBuilder::of(&principal, "session.end").queue(&settings).subject(&session);
    let previous_state = match admin.store.end(&settings.id, session).await {
        Ok(Removed::Waiting) => PreviousState::Waiting,
        Ok(Removed::Active) => PreviousState::Active,
        Ok(Removed::Absent) => PreviousState::Absent,
        Err(error) => return Err(event.failed(&admin, Problem::of_write(error)).await),
    };
    event.with("previous_state", previous_state.as_str()).log(&admin).await;
    Ok(Json(EndedSession { previous_state }))
}

/// Whether a session was admitted.
#[derive(Serialize, ToSchema)]
pub(crate) struct AdmitResult {
    /// `false` if the session was already active or has ended.
    admitted: bool,
}

/// Admit a session
///
/// Admits one session now, out of order and regardless of mode, quota and rate.
#[utoipa::path(post, path = "/queues/{queue}/sessions/{session}/admit", tag = "sessions",
    params(("queue" = String, Path, description = "ID of the queue"),
        ("session" = String, Path, description = "ID or support code of the session")),
    responses((status = 200, description = "Whether the session was admitted", body = AdmitResult)))]
pub(crate) async fn admit_session(
    State(admin): State<Admin>,
    principal: Principal,
    Segments((queue, text)): Segments<(String, String)>,
) -> Result<Json<AdmitResult>, Problem> {
    let settings = find_editable(&admin, &principal, &queue).await?;
    let session = session(&text)?;
    let event = AuditEventBuilder::of(&principal, "session.admit").queue(&settings).subject(&session);
    let admitted = match admin.store.admit(&settings.id, session).await {
        Ok(admitted) => admitted,
        Err(error) => return Err(event.failed(&admin, Problem::of_write(error)).await),
    };
    if admitted {
        event.log(&admin).await;
    } else if admin.store.find(&settings.id, session).await?.is_none() {
        return Err(Problem::NotFound(Code::ASession));
    }
    Ok(Json(AdmitResult { admitted }))
}
