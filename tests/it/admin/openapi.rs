//! The document of the API.

use std::path::Path;

use http::Method;

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

/// An operation that ignored `validate=true` would change what the request was to test.
#[tokio::test]
async fn unknown_query_parameters_are_rejected() {
    let backoffice = Backoffice::memory().await;
    let mut client = backoffice.root();
    let document = client.get("/openapi.json").await.json();
    let mut tested = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        let path = path.strip_prefix("/api/v1").unwrap().replace(['{', '}'], "").replace('_', "-");
        for (method, operation) in item.as_object().unwrap() {
            if operation["operationId"] == "complete_oidc" {
                continue; // The parameters are those of the identity provider.
            }
            let method: Method = method.to_uppercase().parse().unwrap();
            let answer = client.send(method.clone(), &format!("{path}?zzz=1"), &[("if-match", "*")], None).await;
            assert_eq!(answer.status, 422, "{method} {path}: {}", answer.text());
            let answer = answer.json();
            let is_named = |error: &serde_json::Value| error["field"] == "zzz" && error["code"] == "unknown_field";
            assert!(answer["errors"].as_array().unwrap().iter().any(is_named), "{method} {path}: {answer}");
            tested += 1;
        }
    }
    assert!(tested > 80, "{tested}");
    for (path, has_parameters) in [("/tenants?validate=true", false), ("/queues?validate=true", true)] {
        let answer = client.post(path, serde_json::json!({})).await.json();
        let names_validate = answer["errors"].as_array().unwrap().iter().any(|error| error["field"] == "validate");
        assert_eq!(names_validate, !has_parameters, "{path}: {answer}");
    }
}
