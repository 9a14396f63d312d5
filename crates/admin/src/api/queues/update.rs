use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::HeaderMap;
use http::header::ETAG;
use serde_json::Value;

use crate::access::Caller;
use crate::api::queues::Validated;
use crate::body::JsonBody;
use crate::problem::Problem;
use crate::query::{Query, Segments, flag};
use crate::queues::{Meant, Patched, RevisionConflict, change, etag, operated, patched};
use crate::schema::{QueuePatch, QueueSettings};
use crate::state::Admin;

/// Update a queue
///
/// By a JSON merge patch over the revision that `If-Match` names; in force on the next request. If it was
/// changed meanwhile, nothing is written and the answer has the settings as they are now, to be compared. With `validate=true` nothing is written.
#[utoipa::path(patch, path = "/queues/{queue}", tag = "queues",
    request_body(content = QueuePatch, content_type = "application/merge-patch+json"),
    params(("queue" = String, Path, description = "ID of the queue"),
        ("If-Match" = String, Header, description = "The `ETag` that the change is meant for, or `*`"),
        ("validate" = Option<bool>, Query, description = "Validate only; nothing is written")),
    responses(
        (status = 200, description = "Its settings as they are now, or would be", body = Changed, headers(("ETag" = String))),
        (status = 409, description = "Another queue is in the way"),
        (status = 412, description = "Somebody else changed it meanwhile"),
        (status = 428, description = "`If-Match` is missing"),
    ))]
pub(crate) async fn update_queue(
    State(admin): State<Admin>,
    caller: Caller,
    headers: HeaderMap,
    query: Query,
    Segments(id): Segments<String>,
    JsonBody(patch): JsonBody,
) -> Result<Response, Problem> {
    let only_validate = query.read(|fields| flag(fields, "validate"))?;
    let current = operated(&admin, &caller, &id).await?;
    let (meant, patch) = (Meant::of(&headers)?, Value::Object(patch));
    if !only_validate {
        let settings = change(&admin, &caller, current, meant, &patch, "queue.update").await?;
        return Ok(([(ETAG, etag(settings.line.revision))], Json(settings.to_value())).into_response());
    }
    let revision = current.line.revision;
    if let Meant::Revision(known) = meant
        && known != revision
    {
        return Err(Problem::RevisionConflict(Box::new(RevisionConflict::with(&current))));
    }
    let Patched { settings, changes } = patched(&admin, &caller, &current, &patch).await?;
    let validated = Validated { settings: settings.to_value(), changes };
    Ok(([(ETAG, etag(revision))], Json(validated)).into_response())
}

/// The settings, or with `validate=true` what would be written.
#[derive(utoipa::ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes what is answered")]
pub(crate) enum Changed {
    Settings(QueueSettings),
    Validated(Validated),
}
