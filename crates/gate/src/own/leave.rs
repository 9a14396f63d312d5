//! `POST /_vestibule/leave?queue=`: the visitor gives the place up for good.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use tracing::warn;
use vestibule_core::StoreError;
use vestibule_http::ApiError;

use super::Call;
use crate::answer::set_cookie;
use crate::cors::allow;
use crate::state::Gate;

pub(crate) async fn leave(State(gate): State<Gate>, call: Call) -> Response {
    let queue = &call.queue;
    if let Some(ticket) = call.ticket(&gate) {
        match gate.store.leave(&queue.settings.id, ticket).await {
            Ok(_) | Err(StoreError::UnknownQueue(_)) => {}
            Err(error) => {
                warn!(queue = %queue.settings.id, %error, "a leave did not reach the store");
                return allow(ApiError::StoreUnavailable.into_response(), call.asker);
            }
        }
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    let gone = set_cookie(queue, &queue.cookie_name, "", 0, call.seen.origin.https);
    if let Ok(value) = HeaderValue::try_from(gone) {
        response.headers_mut().append(header::SET_COOKIE, value);
    }
    allow(response, call.asker)
}
