//! Queues.

mod clone;
mod create;
mod list;
mod read;
mod remove;
mod update;
mod url_test;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::merge_patch::FieldChange;
use crate::schema::QueueSettings;
use crate::state::Admin;

pub(crate) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new()
        .routes(routes!(list::list_queues, create::create_queue))
        .routes(routes!(read::get_queue, update::update_queue, remove::remove_queue))
        .routes(routes!(clone::clone_queue))
        .routes(routes!(url_test::test_url))
}

/// The result of a validation.
#[derive(Serialize, ToSchema)]
pub(crate) struct Validated {
    /// The resulting settings.
    #[schema(value_type = QueueSettings)]
    settings: Value,
    /// The changed fields.
    changes: Vec<FieldChange>,
}
