//! What operators do in the heat of a sale: in force on the next request.

mod drain;
mod levers;
mod release;
mod reset;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::Admin;

pub(crate) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new()
        .routes(routes!(levers::set_levers))
        .routes(routes!(release::release))
        .routes(routes!(reset::reset_queue))
        .routes(routes!(drain::drain_queue))
}
