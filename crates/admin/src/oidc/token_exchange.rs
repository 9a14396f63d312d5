//! Sends browsers to the provider, and verifies what they return with.

use std::error::Error;

use chrono::DateTime;
use openidconnect::core::{
    CoreAuthenticationFlow, CoreClient, CoreClientAuthMethod, CoreIdTokenClaims, CoreProviderMetadata,
    CoreTokenResponse, CoreUserInfoClaims,
};
use openidconnect::{
    AccessTokenHash, AuthType, AuthorizationCode, CsrfToken, EndpointMaybeSet, EndpointNotSet, EndpointSet, Nonce,
    OAuth2TokenResponse as _, PkceCodeChallenge, PkceCodeVerifier, RequestTokenError, Scope, TokenResponse as _,
};
use vestibule_core::Micros;
use vestibule_http_client::with_causes;

use crate::oidc::auth_request::AuthRequest;
use crate::oidc::config::{Claim, ProviderConfig};
use crate::oidc::error::{Identity, OidcError};
use crate::oidc::http_client::ProviderClient;

type Client =
    CoreClient<EndpointSet, EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointMaybeSet, EndpointMaybeSet>;

/// The identity provider.
pub(crate) struct Provider {
    config: ProviderConfig,
    http: ProviderClient,
}

impl Provider {
    pub(crate) fn new(config: ProviderConfig) -> Self {
        let http = ProviderClient(config.client.clone());
        Self { config, http }
    }

    /// Label of the sign-in button.
    pub(crate) fn name(&self) -> &str {
        &self.config.name
    }

    /// Where to send the browser for this attempt.
    pub(crate) async fn address(&self, attempt: &AuthRequest) -> Result<String, OidcError> {
        let client = self.discover().await?;
        let (state, nonce) = (attempt.state().to_owned(), attempt.nonce.clone());
        let verifier = PkceCodeVerifier::new(attempt.verifier.clone());
        let request = client
            .authorize_url(
                CoreAuthenticationFlow::AuthorizationCode,
                move || CsrfToken::new(state),
                move || Nonce::new(nonce),
            )
            .add_scope(Scope::new("email".to_owned()))
            .add_scope(Scope::new("profile".to_owned()))
            .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier));
        let (address, _, _) = request.url();
        Ok(address.to_string())
    }

    /// Redeems the code that the browser brought, and checks what the provider proves with it at the time `now`.
    pub(crate) async fn exchange_code(
        &self,
        attempt: AuthRequest,
        code: String,
        now: Micros,
    ) -> Result<Identity, OidcError> {
        let client = self.discover().await?;
        let request = client.exchange_code(AuthorizationCode::new(code)).map_err(|error| unavailable(&error))?;
        let request = request.set_pkce_verifier(PkceCodeVerifier::new(attempt.verifier));
        let answer: CoreTokenResponse = request.request_async(&self.http).await.map_err(|error| match error {
            RequestTokenError::ServerResponse(answer) => OidcError::Refused(answer.error().to_string()),
            other => unavailable(&other),
        })?;
        let invalid_id_token = |error: &(dyn Error + 'static)| OidcError::NotProven(with_causes(error));
        let token = answer.id_token().ok_or_else(|| OidcError::NotProven("it sent no ID token".to_owned()))?;
        let time = DateTime::from_timestamp_micros(now.0.cast_signed()).unwrap_or_default();
        let verifier = client.id_token_verifier().set_time_fn(move || time);
        let claims = token.claims(&verifier, &Nonce::new(attempt.nonce)).map_err(|error| invalid_id_token(&error))?;
        if let Some(expected) = claims.access_token_hash() {
            let algorithm = token.signing_alg().map_err(|error| invalid_id_token(&error))?;
            let key = token.signing_key(&verifier).map_err(|error| invalid_id_token(&error))?;
            let actual = AccessTokenHash::from_token(answer.access_token(), algorithm, key);
            if actual.map_err(|error| invalid_id_token(&error))? != *expected {
                return Err(OidcError::NotProven("its access token is another's".to_owned()));
            }
        }
        match self.named_in(claims) {
            // Some providers put fewer claims into the ID token than into the user info.
            Err(OidcError::Nameless(_)) => self.asked_for(&client, &answer, claims).await,
            named => named,
        }
    }

    async fn discover(&self) -> Result<Client, OidcError> {
        let found = CoreProviderMetadata::discover_async(self.config.issuer.clone(), &self.http).await;
        let metadata = found.map_err(|error| unavailable(&error))?;
        let takes = |method| metadata.token_endpoint_auth_methods_supported().is_some_and(|all| all.contains(&method));
        let in_body = takes(CoreClientAuthMethod::ClientSecretPost) && !takes(CoreClientAuthMethod::ClientSecretBasic);
        let (id, secret) = (self.config.client_id.clone(), self.config.client_secret.clone());
        let client = CoreClient::from_provider_metadata(metadata, id, Some(secret));
        let client = client.set_auth_type(if in_body { AuthType::RequestBody } else { AuthType::BasicAuth });
        Ok(client.set_redirect_uri(self.config.redirect.clone()))
    }

    fn named_in(&self, claims: &CoreIdTokenClaims) -> Result<Identity, OidcError> {
        match self.config.claim {
            Claim::Subject => Ok(exactly(claims.subject())),
            Claim::PreferredUsername => claims.preferred_username().map(|name| exactly(name)).ok_or(NO_USERNAME),
            Claim::Email => email(claims.email().map(|email| email.as_str()), claims.email_verified()),
        }
    }

    async fn asked_for(
        &self,
        client: &Client,
        answer: &CoreTokenResponse,
        claims: &CoreIdTokenClaims,
    ) -> Result<Identity, OidcError> {
        let subject = Some(claims.subject().clone());
        let Ok(request) = client.user_info(answer.access_token().clone(), subject) else {
            return self.named_in(claims);
        };
        let claims: CoreUserInfoClaims =
            request.request_async(&self.http).await.map_err(|error| unavailable(&error))?;
        match self.config.claim {
            Claim::Subject => Ok(exactly(claims.subject())),
            Claim::PreferredUsername => claims.preferred_username().map(|name| exactly(name)).ok_or(NO_USERNAME),
            Claim::Email => email(claims.email().map(|email| email.as_str()), claims.email_verified()),
        }
    }
}

const NO_USERNAME: OidcError = OidcError::Nameless("it has no preferred_username");

/// A name that tells people apart by its capitals as well.
fn exactly(claim: &str) -> Identity {
    Identity { claim: claim.to_owned(), name: claim.parse().ok() }
}

/// An email address counts only if the provider has verified it, because users may enter any address. Addresses are
/// compared without case.
fn email(claim: Option<&str>, verified: Option<bool>) -> Result<Identity, OidcError> {
    let claim = claim.ok_or(OidcError::Nameless("it has no email"))?;
    if verified != Some(true) {
        return Err(OidcError::Nameless("its email is not verified"));
    }
    Ok(Identity { claim: claim.to_owned(), name: claim.to_ascii_lowercase().parse().ok() })
}

fn unavailable(error: &(dyn Error + 'static)) -> OidcError {
    OidcError::Unavailable(with_causes(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unverified_email_matches_no_operator() {
        let named = |claim, verified| email(claim, verified).map(|found| found.name.map(|name| name.to_string()));
        assert_eq!(named(Some("Zoe@Example.com"), Some(true)).unwrap().as_deref(), Some("zoe@example.com"));
        for (claim, verified) in
            [(Some("zoe@example.com"), Some(false)), (Some("zoe@example.com"), None), (None, Some(true))]
        {
            assert!(matches!(named(claim, verified), Err(OidcError::Nameless(_))), "{claim:?} {verified:?}");
        }
        assert_eq!(exactly("Zoe").name, None, "capitals of a username may tell two people apart");
    }
}
