use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::openapi::PREFIX;
use crate::state::Admin;

/// The ways to sign in that there are.
#[derive(Serialize, ToSchema)]
pub(crate) struct SignInWays {
    /// By name and password: `POST /sign-in`.
    password: bool,
    /// Through an identity provider; `null` if there is none.
    provider: Option<ProviderWay>,
}

/// Signing in through an identity provider.
#[derive(Serialize, ToSchema)]
pub(crate) struct ProviderWay {
    /// What a button says.
    name: String,
    /// Where a browser is to go.
    start: String,
}

/// Ways to sign in
///
/// What a sign-in page is to offer.
#[utoipa::path(get, path = "/sign-in/ways", tag = "account", security(()),
    responses((status = 200, description = "The ways", body = SignInWays)))]
pub(crate) async fn list_sign_in_ways(State(admin): State<Admin>) -> Json<SignInWays> {
    let provider = admin.provider.as_ref().map(|provider| ProviderWay {
        name: provider.config.name.clone(),
        start: format!("{PREFIX}/sign-in/provider"),
    });
    Json(SignInWays { password: true, provider })
}
