//! Which cookie holds the ticket, and who may read it.

use http::Request;
use serde_json::{Value, json};
use vestibule_tests::{GateOptions, Visitor};

use crate::gate_fixture::{GateFixture, StoreSetup, session_in};

async fn behind_tls(changes: Value) -> GateFixture {
    let options = GateOptions { trusted_proxies: 1, ..GateOptions::default() };
    GateFixture::open_with(StoreSetup::memory(), changes, options).await
}

fn with_https(fixture: &GateFixture) -> Visitor {
    fixture.visitor().with_header("x-forwarded-proto", "https")
}

fn host_only(fixture: &GateFixture) -> String {
    format!("__Host-{}", fixture.cookie_name())
}

#[tokio::test]
async fn https_tickets_have_the_host_prefix() {
    let fixture = behind_tls(json!({})).await;
    let answer = with_https(&fixture).navigate("/").await;
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.starts_with(&format!("{}=", host_only(&fixture))), "{cookie}");
    assert!(cookie.contains("; Path=/;") && cookie.ends_with("; Secure") && !cookie.contains("Domain"), "{cookie}");
    let plain = fixture.visitor().navigate("/").await;
    assert!(plain.header("set-cookie").unwrap().starts_with(&format!("{}=", fixture.cookie_name())));
    let shared = behind_tls(json!({ "cookie_domain": "example.com" })).await;
    let answer = with_https(&shared).navigate("/").await;
    assert!(answer.header("set-cookie").unwrap().starts_with(&format!("{}=", shared.cookie_name())));
}

#[tokio::test]
async fn cookies_of_other_hosts_do_not_replace_the_ticket() {
    let fixture = behind_tls(json!({})).await;
    let mut visitor = with_https(&fixture);
    visitor.navigate("/").await;
    let own = session_in(&visitor.fetch("/").await);
    fixture.advance_seconds(1);
    let mut attacker = fixture.visitor();
    attacker.navigate("/").await;
    visitor.set_cookie(&fixture.cookie_name(), attacker.cookie(&fixture.cookie_name()).unwrap());
    assert_eq!(session_in(&visitor.fetch("/").await), own, "the ticket signed last was set by another host");
    let left = visitor.leave(fixture.queue.as_str()).await;
    assert_eq!(left.headers.get_all("set-cookie").iter().count(), 2, "both cookies go");
    assert_eq!(visitor.cookie(&host_only(&fixture)).or(visitor.cookie(&fixture.cookie_name())), None);
}

#[tokio::test]
async fn planted_cookie_is_no_ticket_over_https() {
    for (changes, counts_over_https) in [(json!({}), false), (json!({ "cookie_domain": "example.com" }), true)] {
        let fixture = behind_tls(changes).await;
        let mut attacker = fixture.visitor();
        attacker.navigate("/").await;
        let planted = session_in(&attacker.fetch("/").await);
        let ticket = attacker.cookie(&fixture.cookie_name()).unwrap().to_owned();
        for (visitor, counts) in [(with_https(&fixture), counts_over_https), (fixture.visitor(), true)] {
            let mut visitor = visitor;
            visitor.set_cookie(&fixture.cookie_name(), &ticket);
            let has_session = visitor.fetch("/").await.json()["session"] == json!(planted.to_string());
            assert_eq!(has_session, counts, "a request that joins nobody");
            visitor.navigate("/").await;
            assert_eq!(session_in(&visitor.fetch("/").await) == planted, counts);
        }
        let mut app = with_https(&fixture).with_header("x-vestibule-ticket", &ticket);
        assert_eq!(session_in(&app.fetch("/").await), planted, "no other host can set the header");
    }
}

#[tokio::test]
async fn void_ticket_of_another_host_keeps_nobody_from_joining() {
    let fixture = behind_tls(json!({ "protection": { "pre_ticket_from": 0 } })).await;
    let mut attacker = fixture.visitor();
    attacker.navigate("/").await;
    attacker.navigate("/").await;
    let void = attacker.cookie(&fixture.cookie_name()).unwrap().to_owned();
    attacker.leave(fixture.queue.as_str()).await;
    let mut visitor = with_https(&fixture);
    visitor.set_cookie(&fixture.cookie_name(), &void);
    let first = visitor.navigate("/").await;
    assert!(first.header("set-cookie").unwrap().starts_with(&format!("{}=", host_only(&fixture))), "a pre-ticket");
    assert_eq!(visitor.status(fixture.queue.as_str()).await.json()["position"], 1);
    assert_eq!(visitor.status(fixture.queue.as_str()).await.json()["position"], 1, "the void ticket is still there");
}

#[tokio::test]
async fn ticket_of_another_host_replaces_no_pre_ticket() {
    let fixture = behind_tls(json!({ "protection": { "pre_ticket_from": 0 } })).await;
    let mut attacker = fixture.visitor();
    attacker.navigate("/").await;
    attacker.navigate("/").await;
    let session = attacker.status(fixture.queue.as_str()).await.json()["session"].clone();
    let mut visitor = with_https(&fixture);
    visitor.navigate("/").await;
    visitor.set_cookie(&fixture.cookie_name(), attacker.cookie(&fixture.cookie_name()).unwrap());
    visitor.leave(fixture.queue.as_str()).await;
    let still = attacker.status(fixture.queue.as_str()).await.json();
    assert_eq!((&still["session"], &still["position"]), (&session, &json!(1)), "it was not the visitor's");
}

#[tokio::test]
async fn many_cookies_of_one_name_hide_no_ticket() {
    let fixture = behind_tls(json!({})).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    let own = session_in(&visitor.fetch("/").await);
    let (name, ticket) = (fixture.cookie_name(), visitor.cookie(&fixture.cookie_name()).unwrap());
    let cookies = format!("{}{name}={ticket}", format!("{name}=junk; ").repeat(40));
    let request = Request::get("/").header("cookie", cookies);
    assert_eq!(session_in(&fixture.visitor().request(request, "").await), own);
}

#[tokio::test]
async fn cookie_tickets_are_renewed_by_cookie_only() {
    let fixture = behind_tls(json!({})).await;
    let mut app = fixture.visitor().with_header("x-vestibule-ticket", "");
    let joined = app.status(fixture.queue.as_str()).await;
    let ticket = joined.header("x-vestibule-ticket").unwrap().to_owned();
    for header in ["", "junk", &ticket] {
        let mut browser = app.clone().with_header("x-vestibule-ticket", header);
        let answer = browser.status(fixture.queue.as_str()).await;
        assert_eq!(session_in(&answer), session_in(&joined));
        assert_eq!(answer.header("x-vestibule-ticket"), None, "scripts could read it");
    }
    let answer = fixture.visitor().with_header("x-vestibule-ticket", &ticket).status(fixture.queue.as_str()).await;
    assert_eq!(session_in(&answer), session_in(&joined));
    assert!(answer.header("x-vestibule-ticket").is_some());
}
