//! The configuration of a provider as it is given, before it is parsed.

use vestibule_runtime::variable;

pub(super) const ISSUER: &str = "VESTIBULE_OIDC_ISSUER";
pub(super) const CLIENT_ID: &str = "VESTIBULE_OIDC_CLIENT_ID";
pub(super) const CLIENT_SECRET: &str = "VESTIBULE_OIDC_CLIENT_SECRET";
pub(super) const CA: &str = "VESTIBULE_OIDC_CA";
pub(super) const NAME: &str = "VESTIBULE_OIDC_NAME";
pub(super) const CLAIM: &str = "VESTIBULE_OIDC_CLAIM";
pub(super) const ADMIN_URL: &str = "VESTIBULE_ADMIN_URL";

/// A provider's configuration as it is given: texts, each the value of a variable or of a flag of `vestibule serve`. An empty
/// text counts as absent.
#[derive(Default, Clone)]
pub struct ProviderTexts {
    /// `VESTIBULE_OIDC_ISSUER`: the provider's address. Without it there is no provider, whatever else is given.
    pub issuer: String,
    /// `VESTIBULE_OIDC_CLIENT_ID`: what the provider knows this backoffice by.
    pub client_id: String,
    /// `VESTIBULE_OIDC_CLIENT_SECRET`.
    pub client_secret: String,
    /// `VESTIBULE_OIDC_CA`: a PEM file, or its text, with the authorities that the provider's certificate is of, if not
    /// of a public one.
    pub ca: String,
    /// `VESTIBULE_OIDC_NAME`: what the button says; "Single sign-on" without it.
    pub name: String,
    /// `VESTIBULE_OIDC_CLAIM`: what names the operator: `email` (without it), `preferred_username` or `sub`.
    pub claim: String,
    /// `VESTIBULE_ADMIN_URL`: where browsers reach the backoffice. The provider sends them to
    /// `<it>/api/v1/sign-in/oidc/callback`, which is to be registered there.
    pub admin_url: String,
}

impl ProviderTexts {
    pub(super) fn from_env() -> Self {
        let text = |name| variable(name).unwrap_or_default();
        Self {
            issuer: text(ISSUER),
            client_id: text(CLIENT_ID),
            client_secret: text(CLIENT_SECRET),
            ca: text(CA),
            name: text(NAME),
            claim: text(CLAIM),
            admin_url: text(ADMIN_URL),
        }
    }
}
