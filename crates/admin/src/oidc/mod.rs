//! Signing in through an identity provider: `OpenID` Connect, authorization code with PKCE.
//!
//! The provider proves who somebody is; what they may is said here. Only operators that were created here get in, by the
//! claim that names them: a mapping from the provider's groups to roles would hand the say on roles to whoever manages
//! groups there, and would go on after they were taken away until somebody signs in again.
//!
//! Nothing of the provider is kept between two sign-ins: its addresses and keys are asked for each time, so that a key
//! that was changed there holds at once.

mod auth_request;
mod config;
mod http_client;
mod token_exchange;

pub(crate) use auth_request::{AuthRequest, cookie as auth_request_cookie};
pub use config::{ProviderConfig, ProviderConfigError, ProviderTexts};
pub(crate) use token_exchange::{Identity, OidcError, Provider};
