//! A caching proxy in front of the gate.

use serde_json::json;
use vestibule_tests::{GateOptions, Nginx, Visitor};

use crate::gate_fixture::{GateFixture, StoreSetup, set_cookie};

/// An nginx that keeps answers as they allow, those with cookies as well, and for a while those that say nothing.
fn cache(gate: &str) -> String {
    format!(
        "proxy_cache_path cache keys_zone=pages:1m;\n\
         server {{ listen 127.0.0.1:{{port}}; location / {{\n\
         proxy_pass http://{gate}; proxy_set_header Host $http_host; proxy_cache pages;\n\
         proxy_ignore_headers Set-Cookie Vary; proxy_cache_valid 200 5m; add_header X-Cache $upstream_cache_status;\n\
         }} }}"
    )
}

/// An nginx whose pages say this of how long they may be kept.
async fn origin(said: &str) -> Nginx {
    let location = format!("location / {{ {said} return 200 page; }}");
    Nginx::start(&format!("server {{ listen 127.0.0.1:{{port}}; {location} }}")).await
}

#[tokio::test]
async fn caching_proxies_never_share_a_ticket() {
    for said in [
        "",
        "add_header Cache-Control max-age=300;",
        "add_header Cache-Control 'public, s-maxage=300';",
        "expires 300;",
        "add_header X-Accel-Expires 300;",
        "add_header Last-Modified 'Mon, 01 Jan 2024 00:00:00 GMT';",
    ] {
        let site = origin(said).await;
        let options = GateOptions { trusted_proxies: 1, ..GateOptions::default() };
        let handover = json!({ "kind": "proxy", "origin": format!("http://{}", site.address()) });
        let fixture =
            GateFixture::open_with(StoreSetup::memory(), json!({ "quota": 1, "handover": handover }), options).await;
        let nginx = Nginx::start(&cache(fixture.gate.address())).await;
        let admitted = Visitor::new(&nginx.address(), &fixture.host).navigate("/tour").await;
        assert_eq!((admitted.text(), admitted.header("x-cache")), ("page", Some("MISS")), "{said}");
        assert!(set_cookie(&admitted, &fixture.cookie_name()).is_some(), "{said}");
        for _ in 0..2 {
            let next = Visitor::new(&nginx.address(), &fixture.host).navigate("/tour").await;
            assert_eq!(next.header("x-cache"), Some("MISS"), "{said}");
            assert!(next.text().contains("data-state=\"waiting\""), "{said}: the next visitor got {}", next.text());
        }
        assert_eq!(fixture.counts().await, (2, 1), "{said}");
    }
}
