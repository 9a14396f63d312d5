//! The document of the API.

use std::path::Path;

use super::backoffice::Backoffice;

/// The document in the repository is what the code says. `VESTIBULE_WRITE_OPENAPI=1` writes it.
#[test]
fn the_document_in_the_repository_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../openapi.json");
    let made = vestibule_admin::openapi_json();
    if std::env::var("VESTIBULE_WRITE_OPENAPI").is_ok() {
        std::fs::write(&path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == made,
        "openapi.json is out of date: VESTIBULE_WRITE_OPENAPI=1 cargo test -p vestibule-tests document"
    );
}

#[tokio::test]
async fn openapi_document_is_served_as_json_and_html() {
    let backoffice = Backoffice::memory().await;
    let mut client = backoffice.admin.client();
    assert_eq!(client.get("/openapi.json").await.json()["openapi"], "3.1.0");
    let mut visitor = client.visitor().clone();
    let page = visitor.request(http::Request::get("/api/docs"), "").await;
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'self'"), "{policy}");
    assert!(page.text().contains("PATCH /api/v1/queues/{queue}/controls"));
    assert_eq!(
        visitor.request(http::Request::get("/api/docs.css"), "").await.header("content-type"),
        Some("text/css; charset=utf-8")
    );
}

#[tokio::test]
async fn responses_have_a_request_id_and_no_store() {
    let backoffice = Backoffice::memory().await;
    let mut client = backoffice.admin.client().with_header("x-request-id", "call-7");
    for path in ["/queues", "/nothing", "/openapi.json"] {
        let answer = client.get(path).await;
        assert_eq!(answer.header("x-request-id"), Some("call-7"), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert!(["no-store", "no-cache"].contains(&answer.header("cache-control").unwrap()), "{path}");
    }
}
