//! Certificates of origins.

use http::StatusCode;
use vestibule_tests::{Nginx, Program, Visitor, free_port, write_certificates};

#[tokio::test]
async fn private_authority_of_an_origin_is_trusted_by_variable() {
    let folder = tempfile::tempdir().unwrap();
    write_certificates(folder.path());
    let site = Nginx::start(&format!(
        "server {{ listen 127.0.0.1:{{port}} ssl; ssl_certificate {0}/certificate.pem; ssl_certificate_key {0}/key.pem; return 204; }}",
        folder.path().display()
    ))
    .await;
    let origin = format!("https://{}", site.address());
    let authority = folder.path().join("authority.pem").display().to_string();
    for (variable, status) in [("UNUSED", StatusCode::BAD_GATEWAY), ("SSL_CERT_FILE", StatusCode::NO_CONTENT)] {
        let address = format!("127.0.0.1:{}", free_port());
        let arguments = ["serve", "--listen", &address, "--origin", &origin, "--state", "state"];
        let mut program = Program::vestibule(&arguments).env(variable, &authority).start();
        program.until_healthy(&address).await;
        assert_eq!(Visitor::new(&address, &address).navigate("/").await.status, status, "{variable}");
    }
}

#[tokio::test]
async fn file_without_certificates_is_fatal() {
    let empty = tempfile::NamedTempFile::new().unwrap();
    let path = empty.path().display().to_string();
    for options in [&["https://127.0.0.1:1"][..], &["http://127.0.0.1:1", "--store", "rediss://127.0.0.1:1"]] {
        let arguments = [&["serve", "--state", "state", "--origin"], options].concat();
        let mut program = Program::vestibule(&arguments).env("SSL_CERT_FILE", &path).start();
        assert_eq!(program.end().await.code(), Some(1), "{options:?}");
        let log = program.log();
        assert!(log.contains("SSL_CERT_FILE names no certificate that can be read"), "{log}");
    }
}
