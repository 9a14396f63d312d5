//! The configuration of an identity provider.

use std::sync::Arc;
use std::time::Duration;

use openidconnect::{ClientId, ClientSecret, IssuerUrl, RedirectUrl};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use vestibule_http_client::{HttpClient, Options};
use vestibule_runtime::EnvError;

use crate::oidc::texts::{ADMIN_URL, CA, CLAIM, CLIENT_ID, CLIENT_SECRET, ISSUER, NAME, ProviderTexts};
use crate::prefix::PREFIX;

/// What the addresses of provider and backoffice must be.
const ADDRESS: &str = "an address that begins with https:// (http:// only on this machine), without a query";
/// Time limit of a request to the provider.
const TIMEOUT: Duration = Duration::from_secs(5);
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
    pub(super) name: String,
    pub(super) claim: Claim,
    pub(super) issuer: IssuerUrl,
    pub(super) client_id: ClientId,
    pub(super) client_secret: ClientSecret,
    pub(super) redirect: RedirectUrl,
    /// Trusts the authorities of `VESTIBULE_OIDC_CA`, if there are any.
    pub(super) client: HttpClient,
}

impl ProviderConfig {
    /// Reads texts; `None` without an issuer.
    ///
    /// # Errors
    /// One of them is missing or invalid. The message names its variable.
    pub fn of(texts: &ProviderTexts) -> Result<Option<Self>, EnvError> {
        if texts.issuer.trim().is_empty() {
            return Ok(None);
        }
        let client_id = given(CLIENT_ID, &texts.client_id, "the id that the identity provider gave")?;
        let secret = given(CLIENT_SECRET, &texts.client_secret, "the secret that the identity provider gave")?;
        let takes = "where browsers reach the backoffice, such as https://admin.example.com";
        let admin_url = given(ADMIN_URL, &texts.admin_url, takes)?.trim_end_matches('/');
        let issuer = IssuerUrl::new(texts.issuer.trim().to_owned()).ok().filter(|issuer| is_plain(issuer.url()));
        let redirect = RedirectUrl::new(format!("{admin_url}{PREFIX}/sign-in/oidc/callback")).ok();
        let redirect = redirect.filter(|redirect| is_plain(redirect.url()));
        Ok(Some(Self {
            name: name(texts.name.trim())?,
            claim: claim(texts.claim.trim())?,
            issuer: issuer.ok_or_else(|| refuse(ISSUER, ADDRESS))?,
            client_id: ClientId::new(client_id.to_owned()),
            client_secret: ClientSecret::new(secret.to_owned()),
            redirect: redirect.ok_or_else(|| refuse(ADMIN_URL, ADDRESS))?,
            client: client(texts.ca.trim())?,
        }))
    }
}

fn refuse(name: &'static str, takes: &str) -> EnvError {
    EnvError::new(name, format!("must be {takes}"))
}

fn given<'a>(name: &'static str, text: &'a str, takes: &str) -> Result<&'a str, EnvError> {
    let text = text.trim();
    if text.is_empty() { Err(EnvError::new(name, format!("is not set; it must be {takes}"))) } else { Ok(text) }
}

fn name(text: &str) -> Result<String, EnvError> {
    let text = if text.is_empty() { "Single sign-on" } else { text };
    let fits = text.chars().count() <= NAME_MAX && !text.chars().any(char::is_control);
    if fits { Ok(text.to_owned()) } else { Err(refuse(NAME, "1 to 60 characters")) }
}

fn claim(text: &str) -> Result<Claim, EnvError> {
    match text {
        "" | "email" => Ok(Claim::Email),
        "preferred_username" => Ok(Claim::PreferredUsername),
        "sub" => Ok(Claim::Subject),
        _ => Err(refuse(CLAIM, "email, preferred_username or sub")),
    }
}

/// The client for requests to the provider. A kept connection would be dead when a frozen function thaws, so none is kept.
fn client(ca: &str) -> Result<HttpClient, EnvError> {
    let options = Options { timeout: TIMEOUT, authorities: authorities(ca)?, ..Options::default() };
    HttpClient::new(options).map_err(|error| EnvError::new(CA, error.to_string()))
}

/// The authorities in a PEM file or in a PEM text; `None` for the usual ones.
fn authorities(text: &str) -> Result<Option<Arc<RootCertStore>>, EnvError> {
    if text.is_empty() {
        return Ok(None);
    }
    let unreadable = |error: &dyn std::fmt::Display| EnvError::new(CA, format!("cannot be read: {error}"));
    let pem = if text.starts_with("-----BEGIN") {
        text.as_bytes().to_vec()
    } else {
        std::fs::read(text).map_err(|error| unreadable(&error))?
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|error| unreadable(&error))?;
        roots.add(certificate).map_err(|error| unreadable(&error))?;
    }
    if roots.is_empty() {
        Err(refuse(CA, "a PEM file with certificates, or its text"))
    } else {
        Ok(Some(Arc::new(roots)))
    }
}

/// Whether an address is safe, and has nothing behind its path.
fn is_plain(url: &openidconnect::url::Url) -> bool {
    is_secure(url) && url.query().is_none() && url.fragment().is_none()
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

    fn texts(issuer: &str, admin_url: &str) -> ProviderTexts {
        let (client_id, client_secret) = ("id".to_owned(), "secret".to_owned());
        let (issuer, admin_url) = (issuer.to_owned(), admin_url.to_owned());
        ProviderTexts { issuer, client_id, client_secret, admin_url, ..ProviderTexts::default() }
    }

    #[test]
    fn plain_http_provider_must_be_on_loopback() {
        let config = |issuer: &str, admin_url: &str| {
            let made = ProviderConfig::of(&texts(issuer, admin_url));
            made.map(|made| made.unwrap().redirect.to_string()).map_err(|error| error.to_string())
        };
        let callback = "https://admin.example.com/api/v1/sign-in/oidc/callback";
        assert_eq!(config("https://id.example.com/realm", "https://admin.example.com/").as_deref(), Ok(callback));
        for loopback in ["http://127.0.0.1:9400", "http://localhost:9400", "http://[::1]:9400"] {
            assert!(config(loopback, loopback).is_ok(), "{loopback}");
        }
        for wrong in ["id.example.com", "http://id.example.com", "ftp://id.example.com", "https://id.example.com?a=1"] {
            let refused = config(wrong, "https://admin.example.com").unwrap_err();
            assert!(refused.starts_with("VESTIBULE_OIDC_ISSUER must be an address"), "{wrong}: {refused}");
        }
        let refused = config("https://id.example.com", "http://admin.example.com").unwrap_err();
        assert!(refused.starts_with("VESTIBULE_ADMIN_URL must be"), "{refused}");
    }

    #[test]
    fn missing_oidc_variable_is_named() {
        let whole = texts("https://id.example.com", "https://admin.example.com");
        let refused = |texts: ProviderTexts| ProviderConfig::of(&texts).err().unwrap().to_string();
        assert!(ProviderConfig::of(&ProviderTexts { issuer: String::new(), ..whole.clone() }).unwrap().is_none());
        let no_secret = refused(ProviderTexts { client_secret: " ".to_owned(), ..whole.clone() });
        assert!(no_secret.starts_with("VESTIBULE_OIDC_CLIENT_SECRET is not set; it must be"), "{no_secret}");
        let groups = refused(ProviderTexts { claim: "groups".to_owned(), ..whole.clone() });
        assert_eq!(groups, "VESTIBULE_OIDC_CLAIM must be email, preferred_username or sub");
        for (ca, said) in [
            ("/nothing.pem", "cannot be read"),
            ("/dev/null", "must be a PEM file with certificates"),
            ("-----BEGIN CERTIFICATE-----\nbm9uZQ==\n-----END CERTIFICATE-----\n", "cannot be read"),
        ] {
            let refused = refused(ProviderTexts { ca: ca.to_owned(), ..whole.clone() });
            assert!(refused.starts_with("VESTIBULE_OIDC_CA") && refused.contains(said), "{ca}: {refused}");
        }
    }
}
