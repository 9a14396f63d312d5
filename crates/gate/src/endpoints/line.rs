//! `GET /_vestibule/line?queue=`: the line document, which is true for everyone (rule 17). It reads no ticket, sets no
//! cookie and joins nobody, so shared caches may keep it.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use vestibule_core::StoreError;
use vestibule_core::content_type::JSON;
use vestibule_core::line::LineView;
use vestibule_runtime::{Decision, Outcome, Queue};

use super::theme::has_it;
use super::{EndpointParams, QueryParams, find_queue};
use crate::compression::{Compression, accepts_gzip, gzip};
use crate::cors::preflight_response;
use crate::error::GateError;
use crate::line_document::LineDocument;
use crate::request::RequestInfo;
use crate::respond::finish;
use crate::state::Gate;
use crate::store_visit::StoreDeadline;
use crate::visit_result::decision;

/// Caches serve it for two seconds, and longer while they fetch another one or the gate fails.
const CACHE_CONTROL: &str = "public, max-age=1, s-maxage=2, stale-while-revalidate=8, stale-if-error=60";

pub(crate) async fn line(
    State(gate): State<Gate>,
    QueryParams(params): QueryParams<EndpointParams>,
    info: RequestInfo,
) -> Result<Response, GateError> {
    let queue = find_queue(&gate, &info, params.queue.as_deref()).await?;
    let id = &queue.settings.id;
    let read = async {
        let failed = |error: StoreError| gate.warn_store_failure(id, &error, "the line document could not be read");
        Box::pin(read_line(&gate, &queue)).await.map_err(failed).ok()
    };
    let document = gate
        .line_documents
        .get(id, info.host.as_deref().unwrap_or_default(), &gate.sale_keys, read)
        .await
        .ok_or(GateError::StoreUnavailable)?;
    let mut response = answer(&document, &info.headers);
    response.extensions_mut().insert(decision(Outcome::Endpoint, &queue, None, None));
    Ok(response)
}

/// Reads the line with the settings that it follows. A document with others could say what is not true, and publish the secret
/// of a draw that was postponed.
async fn read_line(gate: &Gate, queue: &Arc<Queue>) -> Result<(Arc<Queue>, LineView), StoreError> {
    let (id, deadline) = (&queue.settings.id, StoreDeadline::of(gate));
    let view = deadline.limit(gate.store.line(id)).await?;
    if view.stats.rules.revision == queue.settings.line.revision {
        return Ok((queue.clone(), view));
    }
    let current = deadline.limit(gate.directory.reload(id)).await?;
    let current = current.filter(|current| current.settings.line.revision == view.stats.rules.revision);
    let changing = || StoreError::Unavailable("the settings are changing".to_owned());
    current.map(|current| (current, view)).ok_or_else(changing)
}

fn answer(document: &LineDocument, headers: &HeaderMap) -> Response {
    let mut response = if has_it(headers, &document.etag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        body(document, headers)
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(CACHE_CONTROL));
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Ok(etag) = HeaderValue::try_from(&document.etag) {
        headers.insert(header::ETAG, etag);
    }
    response
}

fn body(document: &LineDocument, headers: &HeaderMap) -> Response {
    let compressed = accepts_gzip(headers).then(|| gzip(&document.body, Compression::fast())).flatten();
    let mut response = match compressed {
        Some(bytes) => {
            let mut response = Body::from(bytes).into_response();
            response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            response
        }
        None => Body::from(document.body.clone()).into_response(),
    };
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
    response
}

/// Answers a preflight: every page may read the document, and compare it with the copy it has.
pub(crate) async fn preflight() -> Response {
    let (methods, names) = (HeaderValue::from_static("GET, HEAD"), HeaderValue::from_static("if-none-match"));
    let mut response = preflight_response(methods, names);
    response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    finish(response, None, Decision::without_queue(Outcome::Endpoint))
}
