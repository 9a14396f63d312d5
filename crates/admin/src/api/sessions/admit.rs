use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::Principal;
use crate::api::sessions::session;
use crate::audit::AuditEventBuilder;
use crate::codes::Code;
use crate::problem::Problem;
use crate::query::Segments;
use crate::queues::find_editable;
use crate::state::Admin;

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
