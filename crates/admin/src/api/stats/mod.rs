//! How it goes, and how it went.

mod history;
mod list;
mod read;
mod stream;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::Admin;

pub(crate) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new()
        .routes(routes!(list::list_queue_stats))
        .routes(routes!(read::get_queue_stats))
        .routes(routes!(history::get_queue_history))
        .routes(routes!(stream::stream_stats))
}
