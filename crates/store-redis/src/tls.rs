//! Trusted certificates of TLS connections.
//!
//! The public authorities are built in: reading the system's list takes some milliseconds, which
//! every serverless function would spend at startup, only to find Amazon's authorities. A private
//! authority is configured in the system's list or with `SSL_CERT_FILE` or `SSL_CERT_DIR`. The
//! system's list is read when a certificate has an authority that is not built in. With one of the
//! variables, only the certificates it names are trusted.

use std::sync::{Arc, OnceLock};

use fred::types::config::TlsConnector;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// If set, either variable replaces all other trusted authorities.
const VARIABLES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// Creates the TLS connector of all connections. The error says why it can't be created.
pub(crate) fn connector() -> Result<TlsConnector, String> {
    let provider = Arc::new(ring::default_provider());
    let named = VARIABLES.iter().find(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    let verifier: Arc<dyn ServerCertVerifier> = match named {
        Some(name) => {
            let roots = system_roots();
            if roots.is_empty() {
                return Err(format!("{name} names no certificate that can be read"));
            }
            verifier_of(roots, &provider)?
        }
        None => Arc::new(BuiltInThenSystem {
            built_in: verifier_of(built_in_roots(), &provider)?,
            system: OnceLock::new(),
            load: system_roots,
            provider: provider.clone(),
        }),
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(config.into())
}

fn built_in_roots() -> RootCertStore {
    webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect()
}

/// The readable part of the system's list: one invalid file does not invalidate the others.
fn system_roots() -> RootCertStore {
    let found = rustls_native_certs::load_native_certs();
    for error in found.errors {
        tracing::warn!(%error, "certificates of this system could not be read");
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    roots
}

fn verifier_of(roots: RootCertStore, provider: &Arc<CryptoProvider>) -> Result<Arc<WebPkiServerVerifier>, String> {
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone());
    verifier.build().map_err(|error| error.to_string())
}

/// Consults the system's list only for authorities that are not built in.
#[derive(Debug)]
struct BuiltInThenSystem {
    built_in: Arc<WebPkiServerVerifier>,
    /// `None` inside if the system has no list.
    system: OnceLock<Option<Arc<WebPkiServerVerifier>>>,
    load: fn() -> RootCertStore,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for BuiltInThenSystem {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.built_in.verify_server_cert(certificate, intermediates, name, ocsp_response, now);
        if !matches!(verified, Err(Error::InvalidCertificate(CertificateError::UnknownIssuer))) {
            return verified;
        }
        match self.system.get_or_init(|| verifier_of((self.load)(), &self.provider).ok()) {
            Some(system) => system.verify_server_cert(certificate, intermediates, name, ocsp_response, now),
            None => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.built_in.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.built_in.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.built_in.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

    use super::*;

    fn authority() -> &'static CertifiedIssuer<'static, KeyPair> {
        static AUTHORITY: OnceLock<CertifiedIssuer<'static, KeyPair>> = OnceLock::new();
        AUTHORITY.get_or_init(|| {
            let mut params = CertificateParams::default();
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
        })
    }

    fn certificate_for(name: &str) -> CertificateDer<'static> {
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        params.signed_by(&KeyPair::generate().unwrap(), authority()).unwrap().der().clone()
    }

    fn verifier(load: fn() -> RootCertStore) -> BuiltInThenSystem {
        let provider = Arc::new(ring::default_provider());
        let built_in = verifier_of(built_in_roots(), &provider).unwrap();
        BuiltInThenSystem { built_in, system: OnceLock::new(), load, provider }
    }

    fn verify(verifier: &BuiltInThenSystem, certificate: &CertificateDer<'_>) -> Result<ServerCertVerified, Error> {
        let name = ServerName::try_from("redis.example.com").unwrap();
        verifier.verify_server_cert(
            certificate,
            &[],
            &name,
            &[],
            UnixTime::since_unix_epoch(Duration::from_hours(500_000)),
        )
    }

    #[test]
    fn system_authority_is_trusted_and_read_once() {
        static READ: AtomicUsize = AtomicUsize::new(0);
        let verifier = verifier(|| {
            READ.fetch_add(1, Ordering::Relaxed);
            let mut roots = RootCertStore::empty();
            roots.add(authority().der().clone()).unwrap();
            roots
        });
        verify(&verifier, &certificate_for("redis.example.com")).unwrap();
        verify(&verifier, &certificate_for("redis.example.com")).unwrap();
        let error = verify(&verifier, &certificate_for("other.example.com")).unwrap_err();
        assert!(matches!(error, Error::InvalidCertificate(CertificateError::NotValidForNameContext { .. })), "{error}");
        assert_eq!(READ.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn unknown_authority_is_not_trusted() {
        for load in [RootCertStore::empty, built_in_roots] {
            let error = verify(&verifier(load), &certificate_for("redis.example.com")).unwrap_err();
            assert!(matches!(error, Error::InvalidCertificate(CertificateError::UnknownIssuer)), "{error}");
        }
    }

    #[test]
    fn amazon_authorities_are_built_in() {
        let roots = built_in_roots();
        for name in ["Amazon Root CA 1", "Amazon Root CA 3", "Starfield Services Root Certificate Authority - G2"] {
            let known = roots
                .roots
                .iter()
                .any(|root| root.subject.as_ref().windows(name.len()).any(|part| part == name.as_bytes()));
            assert!(known, "{name}");
        }
    }
}
