//! How it goes, and how it went.

mod events;
mod history;
mod overview;
mod stats;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::Admin;

pub(crate) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new()
        .routes(routes!(overview::read_overview))
        .routes(routes!(stats::read_stats))
        .routes(routes!(history::read_history))
        .routes(routes!(events::follow))
}
