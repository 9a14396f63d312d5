//! Two-step admission: a first visit gets a pre-ticket, and joins by coming back with it.

use http::{Method, Request, StatusCode};
use serde_json::{Value, json};
use vestibule_core::{PreTicket, TicketSigner, Timestamp};
use vestibule_tests::{GateUnderTest, TestResponse, Visitor};

use crate::gate_fixture::{GateFixture, StoreSetup, direct_and_lambda, session_in, set_cookie};

direct_and_lambda! {
    newcomer_joins_at_the_first_visit_by_coming_back,
    quiet_queue_needs_no_pre_ticket,
    page_of_a_first_visit_is_the_same_for_all,
    status_says_how_to_join,
    app_joins_by_the_ticket_header,
    clients_without_cookies_join_nothing,
    other_sites_make_nobody_join,
    pre_ticket_of_many_clients_is_one_session,
    forged_pre_ticket_is_a_first_visit,
    ended_session_of_a_pre_ticket_gets_another,
    forward_auth_hands_no_pre_ticket_on,
    full_line_keeps_the_first_visit,
    preserved_first_visit_that_expired_is_renewed,
    closed_queues_hand_out_no_pre_tickets,
    cookie_outlives_the_longest_waiting_time,
}

/// Nobody is admitted, and everyone needs a pre-ticket.
fn always() -> Value {
    json!({ "protection": { "pre_ticket_from": 0 } })
}

/// The pre-ticket that an answer sets in the cookie.
fn pre_ticket(fixture: &GateFixture, answer: &TestResponse) -> Option<PreTicket> {
    let cookie = set_cookie(answer, &fixture.cookie_name())?;
    let token = cookie.split_once('=')?.1.split(';').next()?;
    let signer = TicketSigner::new(&GateUnderTest::ticket_keys()).unwrap();
    signer.verify_pre_ticket(&fixture.queue, token.as_bytes(), None).ok()
}

async fn newcomer_joins_at_the_first_visit_by_coming_back(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "protection": {} })).await;
    let mut visitor = fixture.visitor();
    let first = visitor.navigate("/tour").await;
    let promised = pre_ticket(&fixture, &first).expect("a pre-ticket: the quota is 0, so all of it is in use");
    assert_eq!(fixture.counts().await, (0, 0), "a first visit joins nobody");
    let cookie = set_cookie(&first, &fixture.cookie_name()).unwrap();
    for attribute in ["HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=600"] {
        assert!(cookie.contains(attribute), "{attribute} in {cookie}");
    }
    fixture.advance_seconds(1);
    let mut other = fixture.visitor();
    other.navigate("/").await;
    other.navigate("/").await;
    fixture.advance_seconds(5);
    let second = visitor.status(fixture.queue.as_str()).await;
    assert_eq!((session_in(&second), second.json()["position"].as_u64()), (promised.session(), Some(1)));
    assert_eq!(second.json()["joined_at"], promised.first_visit().seconds());
    assert_eq!(second.json()["join"], Value::Null);
    assert_eq!(pre_ticket(&fixture, &second), None, "the cookie is a ticket now");
    let third = visitor.status(fixture.queue.as_str()).await;
    assert_eq!(session_in(&third), promised.session());
    let counters = fixture.stats().await.counters;
    assert_eq!((counters.joined, counters.confirmed, counters.pre_tickets_redeemed), (2, 2, 2));
    assert_eq!(counters.pre_tickets_issued, 2);
}

async fn quiet_queue_needs_no_pre_ticket(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 4, "protection": {} })).await;
    for _ in 0..2 {
        assert!(fixture.visitor().navigate("/").await.text().contains("origin /"));
    }
    let mut third = fixture.visitor();
    let first = third.navigate("/").await;
    assert!(pre_ticket(&fixture, &first).is_some() && !first.text().contains("origin /"), "half is in use");
    assert!(third.navigate("/").await.text().contains("origin /"), "a slot is free");
}

async fn page_of_a_first_visit_is_the_same_for_all(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, always()).await;
    let page = fixture.visitor().navigate("/a?secret=1").await;
    assert_eq!((page.status, page.header("retry-after")), (StatusCode::OK, Some("1")));
    assert_eq!(page.header("cache-control"), Some("no-store"));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("style-src 'sha256-") && !policy.contains("nonce"), "{policy}");
    let text = page.text();
    assert!(text.contains("<meta http-equiv=\"refresh\" content=\"1\">"), "{text}");
    assert!(text.contains("allow cookies for this site"), "{text}");
    assert!(text.contains("One moment") && !text.contains("secret") && !text.contains("You’re in line</h1>"), "{text}");
    let other = fixture.visitor().navigate("/b").await;
    assert_eq!(other.text(), text, "no nonce, position or address");
    assert_ne!(pre_ticket(&fixture, &page), pre_ticket(&fixture, &other));
}

async fn status_says_how_to_join(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, always()).await;
    let answer = fixture.visitor().status(fixture.queue.as_str()).await;
    let status = answer.json();
    assert_eq!(status["join"], json!({ "action": "redeem", "retry_after": 1 }));
    assert_eq!(
        (&status["state"], &status["session"], &status["position"]),
        (&json!("waiting"), &Value::Null, &Value::Null)
    );
    assert_eq!((&status["poll_after"], answer.header("retry-after")), (&json!(1), Some("1")));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert!(pre_ticket(&fixture, &answer).is_some());
    fixture.change(&json!({ "mode": "paused" })).await;
    fixture.advance_seconds(10);
    let mut known = fixture.visitor();
    known.status(fixture.queue.as_str()).await;
    assert_eq!(known.status(fixture.queue.as_str()).await.json()["state"], "paused");
}

async fn app_joins_by_the_ticket_header(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, always()).await;
    let app = async |token: &str| {
        let request = Request::get(fixture.own("status")).header("x-vestibule-ticket", token);
        Visitor::new(fixture.gate.address(), &fixture.host).request(request, "").await
    };
    let first = app("").await;
    let second = app(first.header("x-vestibule-ticket").expect("a pre-ticket")).await;
    assert_eq!(second.json()["position"], 1);
    let third = app(second.header("x-vestibule-ticket").expect("a ticket")).await;
    assert_eq!(session_in(&third), session_in(&second));
}

async fn clients_without_cookies_join_nothing(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 1, "protection": {} })).await;
    let mut inside = fixture.visitor();
    inside.navigate("/").await;
    for _ in 0..30 {
        assert!(!fixture.visitor().navigate("/").await.text().contains("origin /"));
    }
    assert_eq!(fixture.counts().await, (0, 1));
    inside.status(fixture.queue.as_str()).await;
    let counters = fixture.stats().await.counters;
    assert_eq!((counters.joined, counters.pre_tickets_issued), (1, 30));
}

async fn other_sites_make_nobody_join(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, always()).await;
    let cross_site = async |path: &str, mode: &str, destination: &str| {
        let request = Request::get(path)
            .header("accept", "text/html,*/*")
            .header("sec-fetch-site", "cross-site")
            .header("sec-fetch-mode", mode)
            .header("sec-fetch-dest", destination);
        fixture.visitor().request(request, "").await
    };
    let status = fixture.own("status");
    for (path, mode, destination) in [
        (status.as_str(), "no-cors", "image"),
        (status.as_str(), "cors", "empty"),
        ("/", "no-cors", "image"),
        ("/", "navigate", "iframe"),
        ("/", "cors", "empty"),
    ] {
        let answer = cross_site(path, mode, destination).await;
        assert_eq!(pre_ticket(&fixture, &answer), None, "{mode} {destination} of {path}");
    }
    for method in [Method::HEAD, Method::OPTIONS] {
        let request = Request::builder().method(method).uri("/").header("accept", "text/html");
        assert_eq!(pre_ticket(&fixture, &fixture.visitor().request(request, "").await), None);
    }
    let followed = cross_site("/", "navigate", "document").await;
    assert!(pre_ticket(&fixture, &followed).is_some(), "a link from another site");
    assert_eq!(fixture.counts().await, (0, 0));
}

async fn pre_ticket_of_many_clients_is_one_session(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, always()).await;
    let mut first = fixture.visitor();
    first.navigate("/").await;
    let (name, token) = {
        let name = [format!("__Host-{}", fixture.cookie_name()), fixture.cookie_name()];
        let found = name.into_iter().find_map(|name| Some((first.cookie(&name)?.to_owned(), name)));
        found.map(|(token, name)| (name, token)).expect("a cookie")
    };
    let mut sessions = std::collections::BTreeSet::new();
    for _ in 0..20 {
        let mut copy = fixture.visitor();
        copy.set_cookie(&name, &token);
        sessions.insert(session_in(&copy.status(fixture.queue.as_str()).await));
    }
    assert_eq!((sessions.len(), fixture.counts().await), (1, (1, 0)));
}

async fn forged_pre_ticket_is_a_first_visit(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, always()).await;
    let mut visitor = fixture.visitor();
    visitor.set_cookie(&fixture.cookie_name(), "eyJhbGciOiJub25lIn0.e30.AAAA");
    let answer = visitor.status(fixture.queue.as_str()).await;
    assert_eq!(answer.json()["join"]["action"], "redeem");
    assert_eq!(fixture.counts().await, (0, 0));
}

async fn ended_session_of_a_pre_ticket_gets_another(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, always()).await;
    let mut visitor = fixture.visitor();
    let first = pre_ticket(&fixture, &visitor.navigate("/").await).unwrap();
    fixture.gate.store().end(&fixture.queue, first.session()).await.unwrap();
    let second = pre_ticket(&fixture, &visitor.navigate("/").await).expect("another pre-ticket");
    assert_ne!(second.session(), first.session());
    assert_eq!(session_in(&visitor.status(fixture.queue.as_str()).await), second.session());
}

async fn forward_auth_hands_no_pre_ticket_on(setup: StoreSetup) {
    let mut settings = always();
    settings["handover"] = json!({ "kind": "check" });
    let fixture = GateFixture::open(setup, settings).await;
    let request = || {
        let request = Request::get("/_vestibule/check").header("accept", "text/html");
        request.header("x-forwarded-host", &fixture.host).header("x-forwarded-uri", "/tour")
    };
    for (request, is_for_app) in [(request(), false), (request().header("x-vestibule-ticket", ""), true)] {
        let answer = fixture.visitor().request(request, "").await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
        assert_eq!(answer.header("x-vestibule-new-ticket"), None, "the proxy would redeem it at once");
        assert_eq!(answer.header("x-vestibule-ticket").is_some(), is_for_app);
        assert_eq!(answer.json()["join"]["action"], "redeem");
    }
    assert_eq!(fixture.counts().await, (0, 0));
}

async fn full_line_keeps_the_first_visit(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "max_waiting": 1, "protection": { "pre_ticket_from": 100 } })).await;
    let (mut first, mut refused, mut later) = (fixture.visitor(), fixture.visitor(), fixture.visitor());
    first.navigate("/").await;
    first.navigate("/").await;
    assert_eq!(fixture.counts().await, (1, 0));
    let answers = [refused.navigate("/").await, refused.navigate("/").await];
    // The gate may have answered the first one without the store, which knows that the line is full.
    let kept = answers.iter().filter_map(|answer| pre_ticket(&fixture, answer)).next_back().expect("a pre-ticket");
    assert!(kept.is_preserved());
    fixture.advance_seconds(40);
    // The gate learns the time.
    first.status(fixture.queue.as_str()).await;
    later.navigate("/").await;
    later.navigate("/").await;
    fixture.change(&json!({ "max_waiting": 3 })).await;
    fixture.advance_seconds(2);
    assert_eq!(later.status(fixture.queue.as_str()).await.json()["position"], 2);
    let joined = refused.status(fixture.queue.as_str()).await;
    assert_eq!((session_in(&joined), joined.json()["position"].as_u64()), (kept.session(), Some(2)));
    assert_eq!(joined.json()["joined_at"], kept.first_visit().seconds());
}

/// Whoever waits longest at a full line is ahead of newer visitors once it moves, also after `hold_ttl`.
async fn preserved_first_visit_that_expired_is_renewed(setup: StoreSetup) {
    let times = json!({ "max_waiting": 1, "hold_ttl": 10, "waiting_ttl": 10, "claim_ttl": 10, "protection": {} });
    let fixture = GateFixture::open(setup, times).await;
    let (mut first, mut patient, mut newer) = (fixture.visitor(), fixture.visitor(), fixture.visitor());
    for _ in 0..2 {
        first.navigate("/").await;
    }
    for _ in 0..5 {
        for visitor in [&mut first, &mut patient] {
            visitor.status(fixture.queue.as_str()).await;
        }
        fixture.advance_seconds(3);
    }
    first.status(fixture.queue.as_str()).await;
    for _ in 0..2 {
        newer.status(fixture.queue.as_str()).await;
    }
    fixture.change(&json!({ "max_waiting": 3 })).await;
    fixture.advance_seconds(1);
    for (visitor, position) in [(&mut newer, 2), (&mut patient, 2)] {
        let status = visitor.status(fixture.queue.as_str()).await.json();
        assert_eq!(status["position"], position, "{status}");
    }
}

/// Nobody can be there first before anybody can join.
async fn closed_queues_hand_out_no_pre_tickets(setup: StoreSetup) {
    let now = setup.clock.now();
    let at = |seconds| Timestamp::of(now.add_seconds(seconds)).to_string();
    let sale =
        json!({ "id": "sale", "lobby_at": at(60), "starts_at": at(120), "ends_at": at(600), "order": "arrival" });
    let closed = [
        json!({ "mode": "closed" }),
        json!({ "mode": "draining" }),
        json!({ "mode": "bypass" }),
        json!({ "mode": "scheduled", "between_events": "closed", "events": [sale] }),
        json!({ "mode": "scheduled", "between_events": "bypass", "events": [sale] }),
        json!({ "access": "invited" }),
    ];
    for changes in closed {
        let fixture = GateFixture::open(setup.clone(), changes.clone()).await;
        // The gate learns the time.
        fixture.visitor().keepalive(fixture.queue.as_str()).await;
        for (method, endpoint) in [(Method::GET, "challenge"), (Method::HEAD, "challenge"), (Method::POST, "join")] {
            let request = Request::builder().method(method.clone()).uri(fixture.own(endpoint));
            let answer = fixture.visitor().request(request, "").await;
            assert_eq!(answer.status, StatusCode::FORBIDDEN);
            assert_eq!(pre_ticket(&fixture, &answer), None, "{method} {endpoint} of {changes}");
        }
    }
    let fixture = GateFixture::open(setup, json!({ "mode": "paused" })).await;
    fixture.visitor().keepalive(fixture.queue.as_str()).await;
    for (method, is_issued) in [(Method::GET, true), (Method::HEAD, false)] {
        let request = Request::builder().method(method.clone()).uri(fixture.own("challenge"));
        let answer = fixture.visitor().request(request, "").await;
        assert_eq!(pre_ticket(&fixture, &answer).is_some(), is_issued, "{method}");
    }
}

/// A page without JavaScript may ask its visitor to come back in 450 seconds.
async fn cookie_outlives_the_longest_waiting_time(setup: StoreSetup) {
    for (hold, age) in [(60, "; Max-Age=450;"), (900, "; Max-Age=900;")] {
        let mut settings = always();
        settings["hold_ttl"] = json!(hold);
        let fixture = GateFixture::open(setup.clone(), settings).await;
        let answer = fixture.visitor().navigate("/").await;
        let cookie = set_cookie(&answer, &fixture.cookie_name()).unwrap();
        assert!(pre_ticket(&fixture, &answer).is_some() && cookie.contains(age), "{cookie}");
    }
}
