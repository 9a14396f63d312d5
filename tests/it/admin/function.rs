//! The backoffice as it is deployed: the program behind a load balancer.

use http::{Method, Request, StatusCode};
use serde_json::json;
use vestibule_tests::{
    AdminClient, Balancer, BalancerOptions, Deployment, Function, MAX_REQUEST, Program, Redis, Visitor,
};

use super::backoffice::queue;

const FIRST: (&str, &str) = ("root", "correct horse battery");

/// The function over this Redis, with its first superuser.
fn deployed(redis: &Redis) -> Deployment {
    let first = format!("{}:{}", FIRST.0, FIRST.1);
    Deployment::of("admin").env("VESTIBULE_REDIS_URL", &redis.url()).env("VESTIBULE_ADMIN_BOOTSTRAP", &first).env(
        // Argon2 takes its time in a program that was not released, and so may a machine that does much at once.
        "VESTIBULE_STORE_TIMEOUT_MS",
        "10000",
    )
}

/// A load balancer in front of the function, and the superuser signed in there.
async fn open(function: Function) -> (Balancer, AdminClient) {
    let https = BalancerOptions { https: true, ..BalancerOptions::default() };
    let balancer = Balancer::before(function, https).await;
    let mut root = AdminClient::at(balancer.address());
    root.sign_in(FIRST.0, FIRST.1).await;
    (balancer, root)
}

#[tokio::test]
async fn operators_use_the_api_through_lambda() {
    let redis = Redis::start().await;
    let (balancer, mut root) = open(deployed(&redis).emulated().await).await;
    let mut again = AdminClient::at(balancer.address());
    let answer = again.post("/sign-in", json!({ "name": FIRST.0, "password": FIRST.1 })).await;
    assert!(answer.header("set-cookie").unwrap().ends_with("; HttpOnly; SameSite=Strict; Secure"));
    assert_eq!(answer.header("content-type"), Some("application/json"));

    root.create("/tenants", json!({ "id": "acme", "name": "Acme" })).await;
    root.create("/queues", queue("tour", "acme", json!({}))).await;
    let read = root.get("/queues/tour").await;
    assert_eq!((read.status.as_u16(), read.header("etag")), (200, Some("\"1\"")), "{}", read.text());
    let changed = root.patch_revision("/queues/tour", 1, json!({ "quota": 7 })).await;
    assert_eq!((changed.status.as_u16(), &changed.json()["quota"]), (200, &json!(7)), "{}", changed.text());
    assert_eq!(root.patch_revision("/queues/tour", 1, json!({ "quota": 8 })).await.status, 412);
    assert_eq!(root.confirmed(Method::DELETE, "/queues/tour", None).await.status, 204);
    assert_eq!(root.get("/stats/stream").await.code(), "streaming_unavailable", "a function's answer is whole or none");

    let mut stranger = AdminClient::at(balancer.address());
    assert_eq!(stranger.get("/queues").await.status, 401);
    assert!(balancer.complaints().is_empty(), "{:?}", balancer.complaints());
    let log = balancer.function().log();
    assert!(!log.contains(FIRST.1), "a password is never logged: {log}");
}

#[tokio::test]
async fn oversized_body_is_rejected() {
    let redis = Redis::start().await;
    let (balancer, mut root) = open(deployed(&redis).instances(1).await).await;
    let long = |bytes: usize| Some(json!({ "id": "acme", "name": "x".repeat(bytes) }));
    let refused = root.send(Method::POST, "/tenants", &[], long(300 * 1024)).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (413, "too_large".to_owned()), "{}", refused.text());
    let refused = root.send(Method::POST, "/tenants", &[], long(MAX_REQUEST)).await;
    assert_eq!((refused.status, refused.header("server")), (StatusCode::PAYLOAD_TOO_LARGE, Some("awselb/2.0")));
    root.create("/tenants", json!({ "id": "acme", "name": "Acme" })).await;
    assert!(balancer.function().each().iter().all(|instance| !instance.log().contains("panicked")));
}

#[tokio::test]
async fn lambda_serves_the_dashboard() {
    let redis = Redis::start().await;
    let (balancer, _) = open(deployed(&redis).instances(1).await).await;
    let mut browser = Visitor::new(balancer.address(), "admin.example.com").with_header("accept-encoding", "gzip, br");
    for path in ["/", "/queues/tour", "/sign-in?problem=wrong_state"] {
        let page = browser.navigate(path).await;
        assert!(page.header("content-type").unwrap().starts_with("text/html"), "{path}");
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
        assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    }
    assert_eq!(browser.request(Request::get("/assets/gone-AAAA.js"), "").await.status, 404);
    let document = browser.request(Request::get("/api/v1/openapi.json"), "").await;
    assert_eq!(document.header("content-encoding"), Some("gzip"), "compressed, and base64 on its way");
    assert_eq!(crate::metrics::unzipped(&document.body), vestibule_admin::openapi_json());
}

#[tokio::test]
async fn lambda_starts_while_the_store_is_unavailable() {
    let redis = Redis::start().await;
    let (balancer, mut root) = open(deployed(&redis).env("VESTIBULE_STORE_TIMEOUT_MS", "500").instances(1).await).await;
    redis.kill();
    let answer = root.get("/queues").await;
    assert_eq!((answer.status.as_u16(), answer.code()), (503, "store_unavailable".to_owned()));
    assert_eq!(answer.header("retry-after"), Some("1"));
    drop(balancer);
}

#[tokio::test]
async fn invalid_variable_is_named_without_its_secret() {
    for (name, value, says) in [
        ("VESTIBULE_ADMIN_BOOTSTRAP", "root:s3cret", "VESTIBULE_ADMIN_BOOTSTRAP must be name:password"),
        ("VESTIBULE_REDIS_URL", "http://:s3cret@x", "VESTIBULE_REDIS_URL: the address of Redis takes redis://"),
        ("VESTIBULE_REDIS_URL", "", "VESTIBULE_REDIS_URL is not set"),
        ("VESTIBULE_OIDC_ISSUER", "https://id.example.com", "VESTIBULE_OIDC_CLIENT_ID is not set"),
        ("VESTIBULE_TRUSTED_PROXIES", "many", "VESTIBULE_TRUSTED_PROXIES must be a whole number"),
        ("VESTIBULE_REQUIRE_TOTP", "all", "VESTIBULE_REQUIRE_TOTP must be nobody, superusers or everybody"),
        ("AWS_LAMBDA_RUNTIME_API", "", "AWS_LAMBDA_RUNTIME_API is not set"),
    ] {
        let launch = Program::named("admin", &[]).env("VESTIBULE_REDIS_URL", "redis://:s3cret@127.0.0.1:9");
        let mut program = launch.env("VESTIBULE_LOG", "error").env(name, value).start();
        assert_eq!(program.end().await.code(), Some(1), "{name}");
        let log = program.log();
        assert!(log.contains(says) && log.lines().count() == 1, "{name}: {log}");
        assert!(!log.contains("s3cret"), "{log}");
    }
}

/// What a page has become in a browser once its scripts have run.
async fn drawn(url: &str) -> String {
    let finder = concat!(env!("CARGO_MANIFEST_DIR"), "/browser/chromium.mjs");
    let found = tokio::process::Command::new("node").arg(finder).output().await.unwrap();
    let browser = String::from_utf8(found.stdout).unwrap();
    let profile = tempfile::tempdir().unwrap();
    let drawn = tokio::process::Command::new(browser.trim())
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "--virtual-time-budget=15000"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(url)
        .output()
        .await
        .unwrap();
    String::from_utf8(drawn.stdout).unwrap()
}

#[tokio::test]
async fn browser_renders_the_dashboard_from_lambda() {
    let redis = Redis::start().await;
    let (balancer, _) = open(deployed(&redis).instances(2).await).await;
    let page = drawn(&format!("http://{}/", balancer.address())).await;
    assert!(page.contains("type=\"password\""), "whoever is not signed in is asked to: {page}");
    assert!(balancer.complaints().is_empty(), "{:?}", balancer.complaints());
}
