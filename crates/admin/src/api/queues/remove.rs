use axum::extract::State;
use http::{HeaderMap, StatusCode};

use crate::access::Principal;
use crate::audit::AuditEventBuilder;
use crate::codes::Code;
use crate::confirmation::confirmed;
use crate::problem::Problem;
use crate::query::Segments;
use crate::queues::find_editable;
use crate::state::Admin;

/// Remove a queue
///
/// Removes the queue with all its sessions. Needs a confirmation.
#[utoipa::path(delete, path = "/queues/{queue}", tag = "queues",
    params(("queue" = String, Path, description = "ID of the queue"),
        ("X-Vestibule-Confirm" = Option<String>, Header, description = "The confirmation token of the first response")),
    responses(
        (status = 204, description = "Removed"),
        (status = 428, description = "Confirmation required"),
    ))]
pub(crate) async fn remove_queue(
    State(admin): State<Admin>,
    principal: Principal,
    headers: HeaderMap,
    Segments(id): Segments<String>,
) -> Result<StatusCode, Problem> {
    let settings = find_editable(&admin, &principal, &id).await?;
    let stats = admin.store.stats(&settings.id).await?;
    let effect = || {
        let queue = Code::WillRemoveQueue.with("queue", settings.id.as_str());
        queue.with("waiting", stats.waiting).with("active", stats.active)
    };
    let subject = format!("queue.remove {} {}", settings.id, settings.line.revision);
    confirmed(&admin, &principal, &headers, &subject, effect).await?;
    let event = AuditEventBuilder::of(&principal, "queue.remove").queue(&settings);
    let event = event.with("waiting", stats.waiting).with("active", stats.active);
    event.written(&admin, admin.store.remove_queue(&settings.id).await).await?;
    admin.refreshed().await;
    Ok(StatusCode::NO_CONTENT)
}
