//! Only a navigation joins the line.

use http::request::Builder;
use http::{Method, Request, StatusCode};
use serde_json::json;

use crate::gate_fixture::{GateFixture, StoreSetup, direct_and_lambda, set_cookie};

direct_and_lambda! {
    only_navigations_join,
    other_requests_renew_the_session,
    browsers_without_fetch_metadata_join_by_a_page,
    a_bot_without_cookies_holds_a_slot_for_seconds,
    cross_site_requests_do_not_join,
    the_gate_answers_preflights,
    forwarded_preflights_have_no_body_or_credentials,
}

fn asked(method: Method, headers: &[(&str, &str)]) -> Builder {
    let request = Request::builder().method(method).uri("/tour");
    headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))
}

const HTML: (&str, &str) = ("accept", "text/html");
const NAVIGATE: (&str, &str) = ("sec-fetch-mode", "navigate");

fn no_navigations() -> Vec<(&'static str, Builder)> {
    vec![
        ("prefetch", asked(Method::GET, &[NAVIGATE, HTML, ("sec-purpose", "prefetch")])),
        ("prerender", asked(Method::GET, &[NAVIGATE, HTML, ("sec-purpose", "prefetch;prerender")])),
        ("old prefetch", asked(Method::GET, &[HTML, ("purpose", "prefetch")])),
        ("firefox prefetch", asked(Method::GET, &[HTML, ("x-moz", "prefetch")])),
        ("image", asked(Method::GET, &[("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "image")])),
        ("style", asked(Method::GET, &[("accept", "text/css,*/*;q=0.1")])),
        ("fetch", asked(Method::GET, &[("sec-fetch-mode", "cors"), HTML])),
        ("api", asked(Method::GET, &[("accept", "application/json")])),
        ("health check", asked(Method::GET, &[("user-agent", "ELB-HealthChecker/2.0")])),
        ("curl", asked(Method::GET, &[("accept", "*/*")])),
        ("head", asked(Method::HEAD, &[HTML])),
        ("options", asked(Method::OPTIONS, &[HTML])),
        ("post", asked(Method::POST, &[NAVIGATE, HTML])),
        ("delete", asked(Method::DELETE, &[HTML])),
    ]
}

async fn only_navigations_join(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 5 })).await;
    for (what, request) in no_navigations() {
        let answer = fixture.visitor().request(request, "").await;
        assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS, "{what}");
        assert!(set_cookie(&answer, &fixture.cookie_name()).is_none(), "{what}");
        assert_eq!(fixture.counts().await, (0, 0), "{what} joined");
    }
    assert!(fixture.origin.requests().is_empty());
}

async fn other_requests_renew_the_session(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    visitor.fetch("/").await;
    for (what, request) in no_navigations() {
        fixture.advance_seconds(20);
        visitor.request(request, "").await;
        assert_eq!(fixture.counts().await, (1, 0), "{what} did not keep the position");
    }
    assert_eq!(fixture.stats().await.counters.returned, 0, "the session expired meanwhile");
}

async fn browsers_without_fetch_metadata_join_by_a_page(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let request = asked(Method::GET, &[("accept", "text/html,application/xhtml+xml,*/*;q=0.8")]);
    let answer = fixture.visitor().request(request, "").await;
    assert!(set_cookie(&answer, &fixture.cookie_name()).is_some());
    assert_eq!(fixture.counts().await, (1, 0));
}

async fn a_bot_without_cookies_holds_a_slot_for_seconds(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 1, "claim_ttl": 20 })).await;
    fixture.visitor().navigate("/").await;
    let mut second = fixture.visitor();
    second.navigate("/").await;
    assert_eq!(second.fetch("/").await.json()["position"], 1);
    fixture.advance_seconds(21);
    assert!(second.navigate("/").await.text().contains("origin /"), "the slot was not free");
}

async fn cross_site_requests_do_not_join(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 5 })).await;
    let cross_site = ("sec-fetch-site", "cross-site");
    let image = [cross_site, ("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "image")];
    let frame = [cross_site, NAVIGATE, ("sec-fetch-dest", "iframe"), HTML];
    for target in ["/tour".to_owned(), fixture.own("status")] {
        for headers in [&image[..], &frame[..], &[cross_site, HTML]] {
            let request =
                headers.iter().fold(Request::get(&target), |request, (name, value)| request.header(*name, *value));
            let answer = fixture.visitor().request(request, "").await;
            assert!(set_cookie(&answer, &fixture.cookie_name()).is_none(), "{target} {headers:?}");
        }
    }
    assert_eq!(fixture.counts().await, (0, 0));
    let followed = asked(Method::GET, &[cross_site, NAVIGATE, ("sec-fetch-dest", "document")]);
    assert!(fixture.visitor().request(followed, "").await.text().contains("origin /tour"), "a link is followed");
    assert_eq!(fixture.counts().await, (0, 1));
    let status = fixture.visitor().status(fixture.queue.as_str()).await;
    assert_eq!(status.header("cross-origin-resource-policy"), Some("same-site"));
}

fn preflight(origin: &str) -> Builder {
    let request = Request::options("/api/basket").header("origin", origin);
    request.header("access-control-request-method", "PUT").header("access-control-request-headers", "x-basket")
}

async fn the_gate_answers_preflights(setup: StoreSetup) {
    for handover in ["proxy", "redirect", "check"] {
        let changes = json!({ "handover": { "kind": handover, "origin": "https://www.example.net" } });
        let fixture = GateFixture::open(setup.clone(), changes).await;
        let own = format!("https://{}", fixture.host);
        let answer = fixture.visitor().request(preflight(&own), "").await;
        assert_eq!(
            (answer.status, answer.header("access-control-allow-origin")),
            (StatusCode::NO_CONTENT, Some(&*own))
        );
        assert_eq!(answer.header("access-control-allow-methods"), Some("PUT"));
        assert_eq!(answer.header("access-control-allow-headers"), Some("x-basket"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let foreign = fixture.visitor().request(preflight("https://evil.example"), "").await;
        assert_eq!((foreign.status, foreign.header("access-control-allow-origin")), (StatusCode::FORBIDDEN, None));
        assert_eq!(fixture.counts().await, (0, 0));
    }
}

async fn forwarded_preflights_have_no_body_or_credentials(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let origin = fixture.origin.url();
    fixture.change(&json!({ "handover": { "kind": "proxy", "origin": origin, "preflights": "forward" } })).await;
    fixture.visitor().fetch("/").await;
    let request = preflight("https://app.example.com")
        .header("cookie", "session=1")
        .header("authorization", "Bearer x")
        .header("x-api-key", "x")
        .header("x-http-method-override", "POST")
        .header("content-type", "application/json");
    let answer = fixture.visitor().request(request, r#"{"buy":"all"}"#).await;
    assert_eq!(answer.status, StatusCode::OK);
    let seen = fixture.origin.requests();
    assert_eq!((seen.len(), &seen[0].method, seen[0].body.len()), (1, &Method::OPTIONS, 0));
    assert_eq!(seen[0].headers["origin"], "https://app.example.com");
    assert_eq!(seen[0].headers["access-control-request-method"], "PUT");
    for dropped in
        ["cookie", "authorization", "x-api-key", "x-http-method-override", "content-type", "x-vestibule-pass"]
    {
        assert!(!seen[0].headers.contains_key(dropped), "{dropped}");
    }
    assert_eq!(fixture.counts().await, (0, 0));
}
