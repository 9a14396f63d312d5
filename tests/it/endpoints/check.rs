//! `check`: what a proxy in front asks.

use http::request::Builder;
use http::{Request, StatusCode};
use serde_json::json;
use vestibule_core::verify_pass;
use vestibule_tests::{GateOptions, TestResponse};

use crate::gate_fixture::{GateFixture, StoreSetup, direct_and_lambda, random_id, session_in, set_cookie};

direct_and_lambda! {
    a_check_can_return_the_queue_page,
    only_checked_navigations_join,
    a_check_of_an_unknown_host_returns_404,
    rules_apply_to_the_checked_request,
    method_of_the_checked_request_is_never_taken_for_another,
    a_check_passes_preflights_without_credentials_only,
    a_path_without_a_slash_returns_400,
    a_check_does_not_expose_cookie_tickets,
    ; by https:
    a_check_passes_and_names_the_session,
    a_check_returns_status_and_location,
    checks_accept_the_headers_of_each_proxy,
    odd_targets_go_through_admission_control,
    conflicting_targets_return_400,
}

fn asks(fixture: &GateFixture, uri: &str) -> Builder {
    let request = Request::get("/_vestibule/check").header("accept", "text/html");
    request
        .header("x-forwarded-host", &fixture.host)
        .header("x-forwarded-uri", uri)
        .header("x-forwarded-proto", "https")
}

async fn check(fixture: &GateFixture, request: Builder) -> TestResponse {
    vestibule_tests::Visitor::new(fixture.gate.address(), "gate.internal").request(request, "").await
}

async fn a_check_passes_and_names_the_session(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 1 })).await;
    let answer = check(&fixture, asks(&fixture, "/tour")).await;
    assert_eq!((answer.status, answer.body.len()), (StatusCode::OK, 0));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert!(set_cookie(&answer, &fixture.cookie_name()).unwrap().contains("; Secure"), "the visitor came by https");
    let session = answer.header("x-vestibule-session").unwrap();
    let keys = fixture.visitor().fetch("/_vestibule/jwks.json").await.json();
    let pass = answer.header("x-vestibule-pass").unwrap();
    let claims = verify_pass(&keys, pass, fixture.stats().await.now).unwrap();
    assert_eq!((claims.sub.to_string().as_str(), &claims.queue), (session, &fixture.queue));
    assert_eq!(fixture.counts().await, (0, 1));
}

async fn a_check_returns_status_and_location(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let answer = check(&fixture, asks(&fixture, "/tour?date=1%2F2&x")).await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
    let address = format!("https://{}/tour?date=1%2F2&x", fixture.host);
    assert_eq!(answer.header("x-vestibule-location"), Some(address.as_str()));
    assert_eq!((&answer.json()["state"], &answer.json()["position"]), (&json!("waiting"), &json!(1)));
    assert!(set_cookie(&answer, &fixture.cookie_name()).is_some());
    assert!(answer.header("x-vestibule-new-ticket").is_some(), "for the gate that shows the page");
    assert!(answer.header("x-vestibule-pass").is_none() && answer.header("x-vestibule-session").is_none());

    let ticket = answer.header("x-vestibule-new-ticket").unwrap();
    let page = fixture.visitor().with_header("x-vestibule-ticket", ticket).navigate("/tour").await;
    assert_eq!(page.status, StatusCode::OK);
    assert_eq!((fixture.counts().await, fixture.stats().await.counters.joined), ((1, 0), 1), "counted twice");
}

async fn a_check_can_return_the_queue_page(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let with_page = |accept: &str| {
        let request = Request::get("/_vestibule/check?page=true").header("accept", accept);
        request.header("x-forwarded-host", &fixture.host).header("x-forwarded-uri", "/tour")
    };
    let page = check(&fixture, with_page("text/html")).await;
    assert_eq!(page.status, StatusCode::UNAUTHORIZED);
    assert!(page.text().contains("Acme tour"));
    let data = check(&fixture, with_page("application/json")).await;
    assert_eq!((data.status, &data.json()["state"]), (StatusCode::UNAUTHORIZED, &json!("waiting")));
}

async fn checks_accept_the_headers_of_each_proxy(setup: StoreSetup) {
    let fixture =
        GateFixture::open(setup, json!({ "rules": [{ "action": "queue", "path": "/tour", "method": "GET" }] })).await;
    let request = || Request::get("/_vestibule/check").header("accept", "text/html");
    let host = &fixture.host;
    for (what, request) in [
        ("url", request().header("x-original-url", format!("https://{host}/tour?a=1"))),
        ("path", request().header("x-original-url", "/tour").header("x-forwarded-host", host)),
        ("uri", request().header("x-forwarded-uri", "/tour").header("x-forwarded-host", format!("{host}:8443"))),
        (
            "head",
            request()
                .header("x-forwarded-uri", "/tour")
                .header("x-forwarded-host", host)
                .header("x-forwarded-method", "GET"),
        ),
    ] {
        assert_eq!(check(&fixture, request).await.status, StatusCode::UNAUTHORIZED, "{what}");
    }
    let other = asks(&fixture, "/tour").header("x-forwarded-method", "POST");
    assert_eq!(check(&fixture, other).await.status, StatusCode::OK, "the rule is for GET");
    let own_host = vestibule_tests::Visitor::new(fixture.gate.address(), host)
        .request(request().header("x-forwarded-uri", "/tour"), "")
        .await;
    assert_eq!(own_host.status, StatusCode::UNAUTHORIZED, "the host that was asked counts where no other is named");
}

async fn odd_targets_go_through_admission_control(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "rules": [{ "action": "queue", "path": "/checkout/**" }] })).await;
    for target in
        ["/checkout/pay?<", "/checkout/<pay>", "/checkout/`", "/checkout/p\u{e4}y", "/checkout/%ff", "//checkout/x"]
    {
        for url in [target.to_owned(), format!("https://{}{target}", fixture.host)] {
            let request = Request::get("/_vestibule/check").header("accept", "text/html");
            let request = request.header("x-forwarded-host", &fixture.host);
            let value = http::HeaderValue::from_bytes(url.as_bytes()).unwrap();
            let name = if url.starts_with('/') { "x-forwarded-uri" } else { "x-original-url" };
            let answer = check(&fixture, request.header(name, value)).await;
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{name}: {url} slipped past its rule");
        }
    }
}

async fn only_checked_navigations_join(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 3 })).await;
    for (name, value) in [
        ("x-forwarded-method", "POST"),
        ("x-forwarded-method", "HEAD"),
        ("x-original-method", "POST"),
        ("sec-purpose", "prefetch"),
        ("sec-fetch-mode", "cors"),
    ] {
        let answer = check(&fixture, asks(&fixture, "/").header(name, value)).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{name}: {value}");
    }
    assert_eq!(fixture.counts().await, (0, 0));
    let preflight = asks(&fixture, "/").header("x-forwarded-method", "OPTIONS").header("origin", "https://a.example");
    let answer = check(&fixture, preflight.header("access-control-request-method", "PUT")).await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "the gate answers it, where the proxy sends whoever waits");
}

async fn a_check_passes_preflights_without_credentials_only(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "handover": { "kind": "check", "preflights": "forward" } })).await;
    let preflight = || {
        let request = asks(&fixture, "/").header("x-forwarded-method", "OPTIONS").header("origin", "https://a.example");
        request.header("access-control-request-method", "PUT")
    };
    let answer = check(&fixture, preflight()).await;
    assert_eq!((answer.status, answer.header("x-vestibule-bypass")), (StatusCode::OK, Some("rule")));
    assert!(answer.header("x-vestibule-pass").is_none());
    for (name, value) in [
        ("cookie", "a=1"),
        ("authorization", "x"),
        ("x-http-method-override", "POST"),
        ("x-http-method", "POST"),
        ("x_method", "POST"),
        ("content-length", "9"),
    ] {
        let request = if name == "content-length" { preflight() } else { preflight().header(name, value) };
        let body = if name == "content-length" { "buy=12345" } else { "" };
        let visitor = vestibule_tests::Visitor::new(fixture.gate.address(), "gate.internal");
        let answer = visitor.clone().request(request, body).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{name}");
    }
}

async fn a_path_without_a_slash_returns_400(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    for uri in ["@evil.example/", "evil", "*", ":443/"] {
        let answer = check(&fixture, asks(&fixture, uri)).await;
        assert_eq!((answer.status, answer.header("x-vestibule-location")), (StatusCode::BAD_REQUEST, None), "{uri}");
    }
}

async fn a_check_does_not_expose_cookie_tickets(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    let answer = visitor.request(asks(&fixture, "/tour"), "").await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
    assert!(set_cookie(&answer, &fixture.cookie_name()).is_some());
    assert_eq!((answer.header("x-vestibule-ticket"), answer.header("x-vestibule-new-ticket")), (None, None));
}

async fn a_check_of_an_unknown_host_returns_404(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 3 })).await;
    let to = |host: &str| Request::get("/_vestibule/check").header("x-forwarded-host", host);
    let unknown = check(&fixture, to(&format!("{}.example.org", random_id()))).await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
    for bad in ["a b", "user@host", "..", ""] {
        assert_eq!(check(&fixture, to(bad)).await.status, StatusCode::BAD_REQUEST, "{bad:?}");
    }
}

async fn rules_apply_to_the_checked_request(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "rules": [{ "action": "bypass", "path": "/static/**" }] })).await;
    let passed = check(&fixture, asks(&fixture, "/static/app.js")).await;
    assert_eq!(passed.status, StatusCode::OK);
    assert!(passed.header("x-vestibule-session").is_none());
    assert_eq!(check(&fixture, asks(&fixture, "/static/..%2ftour")).await.status, StatusCode::UNAUTHORIZED);
    let session = session_in(&check(&fixture, asks(&fixture, "/tour")).await);
    assert_eq!(session.to_string().len(), 36);
}

async fn method_of_the_checked_request_is_never_taken_for_another(setup: StoreSetup) {
    let rules = json!([{ "action": "bypass", "method": "GET" }, { "action": "queue", "method": "POST" }]);
    let fixture = GateFixture::open(setup, json!({ "rules": rules })).await;
    for (method, status) in [
        ("GET", StatusCode::OK),
        ("POST", StatusCode::UNAUTHORIZED),
        ("post", StatusCode::UNAUTHORIZED),
        ("PO ST", StatusCode::BAD_REQUEST),
        ("", StatusCode::BAD_REQUEST),
    ] {
        let answer = check(&fixture, asks(&fixture, "/tour").header("x-forwarded-method", method)).await;
        assert_eq!(answer.status, status, "{method:?}");
    }
}

async fn conflicting_targets_return_400(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "rules": [{ "action": "bypass", "path": "/static/**" }] })).await;
    // A proxy hands on what it does not set itself, so the visitor may have written the other one.
    let url = format!("https://{}/static/x", fixture.host);
    let forged = check(&fixture, asks(&fixture, "/tour").header("x-original-url", url)).await;
    assert!(forged.status.is_client_error(), "{}", forged.status);
    let forged = check(&fixture, asks(&fixture, "/static/x").header("x-original-url", "/tour")).await;
    assert!(forged.status.is_client_error(), "{}", forged.status);
    let forged = check(&fixture, asks(&fixture, "/tour").header("x-original-url", "https://other.example/tour")).await;
    assert!(forged.status.is_client_error(), "{}", forged.status);
    let methods = asks(&fixture, "/tour").header("x-original-method", "GET").header("x-forwarded-method", "OPTIONS");
    let forged = check(&fixture, methods.header("origin", "x").header("access-control-request-method", "GET")).await;
    assert!(forged.status.is_client_error(), "{}", forged.status);
    let url = format!("https://{}/tour", fixture.host);
    for (name, first, second) in [
        ("x-forwarded-uri", "/static/x", "/tour"),
        ("x-forwarded-host", "other.example", &fixture.host),
        ("x-forwarded-method", "OPTIONS", "GET"),
        ("x-original-method", "OPTIONS", "GET"),
        ("x-original-url", "/static/x", &url),
    ] {
        let mut twice = asks(&fixture, "/tour");
        twice.headers_mut().unwrap().insert(name, first.parse().unwrap());
        let forged = check(&fixture, twice.header(name, second)).await;
        assert_eq!(forged.status, StatusCode::BAD_REQUEST, "{name}");
        assert_eq!(forged.json()["code"], "conflicting_headers", "{name}");
        let field = forged.json()["errors"][0]["field"].as_str().unwrap().to_lowercase();
        assert!(field.contains(name), "{name}: {field}");
    }
    let other_scheme = asks(&fixture, "/tour").header("x-original-url", format!("http://{}/tour", fixture.host));
    let forged = check(&fixture, other_scheme).await;
    assert_eq!((forged.status, &forged.json()["code"]), (StatusCode::BAD_REQUEST, &"conflicting_headers".into()));
    assert_eq!(forged.json()["params"], json!({ "headers": ["X-Original-URL", "X-Forwarded-Proto"] }));
    for (name, value) in [("x-original-url", "/static/x"), ("x-forwarded-uri", "/static/x")] {
        let agreed = check(&fixture, asks(&fixture, "/static/x").header(name, value)).await;
        assert_eq!(agreed.status, StatusCode::OK, "{name}");
    }
}

#[tokio::test]
async fn one_scheme_decides_about_address_and_cookie() {
    let options = GateOptions { trusted_proxies: 1, ..GateOptions::default() };
    let fixture = GateFixture::open_with(StoreSetup::memory(), json!({}), options).await;
    let asked = |name: &str, value: String| {
        let request = Request::get("/_vestibule/check").header("accept", "text/html");
        let request = if name == "x-original-url" { request } else { request.header("x-forwarded-uri", "/tour") };
        request.header("x-forwarded-host", &fixture.host).header(name, value)
    };
    for scheme in ["https", "HTTPS", "https, https", "wss"] {
        let answer = check(&fixture, asked("x-forwarded-proto", scheme.to_owned())).await;
        let location = answer.header("x-vestibule-location").unwrap();
        assert!(location.starts_with("https://"), "{scheme}: {location}");
        let cookie = set_cookie(&answer, &fixture.cookie_name()).unwrap();
        assert!(cookie.starts_with("__Host-") && cookie.contains("; Secure"), "{scheme}: {cookie}");
    }
    let conflict = check(&fixture, asked("x-forwarded-proto", "http, https".to_owned())).await;
    assert_eq!((conflict.status, &conflict.json()["code"]), (StatusCode::BAD_REQUEST, &"conflicting_headers".into()));
    for (scheme, is_secure) in [("https", true), ("HTTPS", true), ("http", false)] {
        let answer = check(&fixture, asked("x-original-url", format!("{scheme}://{}/tour", fixture.host))).await;
        let location = answer.header("x-vestibule-location").unwrap();
        assert_eq!(location.starts_with("https://"), is_secure, "{scheme}: {location}");
        // Other endpoints may not learn of the scheme.
        let cookie = set_cookie(&answer, &fixture.cookie_name()).unwrap();
        assert_eq!((cookie.contains("; Secure"), cookie.contains("__Host-")), (is_secure, false), "{scheme}: {cookie}");
    }
}
