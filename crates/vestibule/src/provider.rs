//! The identity provider of `vestibule serve`.

use clap::Args;
use vestibule_admin::{ProviderConfig, ProviderConfigError, ProviderTexts};

#[derive(Args, Clone)]
pub(crate) struct ProviderOptions {
    /// Address of an `OpenID` Connect provider through which operators may sign in to the backoffice, too
    #[arg(long, env = "VESTIBULE_OIDC_ISSUER", value_name = "URL")]
    pub(crate) oidc_issuer: Option<String>,

    /// What the provider knows this backoffice by
    #[arg(long, env = "VESTIBULE_OIDC_CLIENT_ID", value_name = "ID")]
    pub(crate) oidc_client_id: Option<String>,

    /// The secret that goes with it. Others on this machine can read a command line: better say it by the environment
    #[arg(long, env = "VESTIBULE_OIDC_CLIENT_SECRET", hide_env_values = true, value_name = "SECRET")]
    pub(crate) oidc_client_secret: Option<String>,

    /// PEM file with the authorities that the provider's certificate is of, instead of the public ones
    #[arg(long, env = "VESTIBULE_OIDC_CA", value_name = "FILE")]
    pub(crate) oidc_ca: Option<String>,

    /// What the button says [default: Single sign-on]
    #[arg(long, env = "VESTIBULE_OIDC_NAME", value_name = "NAME")]
    pub(crate) oidc_name: Option<String>,

    /// What names the operator: email, `preferred_username` or sub [default: email]
    #[arg(long, env = "VESTIBULE_OIDC_CLAIM", value_name = "CLAIM")]
    pub(crate) oidc_claim: Option<String>,

    /// Where browsers reach the backoffice; register `<it>/api/v1/sign-in/oidc/callback` with the provider
    #[arg(long, env = "VESTIBULE_ADMIN_URL", value_name = "URL")]
    pub(crate) admin_url: Option<String>,
}

impl ProviderOptions {
    /// The provider; `None` if none is named.
    pub(crate) fn config(&self) -> Result<Option<ProviderConfig>, ProviderConfigError> {
        let text = |given: &Option<String>| given.clone().unwrap_or_default();
        ProviderConfig::of(&ProviderTexts {
            issuer: text(&self.oidc_issuer),
            client_id: text(&self.oidc_client_id),
            client_secret: text(&self.oidc_client_secret),
            ca: text(&self.oidc_ca),
            name: text(&self.oidc_name),
            claim: text(&self.oidc_claim),
            admin_url: text(&self.admin_url),
        })
    }
}
