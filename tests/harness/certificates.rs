//! Certificates of servers on loopback.

use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

/// Writes the certificate of a private authority, and one of it for 127.0.0.1 with its key: `authority.pem`, `certificate.pem` and
/// `key.pem`.
pub fn write_certificates(folder: &Path) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
    for (name, text) in
        [("authority.pem", authority.pem()), ("certificate.pem", certificate.pem()), ("key.pem", key.serialize_pem())]
    {
        std::fs::write(folder.join(name), text).unwrap();
    }
}
