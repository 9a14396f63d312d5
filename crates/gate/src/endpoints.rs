//! The endpoints of the gate, one file each.

pub(crate) mod away;
pub(crate) mod challenge;
pub(crate) mod check;
pub(crate) mod health;
pub(crate) mod job_events;
pub(crate) mod job_progress;
pub(crate) mod job_status;
pub(crate) mod jobs;
pub(crate) mod join;
pub(crate) mod jwks;
pub(crate) mod keepalive;
pub(crate) mod language;
pub(crate) mod leave;
pub(crate) mod line;
pub(crate) mod operator;
pub(crate) mod scripts;
pub(crate) mod status;
pub(crate) mod stream;
pub(crate) mod theme;

use std::sync::Arc;

use axum::extract::{FromRequestParts, Query};
use axum::response::Response;
use http::request::Parts;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use vestibule_core::{QueueId, SessionId, Ticket};
use vestibule_runtime::{Decision, Outcome, Queue};

use crate::cors::{self, CorsOrigin, endpoint_preflight};
use crate::error::GateError;
use crate::request::{Credential, RequestInfo};
use crate::respond::finish;
use crate::state::Gate;

/// The query of a request, with problem details as its rejection.
pub(crate) struct QueryParams<T>(pub(crate) T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for QueryParams<T> {
    type Rejection = GateError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, GateError> {
        let Query(params) = Query::try_from_uri(&parts.uri).map_err(|_| GateError::InvalidQuery)?;
        Ok(Self(params))
    }
}

/// The query parameters of an endpoint.
#[derive(Debug, Deserialize)]
pub(crate) struct EndpointParams {
    /// The queue; optional if the host has only one.
    queue: Option<String>,
    /// The session of the page that sent the request.
    session: Option<String>,
}

/// A request to an endpoint, with its queue and the origin of the page that sent it.
pub(crate) struct EndpointRequest {
    pub(crate) info: RequestInfo,
    pub(crate) queue: Arc<Queue>,
    pub(crate) cors_origin: CorsOrigin,
    /// Whether the page that sent the request has a session. Such a page had its cookie set, so it does not join again.
    pub(crate) has_page_session: bool,
}

impl FromRequestParts<Gate> for EndpointRequest {
    type Rejection = GateError;

    async fn from_request_parts(parts: &mut Parts, gate: &Gate) -> Result<Self, GateError> {
        let QueryParams(query) = QueryParams::<EndpointParams>::from_request_parts(parts, gate).await?;
        let Ok(info) = RequestInfo::from_request_parts(parts, gate).await;
        let queue = find_queue(gate, &info, query.queue.as_deref()).await?;
        let cors_origin = cors::cors_origin(&gate.directory, &info, &queue.settings)?;
        let has_page_session = query.session.is_some_and(|session| session.parse::<SessionId>().is_ok());
        Ok(Self { info, queue, cors_origin, has_page_session })
    }
}

/// The queue with this ID on the host of the request; without an ID, the only one.
async fn find_queue(gate: &Gate, info: &RequestInfo, id: Option<&str>) -> Result<Arc<Queue>, GateError> {
    let host = info.host.as_deref().ok_or(GateError::InvalidHost)?;
    let queues = gate.directory.of_host(host).await;
    if queues.is_empty() && !gate.directory.index_loaded() {
        return Err(GateError::QueuesNotLoaded);
    }
    if queues.is_empty() && id.is_none() {
        return Err(GateError::UnknownHost);
    }
    let queue = match id {
        Some(id) => {
            let id: QueueId = id.parse().map_err(|_| GateError::UnknownQueue)?;
            queues.into_iter().find(|queue| queue.settings.id == id)
        }
        None => Some(queues).filter(|queues| queues.len() == 1).and_then(|mut queues| queues.pop()),
    };
    queue.ok_or(GateError::UnknownQueue)
}

impl EndpointRequest {
    /// The ticket of this queue in the request.
    pub(crate) fn ticket(&self, gate: &Gate) -> Option<Ticket> {
        self.info.ticket(&self.queue, &gate.tickets)
    }

    /// The credential of this queue in the request.
    pub(crate) fn credential(&self, gate: &Gate) -> Credential {
        self.info.credential(&self.queue, &gate.tickets, gate.clock.now())
    }
}

/// Answers a preflight to an endpoint.
pub(crate) async fn preflight(request: EndpointRequest) -> Response {
    let decision = Decision::without_queue(Outcome::Endpoint);
    finish(endpoint_preflight(), Some(request.cors_origin), decision)
}

/// Any other path under `/_vestibule/`.
pub(crate) async fn not_found() -> GateError {
    GateError::NotFound
}
