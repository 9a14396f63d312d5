use axum::Json;
use axum::extract::State;
use http::HeaderMap;
use serde::Serialize;
use utoipa::ToSchema;
use vestibule_core::line::Removed;

use crate::access::Caller;
use crate::api::sessions::session;
use crate::audit::AuditEventBuilder;
use crate::codes::Code;
use crate::confirmation::confirmed;
use crate::problem::Problem;
use crate::query::Segments;
use crate::queues::operated;
use crate::state::Admin;

/// What a session was before it was ended.
#[derive(Serialize, ToSchema)]
pub(crate) struct EndedSession {
    /// What it was.
    previous_state: PreviousState,
}

/// What a session was.
#[derive(Serialize, ToSchema, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum PreviousState {
    /// It waited.
    Waiting,
    /// It was let in.
    Active,
    /// It was not there; should it be away, its ticket is void now.
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
/// Its place is free at once, and its ticket can't return. Asks for a confirmation.
#[utoipa::path(post, path = "/queues/{queue}/sessions/{session}/end", tag = "sessions",
    params(("queue" = String, Path, description = "ID of the queue"),
        ("session" = String, Path, description = "Id or support code of the session"),
        ("X-Vestibule-Confirm" = Option<String>, Header, description = "The confirmation token of the first response")),
    responses(
        (status = 200, description = "What it was before", body = EndedSession),
        (status = 428, description = "Confirmation required"),
    ))]
pub(crate) async fn end_session(
    State(admin): State<Admin>,
    caller: Caller,
    headers: HeaderMap,
    Segments((queue, text)): Segments<(String, String)>,
) -> Result<Json<EndedSession>, Problem> {
    let settings = operated(&admin, &caller, &queue).await?;
    let session = session(&text)?;
    let effect = || Code::WillEndSession.with("session", session.to_string());
    confirmed(&admin, &caller, &headers, &format!("session.end {} {session}", settings.id), effect).await?;
    let event = AuditEventBuilder::of(&caller, "session.end").queue(&settings).subject(&session);
    let previous_state = match admin.store.end(&settings.id, session).await {
        Ok(Removed::Waiting) => PreviousState::Waiting,
        Ok(Removed::Active) => PreviousState::Active,
        Ok(Removed::Absent) => PreviousState::Absent,
        Err(error) => return Err(event.failed(&admin, Problem::of_write(error)).await),
    };
    event.with("previous_state", previous_state.as_str()).log(&admin).await;
    Ok(Json(EndedSession { previous_state }))
}
