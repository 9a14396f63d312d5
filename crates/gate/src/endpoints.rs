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

use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequestParts, Query};
use axum::response::{IntoResponse, Response};
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
        let invalid = |rejection| GateError::InvalidQuery(invalid_parameter(&rejection));
        let Query(params) = Query::try_from_uri(&parts.uri).map_err(invalid)?;
        Ok(Self(params))
    }
}

/// The parameter that is missing, is given twice or has an invalid value. The rejection names it only in its text.
fn invalid_parameter(rejection: &QueryRejection) -> String {
    let text = rejection.body_text();
    let reason = text.split_once(": ").map_or("", |(_, reason)| reason);
    let name = match reason.split_once("field `") {
        Some((_, field)) => field.split('`').next(),
        None => reason.split_once(": ").map(|(path, _)| path),
    };
    name.unwrap_or("query").to_owned()
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
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, gate: &Gate) -> Result<Self, Response> {
        let query = QueryParams::<EndpointParams>::from_request_parts(parts, gate).await;
        let QueryParams(query) = query.map_err(IntoResponse::into_response)?;
        let Ok(info) = RequestInfo::from_request_parts(parts, gate).await;
        let queue = find_queue(gate, &info, query.queue.as_deref()).await;
        let queue = queue.map_err(|error| cors::readable_by_all(&info, error.into_response()))?;
        let cors_origin = cors::cors_origin(&gate.directory, &info, &queue.settings);
        let cors_origin = cors_origin.map_err(IntoResponse::into_response)?;
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

#[cfg(test)]
mod tests {
    use http::Uri;

    use super::check::CheckParams;
    use super::language::LanguageParams;
    use super::*;

    fn rejected<T: DeserializeOwned>(uri: &'static str) -> String {
        let rejection = Query::<T>::try_from_uri(&Uri::from_static(uri)).err();
        invalid_parameter(&rejection.unwrap_or_else(|| panic!("{uri} is valid")))
    }

    #[test]
    fn invalid_query_names_its_parameter() {
        assert_eq!(rejected::<EndpointParams>("/?queue=a&queue=b"), "queue");
        assert_eq!(rejected::<CheckParams>("/?page=maybe:%20no"), "page");
        assert_eq!(rejected::<LanguageParams>("/?return=%2F"), "language");
    }
}
