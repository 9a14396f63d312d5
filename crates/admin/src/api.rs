//! The operations, one file or folder per resource.

pub(crate) mod account;
pub(crate) mod actions;
pub(crate) mod audit;
pub(crate) mod job_queues;
pub(crate) mod operators;
pub(crate) mod queues;
pub(crate) mod sessions;
pub(crate) mod settings;
pub(crate) mod stats;
pub(crate) mod tenants;
pub(crate) mod themes;
pub(crate) mod tokens;

use utoipa_axum::router::OpenApiRouter;

use crate::state::Admin;

/// All operations.
pub(crate) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new()
        .merge(account::routes())
        .merge(tenants::routes())
        .merge(queues::routes())
        .merge(actions::routes())
        .merge(sessions::routes())
        .merge(stats::routes())
        .merge(job_queues::routes())
        .merge(operators::routes())
        .merge(tokens::routes())
        .merge(audit::routes())
        .merge(settings::routes())
        .merge(themes::routes())
}
