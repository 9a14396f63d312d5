//! Whatever a visitor sends as a ticket is never an error.

use http::{HeaderValue, Request, StatusCode};
use serde_json::json;
use vestibule_core::line::{Line, LineRules, SessionState, Visit, VisitAnswer};
use vestibule_core::{KeyList, Micros, QueueId, SessionId, ShownStatus, TicketOrigin, TicketSigner};
use vestibule_tests::{GateUnderTest, TestResponse};

use crate::gate_fixture::{GateFixture, StoreSetup, direct_and_lambda, session_in, set_cookie};

direct_and_lambda! {
    forged_ticket_joins_at_the_end,
    tickets_of_other_queues_are_rejected,
    tickets_of_an_old_epoch_are_rejected,
    tickets_older_than_hold_ttl_are_rejected,
    malformed_cookie_headers_do_not_prevent_joining,
    the_ticket_is_found_among_all_other_cookies,
    latest_of_two_tickets_is_used,
}

/// The ticket of a session that nobody has: at the head of every line.
fn sign(keys: &KeyList, queue: &QueueId, now: Micros, id: SessionId) -> String {
    let arrival = Micros(1_000_000);
    let session = SessionState { id, arrival, admitted_at: None, position: 1, expires_at: Micros(0), confirmed: true };
    let answer = Line::new(LineRules::with_quota(1), now, false).visit(now, &Visit::default());
    let answer = VisitAnswer { session: Some(session), ..answer };
    let shown = ShownStatus { position: Some(1), ..ShownStatus::default() };
    TicketSigner::new(keys).unwrap().sign(queue, &answer, shown, TicketOrigin::default()).unwrap()
}

/// The parts of a token, its claims changed.
fn changed(ticket: &str, change: impl Fn(&str) -> String) -> String {
    let [header, claims, signature] = ticket.split('.').collect::<Vec<_>>().try_into().unwrap();
    [header, &change(claims), signature].join(".")
}

async fn with_cookie(fixture: &GateFixture, value: &[u8]) -> TestResponse {
    let cookie = HeaderValue::from_bytes(value).unwrap();
    let request = Request::get("/").header("accept", "text/html").header("cookie", cookie);
    fixture.visitor().request(request, "").await
}

async fn forged_ticket_joins_at_the_end(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let now = fixture.stats().await.now;
    fixture.visitor().navigate("/").await;
    let mine = SessionId::random();
    let genuine = sign(&GateUnderTest::ticket_keys(), &fixture.queue, now, mine);
    let other_secret = sign(&KeyList::of_bytes("ticket-1", [8; 32]), &fixture.queue, now, mine);
    let unknown_key = sign(&KeyList::of_bytes("ticket-9", [7; 32]), &fixture.queue, now, mine);
    // {"alg":"none"}, {"alg":"none","kid":"ticket-1"}
    let unsigned = ["eyJhbGciOiJub25lIn0", "eyJhbGciOiJub25lIiwia2lkIjoidGlja2V0LTEifQ"]
        .map(|header| format!("{header}.{}.", genuine.split('.').nth(1).unwrap()));
    let rest = genuine.split_once('.').unwrap().1;
    let forgeries = [
        other_secret,
        unknown_key,
        unsigned[0].clone(),
        unsigned[1].clone(),
        changed(&genuine, |claims| format!("{}A", &claims[..claims.len() - 1])),
        genuine[..genuine.len() - 2].to_owned(),
        genuine.to_uppercase(),
        format!("{genuine}.x"),
        format!(".{rest}"),
        "..".to_owned(),
        "x".repeat(1025),
    ];
    let mut last = 1;
    for forgery in forgeries {
        let answer = with_cookie(&fixture, format!("{}={forgery}", fixture.cookie_name()).as_bytes()).await;
        assert_eq!(answer.status, StatusCode::OK, "{forgery}");
        let mut visitor = fixture.visitor();
        let cookie = set_cookie(&answer, &fixture.cookie_name()).unwrap();
        visitor.set_cookie(&fixture.cookie_name(), cookie.split(['=', ';']).nth(1).unwrap());
        let visitor_status = visitor.fetch("/").await;
        last += 1;
        assert_eq!(visitor_status.json()["position"], last, "{forgery} got a position at the front");
        assert_ne!(session_in(&visitor_status), mine, "{forgery} was signed again");
    }
    assert_eq!(fixture.stats().await.counters.returned, 0);
    with_cookie(&fixture, format!("{}={genuine}", fixture.cookie_name()).as_bytes()).await;
    assert_eq!(fixture.stats().await.counters.returned, 1, "the genuine one would have been good");
}

async fn tickets_of_other_queues_are_rejected(setup: StoreSetup) {
    let here = GateFixture::open(setup.clone(), json!({})).await;
    let there = GateFixture::open(setup, json!({})).await;
    let mut visitor = there.visitor();
    visitor.navigate("/").await;
    let ticket = visitor.cookie(&there.cookie_name()).unwrap();
    let session = session_in(&visitor.clone().fetch("/").await);
    let mut thief = here.visitor();
    thief.set_cookie(&here.cookie_name(), ticket);
    assert_eq!(thief.navigate("/").await.status, StatusCode::OK);
    assert_ne!(session_in(&thief.fetch("/").await), session);
}

async fn tickets_of_an_old_epoch_are_rejected(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 1 })).await;
    let (mut inside, mut waiting) = (fixture.visitor(), fixture.visitor());
    inside.navigate("/").await;
    waiting.navigate("/").await;
    let before = session_in(&waiting.fetch("/").await);
    fixture.gate.store().reset(&fixture.queue).await.unwrap();
    assert_eq!(fixture.counts().await, (0, 0));
    let first = waiting.navigate("/").await;
    assert!(first.text().contains("origin /"), "who comes first in the new line is first");
    assert_ne!(session_in(&waiting.keepalive(fixture.queue.as_str()).await), before);
    assert!(!inside.navigate("/").await.text().contains("origin /"), "an old ticket is valid in the new line");
    assert_eq!(fixture.counts().await, (1, 1));
}

async fn tickets_older_than_hold_ttl_are_rejected(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "hold_ttl": 100 })).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    let session = session_in(&visitor.fetch("/").await);
    fixture.advance_seconds(99);
    assert_eq!(session_in(&visitor.fetch("/").await), session, "within hold_ttl the position is theirs");
    fixture.advance_seconds(101);
    visitor.navigate("/").await;
    assert_ne!(session_in(&visitor.fetch("/").await), session);
}

async fn malformed_cookie_headers_do_not_prevent_joining(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let name = fixture.cookie_name();
    let long = "x".repeat(15_000);
    let noise: Vec<u8> = (0..15_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8 | 0x80).collect();
    let odd: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b";;;; =; ==;=x".to_vec(),
        name.clone().into_bytes(),
        format!("{name}=").into_bytes(),
        format!("{name}=\"").into_bytes(),
        format!("{name}=\"\"").into_bytes(),
        format!("{name}={long}").into_bytes(),
        format!("a={long}; {name}=x").into_bytes(),
        format!("{name}=x; {name}=y; {name}=z; {name}=; {name}=a; {name}=b").into_bytes(),
        format!("{name}=\u{e4}\u{f6}\u{fc}").into_bytes(),
        format!("{}=x", name.to_uppercase()).into_bytes(),
        format!("{name}=%00%0d%0a").into_bytes(),
        format!("{name}={{\"a\":1}}").into_bytes(),
        noise,
    ];
    let mut joined = 0;
    for cookie in odd {
        let answer = with_cookie(&fixture, &cookie).await;
        joined += 1;
        let shown = String::from_utf8_lossy(&cookie[..cookie.len().min(60)]);
        assert_eq!(answer.status, StatusCode::OK, "{shown}");
        assert!(set_cookie(&answer, &name).is_some(), "{shown}");
        assert_eq!(fixture.counts().await, (joined, 0), "{shown}");
    }
}

async fn the_ticket_is_found_among_all_other_cookies(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    let session = session_in(&visitor.fetch("/").await);
    let (name, ticket) = (fixture.cookie_name(), visitor.cookie(&fixture.cookie_name()).unwrap().to_owned());
    let long = "x".repeat(15_000);
    for cookie in [
        format!("_ga=GA1.2.3; {name}={ticket}"),
        format!("{name}={ticket}; _ga=1"),
        format!("{name}=\"{ticket}\""),
        format!("{name}=stale; {name}={ticket}"),
        format!("{name}={ticket}; {name}=stale"),
        format!("a={long};{name}={ticket}"),
        format!("caf\u{e9}=\u{e4};;  {name} = {ticket} ;=;"),
        format!("q=\"a; b\"; {name}={ticket}"),
    ] {
        let request = Request::get("/x").header("cookie", HeaderValue::from_bytes(cookie.as_bytes()).unwrap());
        let answer = fixture.visitor().request(request, "").await;
        assert_eq!(session_in(&answer), session, "{}", &cookie[..cookie.len().min(60)]);
    }
    let two = Request::get("/x").header("cookie", "a=1").header("cookie", format!("{name}={ticket}"));
    assert_eq!(session_in(&fixture.visitor().request(two, "").await), session, "two Cookie headers");
    assert_eq!(fixture.counts().await, (1, 0));
}

async fn latest_of_two_tickets_is_used(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let (mut old, mut new) = (fixture.visitor(), fixture.visitor());
    old.navigate("/").await;
    fixture.advance_seconds(5);
    new.navigate("/").await;
    let name = fixture.cookie_name();
    let latest = session_in(&new.fetch("/").await);
    let (one, two) = (old.cookie(&name).unwrap(), new.cookie(&name).unwrap());
    for cookie in [format!("{name}={one}; {name}={two}"), format!("{name}={two}; {name}={one}")] {
        let answer = fixture.visitor().request(Request::get("/x").header("cookie", cookie), "").await;
        assert_eq!(session_in(&answer), latest, "a narrower cookie must not hide a newer one");
    }
}
