//! Signing in through an identity provider: OpenID Connect, authorization code with PKCE.
//!
//! The provider proves the identity of a person; roles are assigned here. Only operators that were created here can sign in, by
//! the claim that names them. Roles do not follow groups of the provider: whoever manages groups there would assign roles here,
//! and a role that was taken away would last until the next sign-in.
//!
//! Nothing of the provider is cached between two sign-ins: its addresses and keys are requested each time, so that a changed key
//! applies at once.
//!
//! A build without the feature `oidc` has no provider, and none of the crates for one.

mod auth_request;
#[cfg(feature = "oidc")]
mod config;
mod error;
#[cfg(feature = "oidc")]
mod http_client;
mod texts;
#[cfg(feature = "oidc")]
mod token_exchange;
#[cfg(not(feature = "oidc"))]
mod unavailable;

pub(crate) use auth_request::{AuthRequest, cookie as auth_request_cookie};
#[cfg(feature = "oidc")]
pub use config::ProviderConfig;
pub(crate) use error::{Identity, OidcError};
pub use texts::ProviderTexts;
#[cfg(feature = "oidc")]
pub(crate) use token_exchange::Provider;
#[cfg(not(feature = "oidc"))]
pub(crate) use unavailable::Provider;
#[cfg(not(feature = "oidc"))]
pub use unavailable::ProviderConfig;

use vestibule_runtime::EnvError;

impl ProviderConfig {
    /// Reads the variables; `None` without `VESTIBULE_OIDC_ISSUER`.
    ///
    /// # Errors
    /// One of them is missing or invalid. The message names it.
    pub fn from_env() -> Result<Option<Self>, EnvError> {
        Self::of(&ProviderTexts::from_env())
    }
}
