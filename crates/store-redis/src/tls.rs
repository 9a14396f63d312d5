//! The certificate authorities that connections by TLS trust.
//!
//! Trusted are the public authorities, which are built in (Amazon's among them), and those of the system. If `SSL_CERT_FILE` or
//! `SSL_CERT_DIR` names certificates, only those are trusted.

use std::sync::Arc;

use fred::types::config::TlsConnector;
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

/// Either of them replaces all other authorities.
const VARIABLES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// What connections by TLS are made with.
///
/// # Errors
/// The reason, in words, why no authority can be trusted.
pub(crate) fn connector() -> Result<TlsConnector, String> {
    let named = VARIABLES.iter().find(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    let mut roots = RootCertStore::empty();
    if named.is_none() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    add_system_roots(&mut roots);
    match named {
        Some(name) if roots.is_empty() => Err(format!("{name} names no certificate that can be read")),
        _ => {
            let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
                .with_safe_default_protocol_versions()
                .map_err(|error| error.to_string())?
                .with_root_certificates(roots)
                .with_no_client_auth();
            Ok(config.into())
        }
    }
}

/// Adds what can be read of the system's list: one invalid file is no reason to trust none.
fn add_system_roots(roots: &mut RootCertStore) {
    let found = rustls_native_certs::load_native_certs();
    for error in found.errors {
        tracing::warn!(%error, "some certificates of this system cannot be read");
    }
    roots.add_parsable_certificates(found.certs);
}

#[cfg(test)]
mod tests {
    #[test]
    fn authorities_of_amazon_are_built_in() {
        for name in ["Amazon Root CA 1", "Amazon Root CA 3", "Starfield Services Root Certificate Authority - G2"] {
            let found = webpki_roots::TLS_SERVER_ROOTS
                .iter()
                .any(|root| root.subject.as_ref().windows(name.len()).any(|part| part == name.as_bytes()));
            assert!(found, "{name}");
        }
    }
}
