//! Visitor sessions.

use axum::Json;
use axum::extract::State;
use futures_util::{StreamExt as _, stream};
use http::HeaderMap;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vestibule_core::fields::{Bounded, Field, Reader};
use vestibule_core::line::{
    ListedSession, LocatedSession, PAGE_MAX, PAGE_SKIP_MAX, PageStart, Removed, SessionList, SessionLocation,
};
use vestibule_core::settings::{FieldErrorCode, Settings};
use vestibule_core::{Message, Micros, QueueId, SessionId, StoreError, VisitorCode, fields, support_code, word_field};

use crate::access::Principal;
use crate::api::actions::no_draw_in_progress;
use crate::api::queues::service::{find_editable, find_visible};
use crate::audit::AuditEventBuilder;
use crate::body::{Query, Segments, wrong};
use crate::codes::Code;
use crate::confirmation::confirmed;
use crate::describe::describe;
use crate::problem::Problem;
use crate::state::Admin;
use crate::stats::readable;

pub(crate) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new()
        .routes(routes!(search_sessions))
        .routes(routes!(list_sessions))
        .routes(routes!(find_session))
        .routes(routes!(end_session))
        .routes(routes!(admit_session))
}

/// How many queues are searched at once: they share one connection.
const AT_ONCE: usize = 64;
/// Longest code with separators, in bytes.
const CODE_MAX: usize = 100;
/// Clocks of the store's servers may differ by less than this, in seconds.
const CLOCK_TOLERANCE: u64 = 3600;

/// Parses a support code or a session ID.
fn visitor_code(field: &str, text: &str) -> Result<VisitorCode, Problem> {
    text.parse().map_err(|_| wrong(field, FieldErrorCode::Invalid.with("what", Code::SupportCode)))
}

/// The sessions of a queue with this code. A short code has one, or none if its visitor does not wait.
async fn sessions_of(admin: &Admin, queue: &QueueId, code: VisitorCode) -> Result<Vec<SessionId>, StoreError> {
    let code = match code {
        VisitorCode::Session(session) => return Ok(vec![session]),
        VisitorCode::Short(code) => code,
    };
    let mut found = Vec::new();
    for at in code.arrivals(admin.now().await?.add_seconds(CLOCK_TOLERANCE)) {
        let page = admin.store.page(queue, SessionList::Waiting, PageStart { at, skip: 0 }, PAGE_MAX).await?;
        found.extend(page.entries.iter().take_while(|entry| entry.at == at).map(|entry| entry.session));
    }
    Ok(found)
}

/// The session of the path.
async fn session(admin: &Admin, queue: &QueueId, text: &str) -> Result<SessionId, Problem> {
    let found = sessions_of(admin, queue, visitor_code("session", text)?).await?;
    found.first().copied().ok_or(Problem::NotFound(Code::ASession))
}

/// A page of a list of sessions.
#[derive(Serialize, ToSchema)]
pub(crate) struct SessionPageView {
    /// Waiting sessions in order of arrival, active ones in order of admission, ended ones in order of `expires_at`.
    sessions: Vec<SessionEntry>,
    /// Start of the next page as `from`; `null` at the end.
    next: Option<String>,
}

/// A session in a list.
#[derive(Serialize, ToSchema)]
struct SessionEntry {
    /// The session.
    session: String,
    /// The support code on the queue page.
    support_code: String,
    /// Arrival in seconds since 1970; `null` unless waiting, and for a drawn session.
    joined_at: Option<f64>,
    /// The number that an event's draw gave the session, such as `0.855761`; `null` unless it waits in drawn order.
    number: Option<String>,
    /// Admission in seconds since 1970; `null` unless active.
    admitted_at: Option<f64>,
    /// When the session expires without another visit, or when its end is forgotten, in seconds since 1970.
    expires_at: f64,
}

impl SessionEntry {
    fn of(admin: &Admin, settings: &Settings, list: SessionList, entry: ListedSession) -> Self {
        let arrival = (list == SessionList::Waiting).then_some(entry.at);
        let ShownArrival { joined_at, number, support_code } =
            ShownArrival::of(admin, settings, entry.session, arrival);
        Self {
            session: entry.session.to_string(),
            support_code,
            joined_at,
            number,
            admitted_at: (list == SessionList::Active).then(|| seconds(entry.at)),
            expires_at: seconds(entry.expires_at),
        }
    }
}

/// The arrival of a waiting session as it is shown: when it joined, or its number, since a drawn arrival is an order and not a time (rule 15.9).
struct ShownArrival {
    joined_at: Option<f64>,
    number: Option<String>,
    /// The long code if it is drawn, with which its visitor checks the draw.
    support_code: String,
}

impl ShownArrival {
    fn of(admin: &Admin, settings: &Settings, session: SessionId, arrival: Option<Micros>) -> Self {
        let number = arrival.and_then(|arrival| admin.sale_keys.number(settings, session, arrival));
        let undrawn = arrival.filter(|_| number.is_none());
        Self {
            joined_at: undrawn.map(seconds),
            number: number.map(|number| number.to_string()),
            support_code: support_code(session, undrawn),
        }
    }
}

/// Start of a page. It is an opaque text to clients: a time in microseconds, and how many entries of that time to skip.
struct From;

impl Field for From {
    type Value = PageStart;

    fn expected() -> Message {
        Code::PageStart.into()
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[0-9]{1,16}(-[0-9]{1,6})?$" })
    }

    fn parse(value: &Value, reader: &mut Reader) -> Option<PageStart> {
        let parsed = value.as_str().and_then(|text| {
            let (at, skip) = text.split_once('-').unwrap_or((text, "0"));
            Some(PageStart { at: Micros(at.parse().ok()?), skip: skip.parse().ok()? })
        });
        reader.accept::<Self>(value, parsed.filter(|start| start.at.0 <= 1 << 53 && start.skip <= PAGE_SKIP_MAX))
    }
}

fields! {
    /// A page of a list of sessions.
    pub(crate) struct SessionsQuery {
        /// The sessions to list.
        state: SessionList = SessionList::Waiting,
        /// `next` of the previous page.
        from: From = PageStart::default(),
        /// Maximum number of results.
        limit: Bounded<1, { PAGE_MAX as u64 }> = 50,
    }
}

describe!(query SessionsQuery);

/// List visitors of a queue
///
/// Returns a page of its waiting, active or ended sessions. A page may have fewer entries than `limit`: sessions that have
/// just ended are not listed as active.
#[utoipa::path(get, path = "/queues/{queue}/sessions", tag = "sessions",
    params(SessionsQuery),
    responses((status = 200, description = "A page of sessions", body = SessionPageView)))]
pub(crate) async fn list_sessions(
    State(admin): State<Admin>,
    principal: Principal,
    Query(SessionsQuery { state, from, limit }): Query<SessionsQuery>,
    Segments(id): Segments<String>,
) -> Result<Json<SessionPageView>, Problem> {
    let settings = find_visible(&admin, &principal, &id).await?;
    let page = admin.store.page(&settings.id, state, from, limit as usize).await?;
    let next = page.next.map(|next| match next.skip {
        0 => next.at.0.to_string(),
        skip => format!("{}-{skip}", next.at.0),
    });
    let sessions = page.entries.into_iter().map(|entry| SessionEntry::of(&admin, &settings, state, entry)).collect();
    Ok(Json(SessionPageView { sessions, next }))
}

fields! {
    /// Whom to find.
    pub(crate) struct SearchQuery {
        /// A support code or a session ID.
        code: SearchedCode,
    }
}

describe!(query SearchQuery);

/// A support code or a session ID.
struct SearchedCode;

impl Field for SearchedCode {
    type Value = VisitorCode;

    fn expected() -> Message {
        Code::SupportCode.into()
    }

    fn schema() -> Value {
        json!({ "type": "string", "maxLength": CODE_MAX })
    }

    fn parse(value: &Value, reader: &mut Reader) -> Option<VisitorCode> {
        let parsed = value.as_str().filter(|text| text.len() <= CODE_MAX).and_then(|text| text.parse().ok());
        reader.accept::<Self>(value, parsed)
    }
}

/// The sessions that were found.
#[derive(Serialize, ToSchema)]
pub(crate) struct SearchResult {
    /// The sessions, ordered by queue. Usually there is at most one.
    sessions: Vec<FoundSession>,
}

/// A session and its queue.
#[derive(Serialize, ToSchema)]
struct FoundSession {
    /// ID of the queue.
    queue: String,
    /// Name of the queue.
    queue_name: String,
    /// ID of the queue's tenant.
    tenant: String,
    #[serde(flatten)]
    session: SessionView,
}

/// Find a visitor in all queues
///
/// By the support code on the queue page, or by the ID of the session, in all queues that you have access to. The short code
/// of a waiting visitor finds only waiting sessions.
#[utoipa::path(get, path = "/sessions", tag = "sessions", params(SearchQuery),
    responses((status = 200, description = "The sessions with this code", body = SearchResult)))]
pub(crate) async fn search_sessions(
    State(admin): State<Admin>,
    principal: Principal,
    Query(SearchQuery { code }): Query<SearchQuery>,
) -> Result<Json<SearchResult>, Problem> {
    let queues = admin.visible_queues(&principal).await?;
    let admin = &admin;
    let searches = queues.into_iter().map(|queue| async move {
        let found = found_in(admin, &queue.settings, code).await;
        readable(&queue.settings.id, found)
    });
    let found: Vec<Result<Option<Vec<FoundSession>>, StoreError>> =
        stream::iter(searches).buffered(AT_ONCE).collect().await;
    let mut sessions = Vec::new();
    for found in found {
        sessions.extend(found?.into_iter().flatten());
    }
    Ok(Json(SearchResult { sessions }))
}

/// The sessions of a queue with this code.
async fn found_in(admin: &Admin, settings: &Settings, code: VisitorCode) -> Result<Vec<FoundSession>, StoreError> {
    let mut found = Vec::new();
    for session in sessions_of(admin, &settings.id, code).await? {
        let view = SessionView::find(admin, settings, session).await?;
        found.extend(view.map(|session| FoundSession {
            queue: settings.id.to_string(),
            queue_name: settings.name.clone(),
            tenant: settings.tenant.to_string(),
            session,
        }));
    }
    Ok(found)
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
    /// Arrival in seconds since 1970; `null` unless waiting, and for a drawn session.
    joined_at: Option<f64>,
    /// The number that an event's draw gave the session, such as `0.855761`; `null` unless it waits in drawn order.
    number: Option<String>,
    /// Admission in seconds since 1970; `null` unless active.
    admitted_at: Option<f64>,
    /// Last recorded visit in seconds since 1970; not every visit is recorded, so the
    /// actual one can be slightly later. `null` unless active: how long a visit keeps a waiting session present
    /// depends on the wait shown.
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
    responses((status = 200, description = "The session", body = SessionView)))]
pub(crate) async fn find_session(
    State(admin): State<Admin>,
    principal: Principal,
    Segments((queue, text)): Segments<(String, String)>,
) -> Result<Json<SessionView>, Problem> {
    let settings = find_visible(&admin, &principal, &queue).await?;
    let session = session(&admin, &settings.id, &text).await?;
    SessionView::find(&admin, &settings, session).await?.map(Json).ok_or(Problem::NotFound(Code::ASession))
}

impl SessionView {
    /// The session as it is now; `None` if it is absent.
    async fn find(admin: &Admin, settings: &Settings, session: SessionId) -> Result<Option<Self>, StoreError> {
        let Some(found) = admin.store.find(&settings.id, session).await? else { return Ok(None) };
        let (state, position, arrival, admitted_at) = match found.state {
            SessionLocation::Waiting { arrival, position } => {
                (SessionState::Waiting, Some(position), Some(arrival), None)
            }
            SessionLocation::Active { admitted_at } => (SessionState::Active, None, None, Some(admitted_at)),
            SessionLocation::Ended => (SessionState::Ended, None, None, None),
        };
        let ShownArrival { joined_at, number, support_code } = ShownArrival::of(admin, settings, session, arrival);
        Ok(Some(Self {
            session: session.to_string(),
            support_code,
            state,
            position,
            joined_at,
            number,
            admitted_at: admitted_at.map(seconds),
            last_seen: last_seen(settings, found).map(seconds),
            expires_at: seconds(found.expires_at),
        }))
    }
}

/// A visit sets the expiry of an active session one TTL ahead, so the expiry tells the time of the visit, but never before
/// the admission.
fn last_seen(settings: &Settings, found: LocatedSession) -> Option<Micros> {
    let SessionLocation::Active { admitted_at } = found.state else { return None };
    let visit = found.expires_at.0.saturating_sub(Micros(0).add_seconds(settings.line.active_ttl).0);
    Some(Micros(visit).max(admitted_at))
}

/// A session that was ended.
#[derive(Serialize, ToSchema)]
pub(crate) struct EndedSession {
    /// State before the end.
    previous_state: PreviousState,
}

/// State of a session before it ended.
#[derive(ToSchema, Clone, Copy)]
#[schema(rename_all = "snake_case")]
enum PreviousState {
    /// Waiting.
    Waiting,
    /// Active.
    Active,
    /// Not present. Its ticket, if any, is now invalid.
    Absent,
}

word_field!(PreviousState { Waiting = "waiting", Active = "active", Absent = "absent" });

/// End a session
///
/// Invalidates its ticket. Its slot becomes free when the last credential of the session has expired: after `recheck_after`, with
/// the handover `redirect` up to a minute later. A visitor in the lobby of an event does not take part in its draw. Needs a
/// confirmation.
#[utoipa::path(post, path = "/queues/{queue}/sessions/{session}/end", tag = "sessions",
    params(("X-Vestibule-Confirm" = Option<String>, Header, description = "The confirmation token of the first response")),
    responses(
        (status = 200, description = "The session before it ended", body = EndedSession),
    ))]
pub(crate) async fn end_session(
    State(admin): State<Admin>,
    principal: Principal,
    headers: HeaderMap,
    Segments((queue, text)): Segments<(String, String)>,
) -> Result<Json<EndedSession>, Problem> {
    let settings = find_editable(&admin, &principal, &queue).await?;
    let session = session(&admin, &settings.id, &text).await?;
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
/// Admits one session now, out of order and regardless of mode, quota and rate. While the order of an event is drawn, nobody
/// can be admitted.
#[utoipa::path(post, path = "/queues/{queue}/sessions/{session}/admit", tag = "sessions",
    responses(
        (status = 200, description = "Whether the session was admitted", body = AdmitResult),
        (status = 409, description = "The order of an event is being drawn"),
    ))]
pub(crate) async fn admit_session(
    State(admin): State<Admin>,
    principal: Principal,
    Segments((queue, text)): Segments<(String, String)>,
) -> Result<Json<AdmitResult>, Problem> {
    let settings = find_editable(&admin, &principal, &queue).await?;
    let session = session(&admin, &settings.id, &text).await?;
    no_draw_in_progress(&settings, &admin.store.stats(&settings.id).await?)?;
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
