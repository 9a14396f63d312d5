use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::ETAG;
use serde_json::Value;

use crate::access::Principal;
use crate::api::queues::Validated;
use crate::audit::AuditEventBuilder;
use crate::body::{JsonBody, wrong};
use crate::codes::Code;
use crate::merge_patch::{differences, merge};
use crate::problem::Problem;
use crate::query::{Query, Segments, flag};
use crate::queues::{create, draft, etag, find_editable};
use crate::schema::{QueueClone, QueueSettings};
use crate::state::Admin;

/// Clone a queue
///
/// Applies the body to the settings of the queue. It needs at least an `id`, and hosts if both queues cannot have the
/// same. Sessions are not cloned. With `validate=true` nothing is written.
#[utoipa::path(post, path = "/queues/{queue}/clone", tag = "queues", request_body = QueueClone,
    params(("queue" = String, Path, description = "ID of the queue"),
        ("validate" = Option<bool>, Query, description = "Validate only; nothing is written")),
    responses(
        (status = 200, description = "What would be written", body = Validated),
        (status = 201, description = "Created", body = QueueSettings, headers(("ETag" = String))),
        (status = 409, description = "The ID is in use, or another queue conflicts"),
    ))]
pub(crate) async fn clone_queue(
    State(admin): State<Admin>,
    principal: Principal,
    query: Query,
    Segments(id): Segments<String>,
    JsonBody(patch): JsonBody,
) -> Result<Response, Problem> {
    let only_validate = query.read(|fields| flag(fields, "validate"))?;
    let original = find_editable(&admin, &principal, &id).await?;
    if patch.get("id").is_none_or(Value::is_null) {
        return Err(wrong("id", Code::CloneNeedsId));
    }
    let mut document = original.to_value();
    if let Some(map) = document.as_object_mut() {
        map.remove("epoch");
    }
    merge(&mut document, &Value::Object(patch));
    let Value::Object(document) = document else { return Err(Problem::InvalidBody(Code::NotAnObject.into())) };
    let settings = draft(&admin, &principal, document, Some(&original)).await?;
    if only_validate {
        let settings = settings.to_value();
        let changes = differences(&original.to_value(), &settings);
        return Ok(Json(Validated { settings, changes }).into_response());
    }
    let event = AuditEventBuilder::of(&principal, "queue.clone").subject(&original.id);
    let settings = create(&admin, event, settings).await?;
    Ok((StatusCode::CREATED, [(ETAG, etag(settings.line.revision))], Json(settings.to_value())).into_response())
}
