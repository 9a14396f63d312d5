use axum::Json;
use axum::extract::State;
use http::HeaderMap;
use serde::Serialize;
use utoipa::ToSchema;
use vestibule_core::line::Removed;

use crate::access::Caller;
use crate::api::sessions::session;
use crate::audit::Deed;
use crate::confirmation::confirmed;
use crate::problem::{ErrorBody, Problem};
use crate::query::Segments;
use crate::queues::operated;
use crate::state::Admin;
use crate::wording::Wording;

/// What a session was before it was ended.
#[derive(Serialize, ToSchema)]
pub(crate) struct Ended {
    /// What it was.
    was: Was,
}

/// What a session was.
#[derive(Serialize, ToSchema, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Was {
    /// It waited.
    Waiting,
    /// It was let in.
    Admitted,
    /// It was not there; should it be away, its ticket is void now.
    Absent,
}

impl Was {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Admitted => "admitted",
            Self::Absent => "absent",
        }
    }
}

/// Ends a session
///
/// Its place is free at once, and its ticket can't return. Asks for a confirmation.
#[utoipa::path(post, path = "/queues/{queue}/sessions/{session}/end", tag = "sessions",
    params(("queue" = String, Path, description = "Id of the queue"),
        ("session" = String, Path, description = "Id or support code of the session"),
        ("X-Vestibule-Confirm" = Option<String>, Header, description = "The token that the first answer carried")),
    responses(
        (status = 200, description = "What it was before", body = Ended),
        (status = 428, description = "Is to be confirmed", body = ErrorBody),
    ))]
pub(crate) async fn end_session(
    State(admin): State<Admin>,
    caller: Caller,
    headers: HeaderMap,
    Segments((queue, text)): Segments<(String, String)>,
) -> Result<Json<Ended>, Problem> {
    let settings = operated(&admin, &caller, &queue).await?;
    let session = session(&text)?;
    let effect = || Wording::WillEndSession.with("session", session.to_string());
    confirmed(&admin, &caller, &headers, &format!("session.end {} {session}", settings.id), effect).await?;
    let deed = Deed::of(&caller, "session.end").queue(&settings).subject(&session);
    let was = match admin.store.end(&settings.id, session).await {
        Ok(Removed::Waiting) => Was::Waiting,
        Ok(Removed::Active) => Was::Admitted,
        Ok(Removed::Absent) => Was::Absent,
        Err(error) => return Err(deed.failed(&admin, Problem::of_write(error)).await),
    };
    deed.with("was", was.as_str()).log(&admin).await;
    Ok(Json(Ended { was }))
}
