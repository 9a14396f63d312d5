//! The keys to a bucket: given, or found where AWS puts them.

use reqsign_aws_v4::{
    AssumeRoleWithWebIdentityCredentialProvider, Credential, ECSCredentialProvider, EnvCredentialProvider,
    IMDSv2CredentialProvider, ProfileCredentialProvider, StaticCredentialProvider,
};
use reqsign_core::{Context, Error, ProvideCredential, ProvideCredentialDyn};

use super::server::S3Server;

type Place = (&'static str, Box<dyn ProvideCredentialDyn<Credential = Credential>>);

/// Where keys are looked for, in this order. The library's own chain would keep to itself why a place had none.
#[derive(Debug)]
pub(super) struct Credentials(Vec<Place>);

impl Credentials {
    pub(super) fn of(server: &S3Server) -> Self {
        Self(vec![("given", Box::new(StaticCredentialProvider::new(&server.access_key, &server.secret_key)))])
    }

    /// A function has its own in the environment, always: it never asks a machine's metadata, which it can't reach.
    pub(super) fn of_environment() -> Self {
        Self(vec![
            ("the environment", Box::new(EnvCredentialProvider::new())),
            ("a web identity", Box::new(AssumeRoleWithWebIdentityCredentialProvider::new())),
            ("a profile", Box::new(ProfileCredentialProvider::new())),
            ("the container", Box::new(ECSCredentialProvider::new())),
            ("the machine's metadata", Box::new(IMDSv2CredentialProvider::new())),
        ])
    }
}

impl ProvideCredential for Credentials {
    type Credential = Credential;

    async fn provide_credential(&self, context: &Context) -> Result<Option<Credential>, Error> {
        let mut why = Vec::new();
        for (place, provider) in &self.0 {
            match provider.provide_credential_dyn(context).await {
                Ok(Some(found)) => return Ok(Some(found)),
                Ok(None) => {}
                Err(error) => why.push(format!("{place}: {error}")),
            }
        }
        let why = if why.is_empty() { "none is set".to_owned() } else { why.join("; ") };
        Err(Error::credential_invalid(format!("no credentials for S3: {why}")))
    }
}
