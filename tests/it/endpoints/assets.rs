//! Scripts, theme files, public keys and health: without admission control.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use http::{Request, StatusCode};
use serde_json::json;
use tempfile::TempDir;
use vestibule_tests::{GateOptions, GateUnderTest, Redis, Visitor, wait_until};

use crate::gate_fixture::{
    GateFixture, StoreSetup, TIMEOUT, direct_and_lambda, document_of, navigation, random_id, raw,
};

direct_and_lambda! {
    scripts_are_cached_by_their_hash,
    theme_assets_bypass_admission_control,
    only_files_of_the_theme_are_served,
    a_queue_without_a_theme_has_the_default_assets,
    theme_files_are_served_on_the_queue_s_hosts_only,
    jwks_is_public,
}

async fn scripts_are_cached_by_their_hash(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let page = fixture.visitor().navigate("/").await;
    let source = page.text().split("src=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let script = fixture.visitor().fetch(&source).await;
    assert_eq!(script.status, StatusCode::OK);
    assert_eq!(script.header("content-type"), Some("text/javascript; charset=utf-8"));
    assert!(script.header("cache-control").unwrap().contains("immutable"));
    let of_other_version = "/_vestibule/queue.js?v=0123456789abcdef";
    for path in ["/_vestibule/queue.js", of_other_version, "/_vestibule/keepalive.js"] {
        let script = fixture.visitor().fetch(path).await;
        assert!(
            !script.header("cache-control").unwrap().contains("immutable"),
            "{path} has not the hash of what is sent"
        );
        let etag = script.header("etag").unwrap();
        let again = fixture.visitor().with_header("if-none-match", etag).fetch(path).await;
        assert_eq!((again.status, again.body.len()), (StatusCode::NOT_MODIFIED, 0));
        assert_eq!(again.header("etag"), Some(etag));
        let weak = format!("\"x\", W/{etag}");
        let again = fixture.visitor().with_header("if-none-match", &weak).fetch(path).await;
        assert_eq!(again.status, StatusCode::NOT_MODIFIED);
        let other = fixture.visitor().with_header("if-none-match", "\"x\"").fetch(path).await;
        assert_eq!(other.status, StatusCode::OK);
    }
    assert_eq!(fixture.counts().await, (1, 0), "a script took a number");
}

fn themes() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for theme in ["acme", "default"] {
        fs::create_dir_all(folder.path().join(theme).join("img")).unwrap();
        fs::write(folder.path().join(theme).join("img/logo.svg"), format!("<svg id=\"{theme}\"/>")).unwrap();
    }
    fs::write(folder.path().join("secret.css"), "secret").unwrap();
    fs::write(folder.path().join("acme/.hidden.css"), "secret").unwrap();
    fs::write(folder.path().join("acme/notes.toml"), "secret").unwrap();
    symlink(folder.path().join("secret.css"), folder.path().join("acme/out.css")).unwrap();
    folder
}

async fn themed(setup: StoreSetup, folder: &Path, changes: serde_json::Value) -> GateFixture {
    let options = GateOptions { themes: Some(folder.to_owned()), ..GateOptions::default() };
    GateFixture::open_with(setup, changes, options).await
}

async fn theme_assets_bypass_admission_control(setup: StoreSetup) {
    let folder = themes();
    let fixture = themed(setup, folder.path(), json!({ "theme": "acme" })).await;
    let path = format!("/_vestibule/theme/{}/img/logo.svg", fixture.queue);
    let asset = fixture.visitor().fetch(&path).await;
    assert_eq!((asset.status, asset.text()), (StatusCode::OK, "<svg id=\"acme\"/>"));
    assert_eq!(asset.header("content-type"), Some("image/svg+xml"));
    assert_eq!(asset.header("x-content-type-options"), Some("nosniff"));
    assert!(asset.header("content-security-policy").unwrap().starts_with("default-src 'none'"));
    let again = fixture.visitor().with_header("if-none-match", asset.header("etag").unwrap()).fetch(&path).await;
    assert_eq!(again.status, StatusCode::NOT_MODIFIED);
    assert_eq!(fixture.visitor().navigate(&path).await.status, StatusCode::OK);
    assert_eq!(fixture.counts().await, (0, 0));
}

async fn only_files_of_the_theme_are_served(setup: StoreSetup) {
    let folder = themes();
    let fixture = themed(setup, folder.path(), json!({ "theme": "acme" })).await;
    for path in [
        "..%2fsecret.css",
        "../secret.css",
        "%2e%2e/secret.css",
        "img/..%2f..%2fsecret.css",
        "..%5csecret.css",
        "%2fetc%2fpasswd.css",
        "out.css",
        ".hidden.css",
        "notes.toml",
        "queue.html",
        "img",
        "img/",
        "nothing.css",
        "logo.svg%00.css",
        "%ff.css",
    ] {
        let target = format!("/_vestibule/theme/{}/{path}", fixture.queue);
        let (head, body) = raw(fixture.gate.address(), &navigation(&target, &fixture.host, &[])).await;
        assert!(head.starts_with("http/1.1 4"), "{path}: {head}");
        assert!(!body.contains("secret"), "{path}: {body}");
    }
    for queue in ["nobody", "..%2f", "x%20y"] {
        let answer = fixture.visitor().fetch(&format!("/_vestibule/theme/{queue}/img/logo.svg")).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND);
    }
}

async fn a_queue_without_a_theme_has_the_default_assets(setup: StoreSetup) {
    let folder = themes();
    let fixture = themed(setup, folder.path(), json!({})).await;
    let asset = fixture.visitor().fetch(&format!("/_vestibule/theme/{}/img/logo.svg", fixture.queue)).await;
    assert_eq!((asset.status, asset.text()), (StatusCode::OK, "<svg id=\"default\"/>"));
}

async fn theme_files_are_served_on_the_queue_s_hosts_only(setup: StoreSetup) {
    let folder = themes();
    let fixture = themed(setup, folder.path(), json!({ "theme": "acme" })).await;
    let path = format!("/_vestibule/theme/{}/img/logo.svg", fixture.queue);
    for host in ["other.example.com", &format!("x.{}", fixture.host), "127.0.0.1"] {
        let answer = Visitor::new(fixture.gate.address(), host).fetch(&path).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{host}");
    }
    assert_eq!(fixture.visitor().fetch(&path).await.status, StatusCode::OK);
}

async fn jwks_is_public(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let keys = Visitor::new(fixture.gate.address(), "anything.internal").fetch("/_vestibule/jwks.json").await;
    assert_eq!(keys.status, StatusCode::OK);
    assert_eq!(keys.header("access-control-allow-origin"), Some("*"));
    let key = &keys.json()["keys"][0];
    assert_eq!((&key["crv"], &key["alg"], &key["kid"]), (&json!("Ed25519"), &json!("EdDSA"), &json!("pass-1")));
    assert!(key.get("d").is_none());
}

#[tokio::test]
async fn a_missing_logo_is_left_out_of_the_page() {
    let folder = themes();
    for (logo, is_shown) in [("img/logo.svg", true), ("red", false), ("img/gone.svg", false), ("notes.toml", false)] {
        let (store, id) = (StoreSetup::memory().store, random_id());
        let host = format!("{id}.example.com");
        let mut document = document_of(&id, &host, "http://127.0.0.1:1", &json!({ "theme": "acme" }));
        document["tenants"][0]["logo"] = json!(logo);
        let options = GateOptions { themes: Some(folder.path().to_owned()), ..GateOptions::default() };
        let gate = GateUnderTest::start_with(store, &document, options).await;
        let page = Visitor::new(gate.address(), &host).navigate("/").await;
        let html = page.text().replace("&#x2f;", "/");
        let shown = html.contains(&format!("src=\"/_vestibule/theme/{id}/{logo}\""));
        assert_eq!(shown, is_shown, "{logo}");
        assert!(is_shown || !html.contains("<img"), "{logo}: {html}");
    }
}

#[tokio::test]
async fn health_reports_the_store_state() {
    let redis = Redis::start().await;
    let fixture = GateFixture::open(StoreSetup::over(&redis), json!({})).await;
    let healthy = Visitor::new(fixture.gate.address(), "10.0.0.1").fetch("/_vestibule/health").await;
    assert_eq!((healthy.status, &healthy.json()["store"]), (StatusCode::OK, &json!("up")));
    assert_eq!(healthy.json()["queues"], 1, "a gate without queues is healthy and admits nobody");
    assert_eq!(healthy.header("cache-control"), Some("no-store"));
}

#[tokio::test]
async fn health_is_503_while_the_store_is_unavailable() {
    let redis = Redis::start().await;
    let store = crate::gate_fixture::over(&redis, std::time::Duration::from_millis(300));
    let document = document_of(&random_id(), "x.example.com", "http://127.0.0.1:1", &json!({}));
    let gate = GateUnderTest::start(store, &document).await;
    redis.kill();
    let mut monitor = Visitor::new(gate.address(), "10.0.0.1");
    let down = monitor.fetch("/_vestibule/health").await;
    assert_eq!((down.status, &down.json()["store"]), (StatusCode::SERVICE_UNAVAILABLE, &json!("down")));
    redis.restart_empty().await;
    wait_until("the gate is healthy again", TIMEOUT, async || {
        monitor.request(Request::head("/_vestibule/health"), "").await.status == StatusCode::OK
    })
    .await;
}
