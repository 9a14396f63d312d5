use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::openapi::PREFIX;
use crate::state::Admin;

/// The available sign-in methods.
#[derive(Serialize, ToSchema)]
pub(crate) struct SignInMethods {
    /// Name and password: `POST /sign-in`.
    password: bool,
    /// Single sign-on; `null` if not configured.
    oidc: Option<OidcMethod>,
}

/// Single sign-on.
#[derive(Serialize, ToSchema)]
pub(crate) struct OidcMethod {
    /// Label of the button.
    name: String,
    /// URL to open in the browser.
    start: String,
}

/// List sign-in methods
///
/// Returns what a sign-in page should offer.
#[utoipa::path(get, path = "/sign-in/methods", tag = "account", security(()),
    responses((status = 200, description = "The sign-in methods", body = SignInMethods)))]
pub(crate) async fn list_sign_in_methods(State(admin): State<Admin>) -> Json<SignInMethods> {
    let oidc = admin
        .provider
        .as_ref()
        .map(|provider| OidcMethod { name: provider.config.name.clone(), start: format!("{PREFIX}/sign-in/oidc") });
    Json(SignInMethods { password: true, oidc })
}
