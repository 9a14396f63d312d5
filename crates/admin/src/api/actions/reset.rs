use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use http::HeaderMap;
use http::header::ETAG;

use crate::access::Principal;
use crate::audit::AuditEventBuilder;
use crate::codes::Code;
use crate::confirmation::confirmed;
use crate::merge_patch::differences;
use crate::problem::Problem;
use crate::query::Segments;
use crate::queues::{etag, find_editable, find_visible};
use crate::schema::QueueSettings;
use crate::state::Admin;

/// Reset a queue
///
/// Starts a new epoch: all waiting and active visitors lose their position and rejoin at the end, and all tickets
/// become invalid. Needs a confirmation.
#[utoipa::path(post, path = "/queues/{queue}/reset", tag = "actions",
    params(("queue" = String, Path, description = "ID of the queue"),
        ("X-Vestibule-Confirm" = Option<String>, Header, description = "The confirmation token of the first response")),
    responses(
        (status = 200, description = "The current settings", body = QueueSettings, headers(("ETag" = String))),
        (status = 428, description = "Confirmation required"),
    ))]
pub(crate) async fn reset_queue(
    State(admin): State<Admin>,
    principal: Principal,
    headers: HeaderMap,
    Segments(id): Segments<String>,
) -> Result<impl IntoResponse, Problem> {
    let before = find_editable(&admin, &principal, &id).await?;
    let stats = admin.store.stats(&before.id).await?;
    let effect = || Code::WillReset.with("waiting", stats.waiting).with("active", stats.active);
    let subject = format!("queue.reset {} {}", before.id, before.line.revision);
    confirmed(&admin, &principal, &headers, &subject, effect).await?;
    let event = AuditEventBuilder::of(&principal, "queue.reset");
    let numbers = |event: AuditEventBuilder| event.with("waiting", stats.waiting).with("active", stats.active);
    let mut after = before.clone();
    match admin.store.reset(&before.id).await {
        Ok(epoch) => (after.line.epoch, after.line.revision) = (epoch, before.line.revision + 1),
        Err(error) => return Err(numbers(event.queue(&before)).failed(&admin, Problem::of_write(error)).await),
    }
    let changes = differences(&before.to_value(), &after.to_value());
    numbers(event.queue(&after).changes(changes)).log(&admin).await;
    admin.changed(&before.id).await;
    // What others changed at the same moment is in the answer too, if the store still responds.
    let after = find_visible(&admin, &principal, before.id.as_str()).await.unwrap_or(after);
    Ok(([(ETAG, etag(after.line.revision))], Json(after.to_value())))
}
