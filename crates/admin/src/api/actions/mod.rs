//! What operators do in the heat of a sale: in force on the next request.

mod controls;
mod drain;
mod release;
mod reset;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::Admin;

pub(crate) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new()
        .routes(routes!(controls::update_controls))
        .routes(routes!(release::release))
        .routes(routes!(reset::reset_queue))
        .routes(routes!(drain::drain_queue))
}
