//! Handover by redirect: path and query as they came, the pass in a cookie or in the address.

use http::StatusCode;
use serde_json::{Value, json};
use vestibule_core::verify_pass;
use vestibule_tests::TestResponse;

use crate::gate_fixture::{GateFixture, StoreSetup, direct_and_lambda, navigation, raw, set_cookie};

direct_and_lambda! {
    redirects_to_other_domains_have_the_pass_in_the_query,
    an_old_pass_in_the_address_is_replaced,
    the_pass_is_a_cookie_within_the_cookie_domain,
    the_pass_is_a_cookie_on_the_same_host,
    redirects_go_to_the_origin_only,
    enter_urls_of_odd_paths_stay_on_the_site,
    bypassed_requests_have_no_pass,
    the_pass_cookie_says_why_there_is_no_pass,
    ; differing:
    path_and_query_are_redirected_byte_for_byte: Query,
}

const ORIGIN: &str = "https://www.example.net";

async fn redirecting(setup: StoreSetup, changes: Value) -> GateFixture {
    let mut all = json!({ "quota": 100, "handover": { "kind": "redirect", "origin": ORIGIN } });
    all.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    GateFixture::open(setup, all).await
}

fn location(answer: &TestResponse) -> &str {
    assert_eq!(answer.status, StatusCode::FOUND);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    answer.header("location").unwrap()
}

async fn assert_good(fixture: &GateFixture, pass: &str) {
    let keys = fixture.visitor().fetch("/_vestibule/jwks.json").await.json();
    let claims = verify_pass(&keys, pass, fixture.stats().await.now).unwrap();
    assert_eq!(claims.queue, fixture.queue);
}

async fn redirects_to_other_domains_have_the_pass_in_the_query(setup: StoreSetup) {
    let fixture = redirecting(setup, json!({})).await;
    let answer = fixture.visitor().navigate("/tour?a=1").await;
    let (before, pass) = location(&answer).split_once("vestibule_pass=").unwrap();
    assert_eq!(before, format!("{ORIGIN}/tour?a=1&"));
    assert_good(&fixture, pass).await;
    assert!(set_cookie(&answer, &fixture.cookie_name()).is_some(), "the ticket is theirs");
    let late = fixture.stats().await.now.add_seconds(61);
    let keys = fixture.visitor().fetch("/_vestibule/jwks.json").await.json();
    assert!(verify_pass(&keys, pass, late).is_err(), "an address is copied, so its pass is short");
}

async fn path_and_query_are_redirected_byte_for_byte(setup: StoreSetup) {
    let fixture = redirecting(setup, json!({})).await;
    fixture.change(&json!({ "cookie_domain": "example.com" })).await;
    fixture.change(&json!({ "handover": { "kind": "redirect", "origin": "https://www.example.com" } })).await;
    for target in [
        "/",
        "/a%2Fb/%C3%A4?q=%20+x&y=1;2&&=&z",
        "/a//b/./c",
        "/tour?",
        "/?vestibule=1",
        "/a?next=https://evil.example/",
        "/a?b?c",
        "/;x=1/a,b:c@d!$'()*~",
    ] {
        let (head, _) = raw(fixture.gate.address(), &navigation(target, &fixture.host, &[])).await;
        let expected = format!("\r\nlocation: https://www.example.com{}\r\n", target.to_ascii_lowercase());
        assert!(head.contains(&expected), "{target}: {head}");
    }
}

async fn an_old_pass_in_the_address_is_replaced(setup: StoreSetup) {
    let fixture = redirecting(setup, json!({})).await;
    let answer = fixture.visitor().navigate("/a?x=1&vestibule_pass=old&y=%26").await;
    let location = location(&answer);
    assert!(location.starts_with(&format!("{ORIGIN}/a?x=1&y=%26&vestibule_pass=ey")), "{location}");
    assert_eq!(location.matches("vestibule_pass=").count(), 1);
}

async fn the_pass_is_a_cookie_within_the_cookie_domain(setup: StoreSetup) {
    let site = json!({ "kind": "redirect", "origin": "https://www.example.com" });
    let fixture = redirecting(setup, json!({ "cookie_domain": "example.com", "handover": site })).await;
    let answer = fixture.visitor().navigate("/tour").await;
    assert_eq!(location(&answer), "https://www.example.com/tour");
    let cookie = set_cookie(&answer, &format!("vestibule-pass_{}", fixture.queue)).unwrap();
    assert!(cookie.contains("; Domain=example.com") && cookie.contains("; HttpOnly"), "{cookie}");
    assert_good(&fixture, cookie.split(['=', ';']).nth(1).unwrap()).await;

    let elsewhere = json!({ "handover": { "kind": "redirect", "origin": "https://badexample.com" } });
    fixture.change(&elsewhere).await;
    let answer = fixture.visitor().navigate("/tour").await;
    assert!(location(&answer).contains("vestibule_pass="), "a name that only ends alike is another domain");
}

async fn the_pass_is_a_cookie_on_the_same_host(setup: StoreSetup) {
    let fixture = redirecting(setup, json!({})).await;
    let origin = format!("http://{}:3000", fixture.host);
    fixture.change(&json!({ "handover": { "kind": "redirect", "origin": origin } })).await;
    let answer = fixture.visitor().navigate("/tour?a=1").await;
    assert_eq!(location(&answer), format!("{origin}/tour?a=1"));
    assert!(set_cookie(&answer, &format!("vestibule-pass_{}", fixture.queue)).is_some());
}

async fn redirects_go_to_the_origin_only(setup: StoreSetup) {
    let fixture = redirecting(setup, json!({})).await;
    for target in
        ["//evil.example/x", "///evil.example", "/\\evil.example", "/@evil.example", "/.evil.example", "/%0d%0aX: y"]
    {
        let (head, _) = raw(fixture.gate.address(), &navigation(target, &fixture.host, &[])).await;
        let location = head.lines().find_map(|line| line.strip_prefix("location: "));
        if let Some(location) = location {
            assert!(location.starts_with(&format!("{ORIGIN}/")), "{target}: {location}");
        }
        assert!(!head.contains("\r\nx: y"), "{head}");
    }
    for (target, host, line) in [
        ("/", "evil.example", "A: b"),
        ("/", &fixture.host[..], "X-Forwarded-Host: evil.example"),
        ("/", &fixture.host[..], "Host: evil.example"),
        ("http://evil.example/", &fixture.host[..], "A: b"),
        ("/", &format!("{}@evil.example", fixture.host)[..], "A: b"),
    ] {
        let (head, _) = raw(fixture.gate.address(), &navigation(target, host, &[line])).await;
        assert!(!head.contains("evil.example"), "{target} {host} {line}: {head}");
    }
}

async fn enter_urls_of_odd_paths_stay_on_the_site(setup: StoreSetup) {
    let fixture = redirecting(setup, json!({ "quota": 0 })).await;
    for target in ["//evil.example/x", "/\\evil.example/x", "///evil.example"] {
        let (_, body) = raw(fixture.gate.address(), &navigation(target, &fixture.host, &[])).await;
        assert!(body.contains("data-vestibule"), "{target} shows no queue page");
        for link in ["href=\"//", "href=\"/\\", "\"enter_url\":\"//", "\"enter_url\":\"/\\\\"] {
            assert!(!body.contains(link), "{target} became a link to another site: {link}");
        }
    }
}

async fn bypassed_requests_have_no_pass(setup: StoreSetup) {
    let fixture = redirecting(setup, json!({ "rules": [{ "action": "bypass", "path": "/static/**" }] })).await;
    let answer = fixture.visitor().fetch("/static/app.js?v=1").await;
    assert_eq!(location(&answer), format!("{ORIGIN}/static/app.js?v=1"));
    assert_eq!(fixture.counts().await, (0, 0));
}

async fn the_pass_cookie_says_why_there_is_no_pass(setup: StoreSetup) {
    let rules = json!([{ "action": "bypass", "path": "/static/**" }]);
    let fixture = redirecting(setup, json!({ "rules": rules })).await;
    let origin = format!("http://{}:3000", fixture.host);
    fixture.change(&json!({ "handover": { "kind": "redirect", "origin": origin } })).await;
    let name = format!("vestibule-pass_{}", fixture.queue);
    let value = |answer: &TestResponse| Some(set_cookie(answer, &name)?.split(['=', ';']).nth(1)?.to_owned());
    let mut admitted = fixture.visitor();
    admitted.navigate("/tour").await;
    let answer = admitted.fetch("/static/app.js").await;
    assert_eq!((location(&answer), value(&answer)), (&*format!("{origin}/static/app.js"), None), "the pass stays");

    let mut other = fixture.visitor();
    let answer = other.fetch("/static/app.js").await;
    assert_eq!(value(&answer).as_deref(), Some("rule"));
    assert!(set_cookie(&answer, &name).unwrap().contains("; Max-Age=60;"), "as long as a pass");
    fixture.change(&json!({ "mode": "bypass" })).await;
    assert_eq!(value(&fixture.visitor().navigate("/tour").await).as_deref(), Some("mode"));
    let mut bypassing = fixture.visitor();
    for _ in 0..2 {
        let answer = bypassing.keepalive(fixture.queue.as_str()).await;
        assert_eq!(value(&answer).as_deref(), Some("mode"), "keepalives renew it");
    }
}
