//! `GET /_vestibule/operator?queue=`: sends operators to the overlay of the queue in the dashboard (rule 25).

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use vestibule_runtime::Outcome;

use super::{EndpointParams, QueryParams, find_queue};
use crate::error::GateError;
use crate::request::RequestInfo;
use crate::state::Gate;
use crate::visit_result::decision;

pub(crate) async fn operator(
    State(gate): State<Gate>,
    QueryParams(params): QueryParams<EndpointParams>,
    info: RequestInfo,
) -> Result<Response, GateError> {
    let admin_url = gate.admin_url.as_ref().ok_or(GateError::NoAdminUrl)?;
    let queue = find_queue(&gate, &info, params.queue.as_deref()).await?;
    let headers =
        [(header::LOCATION, admin_url.overlay(&queue.settings.id)), (header::CACHE_CONTROL, "no-store".into())];
    let mut response = (StatusCode::FOUND, headers).into_response();
    response.extensions_mut().insert(decision(Outcome::Endpoint, &queue, None, None));
    Ok(response)
}
