//! `POST /_vestibule/away?queue=`: the queue page was closed. The ticket keeps the position. A session that others have, too, stays present: their
//! pages may be open.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use vestibule_runtime::Outcome;

use super::EndpointRequest;
use crate::respond::finish;
use crate::state::Gate;
use crate::store_visit::StoreDeadline;
use crate::visit_result::decision;

pub(crate) async fn away(State(gate): State<Gate>, request: EndpointRequest) -> Response {
    let mut decision = decision(Outcome::Endpoint, &request.queue, None, None);
    if let Some(ticket) = request.ticket(&gate).filter(|ticket| !ticket.is_shared()) {
        decision.session = Some(ticket.session());
        let deadline = StoreDeadline::of(&gate);
        let stored = deadline.limit(gate.store.away(&request.queue.settings.id, ticket)).await;
        decision.store_time = Some(deadline.elapsed());
        // The browser ignores the response to a beacon, and the session expires anyway.
        if let Err(error) = stored {
            gate.warn_store_failure(&request.queue.settings.id, &error, "an away beacon did not reach the store");
        }
    }
    finish(StatusCode::NO_CONTENT.into_response(), Some(request.cors_origin), decision)
}
