//! All settings as one document.

mod export;
mod import;
mod plan;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::Admin;

pub(crate) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new().routes(routes!(export::export_settings, import::import_settings))
}
