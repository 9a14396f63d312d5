use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::Caller;
use crate::api::sessions::session;
use crate::audit::AuditEventBuilder;
use crate::codes::Code;
use crate::problem::Problem;
use crate::query::Segments;
use crate::queues::operated;
use crate::state::Admin;

/// Whether a session was let in.
#[derive(Serialize, ToSchema)]
pub(crate) struct AdmitResult {
    /// Whether it waited and is in now; `false` if it was in already, or ended.
    admitted: bool,
}

/// Admit a session
///
/// Lets one session in now, before its turn, whatever quota, rate or pause say. Those who wait stand as before.
#[utoipa::path(post, path = "/queues/{queue}/sessions/{session}/admit", tag = "sessions",
    params(("queue" = String, Path, description = "ID of the queue"),
        ("session" = String, Path, description = "Id or support code of the session")),
    responses((status = 200, description = "Whether it was let in", body = AdmitResult)))]
pub(crate) async fn admit_session(
    State(admin): State<Admin>,
    caller: Caller,
    Segments((queue, text)): Segments<(String, String)>,
) -> Result<Json<AdmitResult>, Problem> {
    let settings = operated(&admin, &caller, &queue).await?;
    let session = session(&text)?;
    let event = AuditEventBuilder::of(&caller, "session.admit").queue(&settings).subject(&session);
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
