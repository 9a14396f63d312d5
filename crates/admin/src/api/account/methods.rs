use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::openapi::PREFIX;
use crate::state::Admin;

/// The ways to sign in that there are.
#[derive(Serialize, ToSchema)]
pub(crate) struct SignInMethods {
    /// By name and password: `POST /sign-in`.
    password: bool,
    /// Through an identity provider; `null` if there is none.
    oidc: Option<OidcMethod>,
}

/// Signing in through an identity provider.
#[derive(Serialize, ToSchema)]
pub(crate) struct OidcMethod {
    /// What a button says.
    name: String,
    /// Where a browser is to go.
    start: String,
}

/// List sign-in methods
///
/// What a sign-in page is to offer.
#[utoipa::path(get, path = "/sign-in/methods", tag = "account", security(()),
    responses((status = 200, description = "The ways", body = SignInMethods)))]
pub(crate) async fn list_sign_in_methods(State(admin): State<Admin>) -> Json<SignInMethods> {
    let oidc = admin
        .provider
        .as_ref()
        .map(|provider| OidcMethod { name: provider.config.name.clone(), start: format!("{PREFIX}/sign-in/oidc") });
    Json(SignInMethods { password: true, oidc })
}
