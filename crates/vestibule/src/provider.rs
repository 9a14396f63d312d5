//! OpenID Connect options of `vestibule serve`.

use clap::Args;
use tracing::warn;
use vestibule_admin::{ProviderConfig, ProviderTexts};
use vestibule_runtime::EnvError;

#[derive(Args, Clone)]
pub(crate) struct ProviderOptions {
    /// Issuer URL of an OpenID Connect provider for single sign-on to the backoffice
    #[arg(long, env = "VESTIBULE_OIDC_ISSUER", value_name = "URL")]
    pub(crate) oidc_issuer: Option<String>,

    /// Client ID registered with the provider
    #[arg(long, env = "VESTIBULE_OIDC_CLIENT_ID", value_name = "ID")]
    pub(crate) oidc_client_id: Option<String>,

    /// Client secret. Prefer the environment variable: other users of the machine can read a command line
    #[arg(long, env = "VESTIBULE_OIDC_CLIENT_SECRET", hide_env_values = true, value_name = "SECRET")]
    pub(crate) oidc_client_secret: Option<String>,

    /// PEM file with the CA certificates of the provider, instead of the public CAs
    #[arg(long, env = "VESTIBULE_OIDC_CA", value_name = "FILE")]
    pub(crate) oidc_ca: Option<String>,

    /// Label of the sign-in button [default: Single sign-on]
    #[arg(long, env = "VESTIBULE_OIDC_NAME", value_name = "NAME")]
    pub(crate) oidc_name: Option<String>,

    /// Claim that has the name of the operator: `email`, `preferred_username` or `sub` [default: email]
    #[arg(long, env = "VESTIBULE_OIDC_CLAIM", value_name = "CLAIM")]
    pub(crate) oidc_claim: Option<String>,

    /// Public URL of the backoffice, to which /_vestibule/operator leads; register `<URL>/api/v1/sign-in/oidc/callback` with
    /// the provider
    #[arg(long, env = "VESTIBULE_ADMIN_URL", value_name = "URL")]
    pub(crate) admin_url: Option<String>,
}

impl ProviderOptions {
    /// Names the options of a provider that have no effect without its issuer.
    pub(crate) fn warn_of_ignored(&self) {
        let given = [
            ("--oidc-client-id", self.oidc_client_id.is_some()),
            ("--oidc-client-secret", self.oidc_client_secret.is_some()),
            ("--oidc-ca", self.oidc_ca.is_some()),
            ("--oidc-name", self.oidc_name.is_some()),
            ("--oidc-claim", self.oidc_claim.is_some()),
        ];
        let ignored: Vec<&str> = given.into_iter().filter(|(_, is_given)| *is_given).map(|(flag, _)| flag).collect();
        if self.oidc_issuer.is_none() && !ignored.is_empty() {
            warn!(options = ignored.join(", "), "these options have no effect without --oidc-issuer");
        }
    }

    /// The provider; `None` if it is not configured. An error names the flag and its variable.
    pub(crate) fn config(&self) -> anyhow::Result<Option<ProviderConfig>> {
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        ProviderConfig::of(&ProviderTexts {
            issuer: text(&self.oidc_issuer),
            client_id: text(&self.oidc_client_id),
            client_secret: text(&self.oidc_client_secret),
            ca: text(&self.oidc_ca),
            name: text(&self.oidc_name),
            claim: text(&self.oidc_claim),
            admin_url: text(&self.admin_url),
        })
        .map_err(|EnvError { name, takes }| {
            let flag = name.trim_start_matches("VESTIBULE_").to_lowercase().replace('_', "-");
            anyhow::anyhow!("--{flag} ({name}) {takes}")
        })
    }
}
