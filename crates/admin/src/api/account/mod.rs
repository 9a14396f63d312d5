//! Signing in and out.

mod change_password;
mod confirm_password;
mod methods;
mod oidc;
mod principal;
mod sign_in;
mod sign_out;
mod totp;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::Admin;

pub(crate) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new()
        .routes(routes!(sign_in::sign_in, principal::get_current_principal, sign_out::sign_out))
        .routes(routes!(change_password::change_password))
        .routes(routes!(confirm_password::confirm_password))
        .routes(routes!(totp::start_totp_setup, totp::confirm_totp_setup, totp::remove_own_totp))
        .routes(routes!(methods::list_sign_in_methods))
        .routes(routes!(oidc::start_oidc))
        .routes(routes!(oidc::complete_oidc))
}
