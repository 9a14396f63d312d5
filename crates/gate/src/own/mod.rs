//! The own endpoints, one file each.

pub(crate) mod away;
pub(crate) mod check;
pub(crate) mod health;
pub(crate) mod jwks;
pub(crate) mod keepalive;
pub(crate) mod leave;
pub(crate) mod scripts;
pub(crate) mod status;
pub(crate) mod theme;

use std::sync::Arc;

use axum::extract::{FromRequestParts, Query};
use axum::response::Response;
use http::request::Parts;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use vestibule_core::{QueueId, SessionId, Ticket};
use vestibule_http::{ApiError, Queue};

use crate::cors::{self, Asker, allow_preflight};
use crate::request::Seen;
use crate::state::Gate;
use crate::visit::Served;

/// The query of a request. One that can't be read is answered as every other mistake is.
pub(crate) struct Asks<T>(pub(crate) T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Asks<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let Query(asked) = Query::try_from_uri(&parts.uri).map_err(|_| ApiError::BadQuery)?;
        Ok(Self(asked))
    }
}

/// What the own endpoints are asked with.
#[derive(Debug, Deserialize)]
pub(crate) struct Asked {
    /// The queue; may be left out where the host has only one.
    queue: Option<String>,
    /// The session that the asking page was drawn for.
    session: Option<String>,
}

/// A request to an own endpoint: which queue of this host it is about, and who asks.
pub(crate) struct Call {
    pub(crate) seen: Seen,
    pub(crate) queue: Arc<Queue>,
    pub(crate) asker: Asker,
    /// The session that the asking page was drawn for: such a page has had its cookie set, so it does not join again.
    pub(crate) of_page: Option<SessionId>,
}

impl FromRequestParts<Gate> for Call {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, gate: &Gate) -> Result<Self, ApiError> {
        let Asks(query) = Asks::<Asked>::from_request_parts(parts, gate).await?;
        let Ok(seen) = Seen::from_request_parts(parts, gate).await;
        let host = seen.host.clone().ok_or(ApiError::NoHost)?;
        let queues = gate.directory.of_host(&host).await;
        if queues.is_empty() && !gate.directory.is_read() {
            return Err(ApiError::NotReady);
        }
        let queue = match &query.queue {
            Some(id) => {
                let id: QueueId = id.parse().map_err(|_| ApiError::UnknownQueue)?;
                queues.into_iter().find(|queue| queue.settings.id == id)
            }
            None => Some(queues).filter(|queues| queues.len() == 1).and_then(|mut queues| queues.pop()),
        };
        let queue = queue.ok_or(ApiError::UnknownQueue)?;
        let asker = cors::asker(&seen, &queue.settings)?;
        let of_page = query.session.as_ref().and_then(|session| session.parse().ok());
        Ok(Self { seen, queue, asker, of_page })
    }
}

impl Call {
    /// The ticket of this queue that came along.
    pub(crate) fn ticket(&self, gate: &Gate) -> Option<Ticket> {
        Served::ticket_of(gate, &self.seen, &self.queue)
    }

    /// Where who is let in goes from here: the site, by way of the gate.
    pub(crate) fn enter_url(&self) -> String {
        format!("{}://{}/", self.seen.scheme(), self.seen.authority)
    }
}

/// Answers a preflight of an own endpoint.
pub(crate) async fn preflight(call: Call) -> Response {
    allow_preflight(call.asker)
}

/// Whatever else lies under `/_vestibule/`.
pub(crate) async fn not_found() -> ApiError {
    ApiError::NotFound
}
