//! Sessions: who stands where.

mod admit;
mod end;
mod find;
mod list;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vestibule_core::SessionId;

use crate::codes::Code;
use crate::problem::Problem;
use crate::state::Admin;

pub(crate) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new()
        .routes(routes!(list::list_sessions))
        .routes(routes!(find::find_session))
        .routes(routes!(end::end_session))
        .routes(routes!(admit::admit_session))
}

/// A session by its id, or by the support code that its visitor reads out.
fn session(text: &str) -> Result<SessionId, Problem> {
    let found = text.trim().parse().ok().or_else(|| SessionId::from_support_code(text));
    found.ok_or(Problem::NotFound(Code::ASession))
}
