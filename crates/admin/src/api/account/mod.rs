//! Signing in and out.

mod change_password;
mod prove;
mod provider;
mod sign_in;
mod sign_out;
mod totp;
mod ways;
mod who;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::Admin;

pub(crate) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new()
        .routes(routes!(sign_in::sign_in, who::who_am_i, sign_out::sign_out))
        .routes(routes!(change_password::change_password))
        .routes(routes!(prove::prove_password))
        .routes(routes!(totp::begin_totp_setup, totp::confirm_totp_setup, totp::remove_own_totp))
        .routes(routes!(ways::list_sign_in_ways))
        .routes(routes!(provider::begin_at_provider))
        .routes(routes!(provider::end_at_provider))
}
