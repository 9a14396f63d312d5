use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::HeaderMap;
use http::header::ETAG;
use serde_json::Value;

use crate::access::Principal;
use crate::api::queues::Validated;
use crate::body::JsonBody;
use crate::problem::Problem;
use crate::query::{Query, Segments, flag};
use crate::queues::{IfMatch, Patched, RevisionConflict, change, etag, find_editable, patched};
use crate::schema::{QueuePatch, QueueSettings};
use crate::state::Admin;

/// Update a queue
///
/// Applies a JSON merge patch to the revision in `If-Match`, effective from the next request. If the queue has changed
/// since that revision, nothing is written and the response contains the current settings. With `validate=true` nothing
/// is written.
#[utoipa::path(patch, path = "/queues/{queue}", tag = "queues",
    request_body(content = QueuePatch, content_type = "application/merge-patch+json"),
    params(("queue" = String, Path, description = "ID of the queue"),
        ("If-Match" = String, Header, description = "The `ETag` of the revision to update, or `*` for any"),
        ("validate" = Option<bool>, Query, description = "Validate only; nothing is written")),
    responses(
        (status = 200, description = "The settings after the update, or with `validate` the changes", body = Changed, headers(("ETag" = String))),
        (status = 409, description = "Another queue conflicts"),
        (status = 412, description = "Changed by someone else"),
        (status = 428, description = "`If-Match` is missing"),
    ))]
pub(crate) async fn update_queue(
    State(admin): State<Admin>,
    principal: Principal,
    headers: HeaderMap,
    query: Query,
    Segments(id): Segments<String>,
    JsonBody(patch): JsonBody,
) -> Result<Response, Problem> {
    let only_validate = query.read(|fields| flag(fields, "validate"))?;
    let current = find_editable(&admin, &principal, &id).await?;
    let (if_match, patch) = (IfMatch::of(&headers)?, Value::Object(patch));
    if !only_validate {
        let settings = change(&admin, &principal, current, if_match, &patch, "queue.update").await?;
        return Ok(([(ETAG, etag(settings.line.revision))], Json(settings.to_value())).into_response());
    }
    let revision = current.line.revision;
    if let IfMatch::Revision(known) = if_match
        && known != revision
    {
        return Err(Problem::RevisionConflict(Box::new(RevisionConflict::with(&current))));
    }
    let Patched { settings, changes } = patched(&admin, &principal, &current, &patch).await?;
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
