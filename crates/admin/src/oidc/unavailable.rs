//! In a build without the feature `oidc`, there is no provider, and configuring one is an error.

use vestibule_core::Micros;
use vestibule_runtime::EnvError;

use crate::oidc::auth_request::AuthRequest;
use crate::oidc::error::{Identity, OidcError};
use crate::oidc::texts::{CA, CLAIM, CLIENT_ID, CLIENT_SECRET, ISSUER, NAME, ProviderTexts};

/// An identity provider; there is none.
#[derive(Clone)]
pub enum ProviderConfig {}

impl ProviderConfig {
    /// Always `None`.
    ///
    /// # Errors
    /// A text is set. The message names its variable.
    pub fn of(texts: &ProviderTexts) -> Result<Option<Self>, EnvError> {
        let ProviderTexts { issuer, client_id, client_secret, ca, name, claim, admin_url: _ } = texts;
        let all = [
            (ISSUER, issuer),
            (CLIENT_ID, client_id),
            (CLIENT_SECRET, client_secret),
            (CA, ca),
            (NAME, name),
            (CLAIM, claim),
        ];
        match all.into_iter().find(|(_, text)| !text.trim().is_empty()) {
            Some((variable, _)) => Err(EnvError::new(
                variable,
                "is set, but this program was built without single sign-on; build it with the cargo feature oidc",
            )),
            None => Ok(None),
        }
    }
}

/// The identity provider; there is none.
pub(crate) enum Provider {}

impl Provider {
    pub(crate) fn new(config: ProviderConfig) -> Self {
        match config {}
    }

    pub(crate) fn name(&self) -> &str {
        match *self {}
    }

    pub(crate) async fn address(&self, _: &AuthRequest) -> Result<String, OidcError> {
        match *self {}
    }

    pub(crate) async fn exchange_code(&self, _: AuthRequest, _: String, _: Micros) -> Result<Identity, OidcError> {
        match *self {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_of_a_build_without_oidc_is_rejected() {
        assert!(ProviderConfig::of(&ProviderTexts::default()).unwrap().is_none());
        let text = |text: &str| text.to_owned();
        for (texts, variable) in [
            (ProviderTexts { issuer: text("https://id.example.com"), ..ProviderTexts::default() }, ISSUER),
            (ProviderTexts { claim: text("sub"), ..ProviderTexts::default() }, CLAIM),
        ] {
            let error = ProviderConfig::of(&texts).err().unwrap().to_string();
            assert!(error.starts_with(variable) && error.contains("built without single sign-on"), "{error}");
        }
    }
}
