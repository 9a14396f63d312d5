#![doc = include_str!("../README.md")]

use std::env;
use std::sync::{Arc, OnceLock};

use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

/// Each of them replaces all other authorities.
const VARIABLES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// Set by Lambda.
const FUNCTION: &str = "AWS_LAMBDA_FUNCTION_NAME";

/// Why no connection can be verified.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The file named by the variable has no certificates.
    #[error("{0} names no certificate that can be read")]
    NoCertificate(&'static str),
    /// The cryptography refuses the settings.
    #[error(transparent)]
    Config(#[from] rustls::Error),
}

/// TLS for a client that trusts the public authorities and those of the system, or those that `SSL_CERT_FILE` and
/// `SSL_CERT_DIR` name. The system of a Lambda function has the public ones only, so its list is not read: that takes half
/// as long as the rest of a gate's start.
///
/// # Errors
/// A variable is set and names no certificate that can be read.
pub fn client_config() -> Result<ClientConfig, TlsError> {
    static TRUSTED: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    // Reading a system's list takes milliseconds, which count at a function's start.
    let trusted = match TRUSTED.get() {
        Some(trusted) => trusted.clone(),
        None => TRUSTED
            .get_or_init({
                let trusted = Arc::new(trusted_authorities()?);
                move || trusted
            })
            .clone(),
    };
    client_config_with(trusted)
}

/// TLS for a client that trusts these authorities only.
///
/// # Errors
/// The cryptography refuses the settings; not with `ring`.
pub fn client_config_with(authorities: impl Into<Arc<RootCertStore>>) -> Result<ClientConfig, TlsError> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(authorities)
        .with_no_client_auth();
    Ok(config)
}

fn trusted_authorities() -> Result<RootCertStore, TlsError> {
    let variable = VARIABLES.into_iter().find(|name| env::var_os(name).is_some_and(|value| !value.is_empty()));
    let mut authorities = RootCertStore::empty();
    if variable.is_none() {
        authorities.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        if env::var_os(FUNCTION).is_some() {
            return Ok(authorities);
        }
    }
    let found = rustls_native_certs::load_native_certs();
    for error in found.errors {
        tracing::warn!(%error, "some certificates of this system cannot be read");
    }
    authorities.add_parsable_certificates(found.certs);
    match variable {
        Some(name) if authorities.is_empty() => Err(TlsError::NoCertificate(name)),
        _ => Ok(authorities),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn amazons_authorities_are_built_in() {
        for name in ["Amazon Root CA 1", "Amazon Root CA 3", "Starfield Services Root Certificate Authority - G2"] {
            let found = webpki_roots::TLS_SERVER_ROOTS
                .iter()
                .any(|root| root.subject.as_ref().windows(name.len()).any(|part| part == name.as_bytes()));
            assert!(found, "{name}");
        }
    }
}
