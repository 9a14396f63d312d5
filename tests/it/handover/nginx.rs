//! Handover by check, with an nginx in front as the documentation shows it.

use http::{Request, StatusCode};
use serde_json::json;
use vestibule_core::verify_pass;
use vestibule_tests::{GateOptions, Nginx, Visitor};

use crate::gate_fixture::{GateFixture, StoreSetup, direct_and_lambda, set_cookie};

direct_and_lambda! {
    nginx_shows_the_queue_page_and_joins_once,
    nginx_passes_admitted_visitors_with_a_pass,
    nginx_returns_401_to_waiting_subresources,
    visitors_cannot_change_what_nginx_checks,
    ticket_header_skips_no_pre_ticket,
    apps_keep_their_session_behind_nginx,
    nginx_keeps_responses_with_tickets_private,
    visitors_cannot_write_headers_of_the_gate,
}

/// What the documentation tells people to put into their configuration, around these two upstreams.
pub(crate) fn server(gate: &str, origin: &str) -> String {
    let documentation = include_str!("../../../docs/integrate.md");
    let block = documentation.split("```nginx").nth(1).unwrap().split("```").next().unwrap();
    let settings = block.replace("http://vestibule", gate).replace("http://site", origin);
    let (maps, locations) = settings.split_once("# In the server block:").unwrap();
    format!("{maps} server {{ listen 127.0.0.1:{{port}}; {locations} }}")
}

async fn open(setup: StoreSetup, quota: u64) -> (GateFixture, Nginx) {
    let fixture = open_gate(setup, quota).await;
    let nginx = in_front(&fixture, &fixture.origin.url()).await;
    (fixture, nginx)
}

async fn open_gate(setup: StoreSetup, quota: u64) -> GateFixture {
    let options = GateOptions { trusted_proxies: 1, ..GateOptions::default() };
    let rules = json!([{ "action": "bypass", "path": "/static/**" }, { "action": "bypass", "method": "TRACE" }]);
    let changes = json!({ "quota": quota, "handover": { "kind": "check" }, "rules": rules });
    GateFixture::open_with(setup, changes, options).await
}

async fn in_front(fixture: &GateFixture, site: &str) -> Nginx {
    let gate = format!("http://{}", fixture.gate.address());
    Nginx::start(&server(&gate, site)).await
}

async fn nginx_shows_the_queue_page_and_joins_once(setup: StoreSetup) {
    let (fixture, nginx) = open(setup, 0).await;
    let mut visitor = Visitor::new(&nginx.address(), &fixture.host);
    let page = visitor.navigate("/tour?a=1").await;
    assert_eq!(page.status, StatusCode::OK, "{}", nginx.errors());
    assert!(page.text().contains("Acme tour"), "{}", page.text());
    assert!(page.header("x-vestibule-ticket").is_none());
    assert!(visitor.cookie(&fixture.cookie_name()).is_some());
    visitor.navigate("/tour?a=1").await;
    assert_eq!(visitor.status(fixture.queue.as_str()).await.json()["position"], 1);
    assert_eq!((fixture.counts().await, fixture.stats().await.counters.joined), ((1, 0), 1), "counted twice");

    fixture.change(&json!({ "quota": 1 })).await;
    let through = visitor.navigate("/tour?a=1").await;
    assert!(through.text().contains("origin /tour"), "{}", through.text());
    assert_eq!(fixture.origin.requests().len(), 1);
    assert_eq!(fixture.stats().await.counters.joined, 1);
}

async fn nginx_passes_admitted_visitors_with_a_pass(setup: StoreSetup) {
    let (fixture, nginx) = open(setup, 1).await;
    let mut visitor = Visitor::new(&nginx.address(), &fixture.host);
    let answer = visitor.navigate("/echo?x=%20").await;
    let echo = answer.json();
    assert_eq!(echo["uri"], "/echo?x=%20");
    let keys = visitor.fetch("/_vestibule/jwks.json").await.json();
    let pass = echo["headers"]["x-vestibule-pass"].as_str().unwrap();
    verify_pass(&keys, pass, fixture.stats().await.now).unwrap();
    assert!(set_cookie(&answer, &fixture.cookie_name()).is_some(), "nginx hands the ticket on");
    for _ in 0..5 {
        assert_eq!(visitor.fetch("/echo").await.status, StatusCode::OK);
    }
    assert_eq!(fixture.stats().await.counters.joined, 1);
}

async fn nginx_returns_401_to_waiting_subresources(setup: StoreSetup) {
    let (fixture, nginx) = open(setup, 0).await;
    let mut visitor = Visitor::new(&nginx.address(), &fixture.host);
    let answer = visitor.request(Request::post("/pay").header("accept", "application/json"), "amount=1").await;
    assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(answer.json()["state"], "waiting");
    assert!(fixture.origin.requests().is_empty());
    assert_eq!(fixture.counts().await, (0, 0));
    assert!(visitor.fetch("/static/app.js").await.text().contains("origin /static/app.js"));
}

async fn visitors_cannot_change_what_nginx_checks(setup: StoreSetup) {
    let (fixture, nginx) = open(setup, 0).await;
    for (name, value) in [
        ("x-original-url", "/static/x"),
        ("x-forwarded-uri", "/static/x"),
        ("x-forwarded-method", "TRACE"),
        ("x-original-method", "TRACE"),
        ("x-forwarded-host", "other.example"),
        ("x-vestibule-pass", "forged"),
    ] {
        let answer = Visitor::new(&nginx.address(), &fixture.host).with_header(name, value).fetch("/tour").await;
        assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS, "{name}");
    }
    let direct = Visitor::new(&nginx.address(), &fixture.host).fetch("/_vestibule/check").await;
    assert_eq!(direct.status, StatusCode::NOT_FOUND, "the question is nginx's alone");
    for target in ["/tour?<", "/static/../tour", "/x/%2e%2e/tour"] {
        let (head, _) =
            crate::gate_fixture::raw(&nginx.address(), &crate::gate_fixture::navigation(target, &fixture.host, &[]))
                .await;
        assert!(!head.starts_with("http/1.1 5"), "{target}: {head}");
    }
    assert!(fixture.origin.requests().is_empty());
}

async fn ticket_header_skips_no_pre_ticket(setup: StoreSetup) {
    let (fixture, nginx) = open(setup, 0).await;
    fixture.change(&json!({ "protection": { "pre_ticket_from": 0 } })).await;
    let mut visitor = Visitor::new(&nginx.address(), &fixture.host).with_header("x-vestibule-ticket", "");
    let page = visitor.navigate("/tour").await;
    assert!(page.text().contains("One moment"), "{}", page.text());
    assert_eq!(fixture.counts().await, (0, 0), "nginx redeemed the pre-ticket in place of the visitor");
}

async fn apps_keep_their_session_behind_nginx(setup: StoreSetup) {
    let (fixture, nginx) = open(setup, 0).await;
    let app = || Visitor::new(&nginx.address(), &fixture.host);
    let status = app().with_header("x-vestibule-ticket", "").status(fixture.queue.as_str()).await;
    let ticket = status.header("x-vestibule-ticket").unwrap();
    let page = app().with_header("x-vestibule-ticket", ticket).navigate("/tour").await;
    assert!(page.text().contains("Acme tour"), "{}", page.text());
    assert_eq!(fixture.stats().await.counters.joined, 1);
}

async fn nginx_keeps_responses_with_tickets_private(setup: StoreSetup) {
    let fixture = open_gate(setup, 100).await;
    let answer =
        "add_header Cache-Control $arg_said; add_header Expires 'Thu, 01 Jan 2099 00:00:00 GMT'; return 200 page;";
    let site = Nginx::start(&format!("server {{ listen 127.0.0.1:{{port}}; location / {{ {answer} }} }}")).await;
    let nginx = in_front(&fixture, &format!("http://{}", site.address())).await;
    for (said, becomes) in [
        ("", "private"),
        ("public", "private"),
        ("public,s-maxage=60", "private"),
        ("public,max-age=60", "private, max-age=60"),
        ("no-cache", "private, no-cache"),
        ("private,max-age=5", "private,max-age=5"),
        ("no-store", "no-store"),
    ] {
        let mut visitor = Visitor::new(&nginx.address(), &fixture.host);
        let free = visitor.fetch(&format!("/static/app.js?said={said}")).await;
        assert_eq!((free.text(), set_cookie(&free, &fixture.cookie_name())), ("page", None), "{}", nginx.errors());
        assert_eq!(free.header("cache-control").unwrap_or_default(), said, "it carries no ticket");
        assert!(free.header("expires").is_some());
        let page = visitor.navigate(&format!("/tour?said={said}")).await;
        assert!(set_cookie(&page, &fixture.cookie_name()).is_some(), "{said}");
        assert_eq!((page.header("cache-control"), page.header("expires")), (Some(becomes), None), "{said}");
    }
}

async fn visitors_cannot_write_headers_of_the_gate(setup: StoreSetup) {
    let (fixture, nginx) = open(setup, 1).await;
    let mut visitor = Visitor::new(&nginx.address(), &fixture.host);
    visitor.navigate("/").await;
    for name in
        ["x-vestibule-bypass", "x-vestibule-ticket", "x-vestibule-invite", "x_vestibule_bypass", "x-vestibule_pass"]
    {
        let echo = visitor.clone().with_header(name, "forged").fetch("/echo").await.json();
        let headers = echo["headers"].as_object().unwrap();
        assert!(headers.contains_key("x-vestibule-pass") && !headers.contains_key(name), "{name}: {headers:?}");
    }
}
