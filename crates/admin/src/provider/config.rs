//! What there is to know about an identity provider before it is asked.

use openidconnect::{ClientId, ClientSecret, IssuerUrl, RedirectUrl};
use vestibule_http::{VariableError, required, variable};

use crate::openapi::PREFIX;

const ISSUER: &str = "VESTIBULE_OIDC_ISSUER";
const CLIENT_ID: &str = "VESTIBULE_OIDC_CLIENT_ID";
const CLIENT_SECRET: &str = "VESTIBULE_OIDC_CLIENT_SECRET";
const NAME: &str = "VESTIBULE_OIDC_NAME";
const CLAIM: &str = "VESTIBULE_OIDC_CLAIM";
const ADMIN_URL: &str = "VESTIBULE_ADMIN_URL";
/// Longest name that a button shows, in characters.
const NAME_MAX: usize = 60;

/// The claim that names an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// `email`, which the provider must have verified.
    Email,
    /// `preferred_username`: only where people can't choose it themselves.
    PreferredUsername,
    /// `sub`.
    Subject,
}

/// An identity provider, and how this backoffice is known to it.
#[derive(Clone)]
pub struct ProviderConfig {
    pub(crate) name: String,
    pub(crate) claim: Claim,
    pub(super) issuer: IssuerUrl,
    pub(super) client_id: ClientId,
    pub(super) client_secret: ClientSecret,
    pub(super) redirect: RedirectUrl,
}

/// What is wrong with a provider's configuration. Never repeats a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct ProviderConfigError(#[from] VariableError);

/// A provider's configuration as texts, each the value of the variable that is named.
#[derive(Default, Clone, Copy)]
struct Texts<'a> {
    issuer: &'a str,
    client_id: &'a str,
    client_secret: &'a str,
    name: &'a str,
    claim: &'a str,
    admin_url: &'a str,
}

impl ProviderConfig {
    /// Reads the variables; `None` without `VESTIBULE_OIDC_ISSUER`, the provider's address.
    ///
    /// `VESTIBULE_OIDC_CLIENT_ID` and `VESTIBULE_OIDC_CLIENT_SECRET` are what the provider knows this backoffice by;
    /// `VESTIBULE_OIDC_NAME` is what the button says ("Single sign-on" without it); `VESTIBULE_OIDC_CLAIM` names the
    /// operator: `email` (without it), `preferred_username` or `sub`. `VESTIBULE_ADMIN_URL` is where browsers reach the
    /// backoffice: the provider sends them to `<it>/api/v1/sign-in/provider/callback`, which is to be registered there.
    ///
    /// # Errors
    /// One of them is missing, or says what it doesn't take.
    pub fn from_env() -> Result<Option<Self>, ProviderConfigError> {
        let Some(issuer) = variable(ISSUER) else { return Ok(None) };
        let client_id = required(CLIENT_ID, "the id that the identity provider gave")?;
        let client_secret = required(CLIENT_SECRET, "the secret that the identity provider gave")?;
        let admin_url = required(ADMIN_URL, "where browsers reach the backoffice, such as https://admin.example.com")?;
        let (name, claim) = (variable(NAME).unwrap_or_default(), variable(CLAIM).unwrap_or_default());
        let (issuer, client_id, client_secret) = (issuer.trim(), client_id.trim(), client_secret.trim());
        let (name, claim, admin_url) = (name.trim(), claim.trim(), admin_url.trim());
        Ok(Some(Self::of(Texts { issuer, client_id, client_secret, name, claim, admin_url })?))
    }

    /// A provider for tests and programs that have no variables; `None` is what a variable that is not set means.
    ///
    /// # Errors
    /// As [`Self::from_env`].
    pub fn new(
        issuer: &str,
        (client_id, client_secret): (&str, &str),
        claim: Option<&str>,
        admin_url: &str,
    ) -> Result<Self, ProviderConfigError> {
        let claim = claim.unwrap_or_default();
        Self::of(Texts { issuer, client_id, client_secret, claim, admin_url, ..Texts::default() })
    }

    fn of(texts: Texts<'_>) -> Result<Self, ProviderConfigError> {
        let address = "an address that begins with https:// (http:// only on this machine), without a query";
        let refuse = |name, takes: &str| VariableError::new(name, format!("takes {takes}"));
        let (issuer, admin_url) = (texts.issuer, texts.admin_url.trim_end_matches('/'));
        let secure =
            |url: &openidconnect::url::Url| is_secure(url) && url.query().is_none() && url.fragment().is_none();
        let issuer = IssuerUrl::new(issuer.to_owned()).ok().filter(|issuer| secure(issuer.url()));
        let issuer = issuer.ok_or_else(|| refuse(ISSUER, address))?;
        let redirect = RedirectUrl::new(format!("{admin_url}{PREFIX}/sign-in/provider/callback")).ok();
        let redirect = redirect.filter(|redirect| secure(redirect.url()));
        let redirect = redirect.ok_or_else(|| refuse(ADMIN_URL, address))?;
        let name = if texts.name.is_empty() { "Single sign-on" } else { texts.name };
        if name.chars().count() > NAME_MAX || name.chars().any(char::is_control) {
            return Err(refuse(NAME, "1 to 60 characters").into());
        }
        let claim = match texts.claim {
            "" | "email" => Claim::Email,
            "preferred_username" => Claim::PreferredUsername,
            "sub" => Claim::Subject,
            _ => return Err(refuse(CLAIM, "email, preferred_username or sub").into()),
        };
        Ok(Self {
            name: name.to_owned(),
            claim,
            issuer,
            client_id: ClientId::new(texts.client_id.to_owned()),
            client_secret: ClientSecret::new(texts.client_secret.to_owned()),
            redirect,
        })
    }
}

/// What crosses a network must not be readable there: secrets, codes and cookies go this way.
fn is_secure(url: &openidconnect::url::Url) -> bool {
    use openidconnect::url::Host;
    match (url.scheme(), url.host()) {
        ("https", Some(_)) => true,
        ("http", Some(Host::Ipv4(address))) => address.is_loopback(),
        ("http", Some(Host::Ipv6(address))) => address.is_loopback(),
        ("http", Some(Host::Domain(name))) => name == "localhost",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_reached_in_the_open_on_this_machine_only() {
        let config = |issuer: &str, admin_url: &str| {
            let made = ProviderConfig::new(issuer, ("id", "secret"), None, admin_url);
            made.map(|made| made.redirect.to_string()).map_err(|error| error.to_string())
        };
        let callback = "https://admin.example.com/api/v1/sign-in/provider/callback";
        assert_eq!(config("https://id.example.com/realm", "https://admin.example.com/").as_deref(), Ok(callback));
        for loopback in ["http://127.0.0.1:9400", "http://localhost:9400", "http://[::1]:9400"] {
            assert!(config(loopback, loopback).is_ok(), "{loopback}");
        }
        for wrong in
            ["", "id.example.com", "http://id.example.com", "ftp://id.example.com", "https://id.example.com?a=1"]
        {
            let refused = config(wrong, "https://admin.example.com").unwrap_err();
            assert!(refused.starts_with("VESTIBULE_OIDC_ISSUER takes an address"), "{wrong}: {refused}");
        }
        let refused = config("https://id.example.com", "http://admin.example.com").unwrap_err();
        assert!(refused.starts_with("VESTIBULE_ADMIN_URL takes"), "{refused}");
        let groups = ProviderConfig::new("https://x.example", ("id", "secret"), Some("groups"), "https://y.example");
        assert_eq!(groups.err().unwrap().to_string(), "VESTIBULE_OIDC_CLAIM takes email, preferred_username or sub");
    }
}
