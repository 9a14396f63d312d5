//! Which requests meet the queue, however they are spelled.

use http::{Request, StatusCode};
use serde_json::{Value, json};
use vestibule_tests::{GateOptions, Origin, Visitor};

use crate::gate_fixture::{GateFixture, StoreSetup, direct_and_lambda, navigation, random_id, raw};

direct_and_lambda! {
    every_spelling_of_a_path_matches_its_rule,
    unmatched_requests_pass,
    a_query_is_no_path,
    a_bypass_rule_matches_the_exact_value,
    rules_can_bypass_by_method,
    source_rules_match_the_peer_address,
    forwarded_for_is_ignored_without_trusted_proxies,
    source_rules_use_the_trusted_proxy_address,
    two_queues_of_a_host_match_by_rule,
    exact_hosts_precede_wildcards,
}

async fn waits(fixture: &GateFixture, target: &str, lines: &[&str]) -> bool {
    let before = fixture.origin.requests().len();
    raw(fixture.gate.address(), &navigation(target, &fixture.host, lines)).await;
    fixture.origin.requests().len() == before
}

fn only_checkout() -> Value {
    json!({ "rules": [{ "action": "queue", "path": "/checkout/**" }] })
}

async fn every_spelling_of_a_path_matches_its_rule(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, only_checkout()).await;
    for target in [
        "/checkout/pay",
        "/Checkout/PAY",
        "//checkout//pay",
        "/checkout%2Fpay",
        "/%63heckout/pay",
        "/%2563heckout/pay",
        "/x/../checkout/pay",
        "/x/%2e%2e/checkout/pay",
        "/%2e/checkout/pay",
        "/checkout;jsessionid=1/pay",
        "/;x/checkout/pay",
        "/checkout",
        "/checkout/",
        "/checkout/?a=/static/x",
        "/checkout\\pay",
    ] {
        assert!(waits(&fixture, target, &[]).await, "{target} slipped past");
    }
    assert!(waits(&fixture, &format!("http://{}/checkout/pay", fixture.host), &[]).await, "absolute form slipped past");
}

async fn unmatched_requests_pass(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, only_checkout()).await;
    for target in ["/", "/static/app.js", "/checkouts", "/a/checkout/pay"] {
        assert!(!waits(&fixture, target, &[]).await, "{target} waits");
    }
    assert_eq!(fixture.counts().await, (0, 0), "who passes by a rule is nobody's session");
}

async fn a_query_is_no_path(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "rules": [{ "action": "bypass", "path": "/static/**" }] })).await;
    for target in
        ["/tour?/static/x", "/tour?path=/static/x", "/tour;/static/x", "/static/../tour", "/static/%2e%2e/tour"]
    {
        assert!(waits(&fixture, target, &[]).await, "{target} slipped past");
    }
    assert!(!waits(&fixture, "/static/app.js?v=1", &[]).await);
}

async fn a_bypass_rule_matches_the_exact_value(setup: StoreSetup) {
    let rules = json!([
        { "action": "bypass", "header": { "name": "X-Monitor", "value": "s3cret" } },
        { "action": "bypass", "cookie": { "name": "staff", "value": "yes-42" } },
    ]);
    let fixture = GateFixture::open(setup, json!({ "rules": rules })).await;
    for line in ["X-Monitor: ", "X-Monitor: s3cre", "X-Monitor: s3cret2", "X-Monitor: S3CRET", "X-Monitor: a, s3cret"] {
        assert!(waits(&fixture, "/", &[line]).await, "{line}");
    }
    for line in
        ["Cookie: staff=", "Cookie: staff", "Cookie: staff=yes", "Cookie: Staff=yes-42", "Cookie: a=staff=yes-42"]
    {
        assert!(waits(&fixture, "/", &[line]).await, "{line}");
    }
    for line in ["X-Monitor: s3cret", "x-monitor: s3cret", "Cookie: a=1; staff=yes-42"] {
        assert!(!waits(&fixture, "/", &[line]).await, "{line}");
    }
}

/// Of several values, the origin may use any.
#[tokio::test]
async fn each_value_of_a_header_or_cookie_counts() {
    let conditions =
        [json!({ "header": { "name": "X-App", "value": "b" } }), json!({ "cookie": { "name": "app", "value": "b" } })];
    for condition in conditions {
        let rules_of = |action: &str| {
            let mut rule = condition.clone();
            rule["action"] = json!(action);
            json!({ "rules": [rule] })
        };
        let queues = GateFixture::open(StoreSetup::memory(), rules_of("queue")).await;
        let bypasses = GateFixture::open(StoreSetup::memory(), rules_of("bypass")).await;
        for (values, is_queued, is_bypassed) in [
            (&["b"][..], true, true),
            (&["a", "b"], true, false),
            (&["b", "a"], true, false),
            (&["b", "\u{e4}"], true, false),
            (&["b", "b"], true, true),
            (&["a"], false, false),
            (&[], false, false),
        ] {
            let name = if condition.get("header").is_some() { "X-App: " } else { "Cookie: app=" };
            let lines: Vec<String> = values.iter().map(|value| format!("{name}{value}")).collect();
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            assert_eq!(waits(&queues, "/", &lines).await, is_queued, "queue: {lines:?}");
            assert_eq!(!waits(&bypasses, "/", &lines).await, is_bypassed, "bypass: {lines:?}");
        }
    }
    let queues = GateFixture::open(
        StoreSetup::memory(),
        json!({ "rules": [{ "action": "queue", "cookie": { "name": "app", "value": "b" } }] }),
    )
    .await;
    assert!(waits(&queues, "/", &["Cookie: app=a; app=b"]).await);
}

async fn rules_can_bypass_by_method(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "rules": [{ "action": "bypass", "method": "OPTIONS" }] })).await;
    assert_eq!(fixture.visitor().request(Request::options("/"), "").await.status, StatusCode::OK);
    assert_eq!(fixture.visitor().fetch("/").await.status, StatusCode::TOO_MANY_REQUESTS);
    let odd = Request::builder().method("options").uri("/");
    assert_eq!(fixture.visitor().request(odd, "").await.status, StatusCode::TOO_MANY_REQUESTS, "methods have a case");
}

fn from_office() -> Value {
    json!({ "rules": [{ "action": "bypass", "source": "203.0.113.0/24" }] })
}

async fn source_rules_match_the_peer_address(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "rules": [{ "action": "bypass", "source": "127.0.0.0/8" }] })).await;
    assert!(!waits(&fixture, "/", &[]).await);
    assert!(!waits(&fixture, "/", &["X-Forwarded-For: 198.51.100.1"]).await, "the peer counts, not what it says");
}

async fn forwarded_for_is_ignored_without_trusted_proxies(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, from_office()).await;
    for line in ["X-Forwarded-For: 203.0.113.9", "X-Real-IP: 203.0.113.9", "Forwarded: for=203.0.113.9"] {
        assert!(waits(&fixture, "/", &[line]).await, "{line}");
    }
}

async fn source_rules_use_the_trusted_proxy_address(setup: StoreSetup) {
    let options = GateOptions { trusted_proxies: 2, ..GateOptions::default() };
    let fixture = GateFixture::open_with(setup, from_office(), options).await;
    let from = |way: &str| format!("X-Forwarded-For: {way}");
    assert!(!waits(&fixture, "/", &[&from("203.0.113.9, 10.0.0.1")]).await);
    assert!(!waits(&fixture, "/", &[&from("198.51.100.1, 203.0.113.9, 10.0.0.1")]).await);
    assert!(!waits(&fixture, "/", &[&from("203.0.113.9:4711"), &from("10.0.0.1")]).await);
    for way in ["203.0.113.9", "203.0.113.9, 198.51.100.1, 10.0.0.1", "10.0.0.1, 203.0.113.9", "garbage, 10.0.0.1", ""]
    {
        assert!(waits(&fixture, "/", &[&from(way)]).await, "{way}");
    }
    assert!(waits(&fixture, "/", &[]).await);
}

async fn two_queues_of_a_host_match_by_rule(setup: StoreSetup) {
    let origin = Origin::start();
    let (id, host) = (random_id(), format!("{}.example.com", random_id()));
    let queue = |letter: char, path: &str| {
        json!({
            "id": format!("{id}-{letter}"), "tenant": "acme", "hosts": [host], "quota": 0,
            "rules": [{ "action": "queue", "path": path }],
            "handover": { "kind": "proxy", "origin": origin.url() }, "protection": { "pre_ticket_from": "none" },
        })
    };
    let queues = json!([queue('a', "/tour/**"), queue('b', "/merch/**")]);
    let document = json!({ "tenants": [{ "id": "acme", "name": "Acme" }], "queues": queues });
    let gate = setup.gate(&document, GateOptions::default()).await;
    let mut visitor = Visitor::new(gate.address(), &host);
    for path in ["/tour/1", "/tour/2", "/merch/1"] {
        visitor.navigate(path).await;
    }
    assert_eq!(visitor.fetch("/tour/1").await.json()["queue"], format!("{id}-a"));
    assert_eq!(visitor.fetch("/merch/1").await.json()["queue"], format!("{id}-b"));
    for letter in ['a', 'b'] {
        let stats = gate.store().stats(&format!("{id}-{letter}").parse().unwrap()).await.unwrap();
        assert_eq!((stats.waiting, stats.counters.joined), (1, 1), "{letter}");
    }
    assert!(visitor.navigate("/about").await.text().contains("origin /about"));
    // Its end is that of the other queue.
    let long = visitor.fetch(&format!("{}/merch/1", "/.".repeat(2_100))).await;
    assert_eq!((long.status, &long.json()["code"]), (StatusCode::BAD_REQUEST, &"ambiguous_path".into()));
    // The origin may take it for a page of the other queue.
    let spelled = visitor.fetch("/tour/..%2fmerch/1").await;
    assert_eq!((spelled.status, &spelled.json()["code"]), (StatusCode::BAD_REQUEST, &"ambiguous_path".into()));
    let asked = Request::get("/_vestibule/check").header("x-forwarded-uri", "/tour/..%2fmerch/1");
    let checked = visitor.request(asked, "").await;
    assert_eq!(checked.status, StatusCode::FORBIDDEN, "nginx makes 500 of a 400");
    assert_eq!((&checked.json()["status"], &checked.json()["title"]), (&json!(403), &json!("Forbidden")));
    let unnamed = visitor.fetch("/_vestibule/status").await;
    assert_eq!(unnamed.status, StatusCode::NOT_FOUND, "of two queues one must be named");
}

async fn exact_hosts_precede_wildcards(setup: StoreSetup) {
    let origin = Origin::start();
    let (id, domain) = (random_id(), format!("{}.example.com", random_id()));
    let queue = |letter: char, host: String| {
        json!({
            "id": format!("{id}-{letter}"), "tenant": "acme", "hosts": [host], "quota": 0,
            "handover": { "kind": "proxy", "origin": origin.url() }, "protection": { "pre_ticket_from": "none" },
        })
    };
    let queues = json!([queue('a', format!("*.{domain}")), queue('b', format!("tickets.{domain}"))]);
    let document = json!({ "tenants": [{ "id": "acme", "name": "Acme" }], "queues": queues });
    let gate = setup.gate(&document, GateOptions::default()).await;
    for (host, letter) in
        [(format!("tickets.{domain}"), 'b'), (format!("shop.{domain}"), 'a'), (format!("a.b.{domain}"), 'a')]
    {
        let visitor_status = Visitor::new(gate.address(), &host).fetch("/").await.json();
        assert_eq!(visitor_status["queue"], format!("{id}-{letter}"), "{host}");
    }
    let bare = Visitor::new(gate.address(), &domain).fetch("/").await;
    assert_eq!(bare.status, StatusCode::NOT_FOUND, "a wildcard means names below");
}
