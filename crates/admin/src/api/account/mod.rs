//! Signing in and out.

mod change_password;
mod sign_in;
mod sign_out;
mod who;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::Admin;

pub(crate) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new()
        .routes(routes!(sign_in::sign_in, who::who_am_i, sign_out::sign_out))
        .routes(routes!(change_password::change_password))
}
