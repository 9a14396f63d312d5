use axum::Json;
use axum::extract::State;
use http::HeaderMap;
use serde::Serialize;
use utoipa::ToSchema;
use vestibule_core::line::Removed;

use crate::access::Principal;
use crate::api::sessions::session;
use crate::audit::AuditEventBuilder;
use crate::codes::Code;
use crate::confirmation::confirmed;
use crate::problem::Problem;
use crate::query::Segments;
use crate::queues::find_editable;
use crate::state::Admin;

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
