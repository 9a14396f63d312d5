use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::ETAG;
use serde_json::Value;

use crate::access::Principal;
use crate::api::queues::Validated;
use crate::audit::AuditEventBuilder;
use crate::body::JsonBody;
use crate::merge_patch::differences;
use crate::problem::Problem;
use crate::query::{Query, flag};
use crate::queues::{create, draft, etag};
use crate::schema::{QueueDraft, QueueSettings};
use crate::state::Admin;

/// Create a queue
///
/// Active from the next request to its hosts. With `validate=true` nothing is written.
#[utoipa::path(post, path = "/queues", tag = "queues", request_body = QueueDraft,
    params(("validate" = Option<bool>, Query, description = "Validate only; nothing is written")),
    responses(
        (status = 200, description = "What would be written", body = Validated),
        (status = 201, description = "Created", body = QueueSettings, headers(("ETag" = String))),
        (status = 409, description = "The ID is in use, or another queue conflicts"),
    ))]
pub(crate) async fn create_queue(
    State(admin): State<Admin>,
    principal: Principal,
    query: Query,
    JsonBody(body): JsonBody,
) -> Result<Response, Problem> {
    let only_validate = query.read(|fields| flag(fields, "validate"))?;
    let settings = draft(&admin, &principal, body, None).await?;
    if only_validate {
        let settings = settings.to_value();
        let changes = differences(&Value::Null, &settings);
        return Ok(Json(Validated { settings, changes }).into_response());
    }
    let settings = create(&admin, AuditEventBuilder::of(&principal, "queue.create"), settings).await?;
    Ok((StatusCode::CREATED, [(ETAG, etag(settings.line.revision))], Json(settings.to_value())).into_response())
}
