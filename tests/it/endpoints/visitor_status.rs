//! `status`: where a visitor stands, and what the answer holds.

use http::{Request, StatusCode};
use serde_json::{Value, json};

use crate::gate_fixture::{GateFixture, StoreSetup, direct_and_lambda, session_in, set_cookie};

direct_and_lambda! {
    the_visitor_status_has_exactly_these_fields,
    waiting_visitors_get_the_message_in_their_language,
    an_admitted_status_has_the_enter_url,
    status_requests_join_and_renew_the_session,
    page_without_its_cookie_does_not_join,
    head_and_prefetch_of_the_status_do_not_join,
    status_requires_a_queue_of_this_host,
    polls_are_frequent_near_the_front_and_before_expiry,
    an_app_keeps_its_ticket_in_a_header,
    other_methods_return_405,
    unknown_endpoints_return_404,
    a_wrong_method_returns_405,
    an_invalid_query_returns_problem_details,
}

pub(super) fn fields(visitor_status: &Value) -> Vec<&str> {
    let mut fields: Vec<&str> = visitor_status.as_object().unwrap().keys().map(String::as_str).collect();
    fields.sort_unstable();
    fields
}

pub(super) const FIELDS: [&str; 18] = [
    "active",
    "enter_url",
    "event",
    "expires_in",
    "join",
    "joined_at",
    "message",
    "message_language",
    "poll_after",
    "position",
    "queue",
    "reason",
    "revision",
    "session",
    "state",
    "support_code",
    "wait_seconds",
    "waiting",
];

async fn the_visitor_status_has_exactly_these_fields(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let mut visitor = fixture.visitor();
    let first = visitor.status(fixture.queue.as_str()).await;
    assert_eq!(first.status, StatusCode::OK);
    assert_eq!(first.header("cache-control"), Some("no-store"));
    let visitor_status = first.json();
    assert_eq!(fields(&visitor_status), FIELDS);
    assert_eq!(visitor_status["queue"], fixture.queue.as_str());
    assert_eq!(visitor_status["session"].as_str().unwrap().len(), 36);
    assert_eq!((&visitor_status["state"], &visitor_status["position"]), (&json!("waiting"), &json!(1)));
    assert_eq!((&visitor_status["waiting"], &visitor_status["active"]), (&json!(1), &json!(0)));
    assert_eq!(visitor_status["joined_at"], json!(fixture.stats().await.now.seconds()));
    assert_eq!(visitor_status["expires_in"], json!(30), "a first visit has claim_ttl");
    assert_eq!((&visitor_status["enter_url"], &visitor_status["wait_seconds"]), (&Value::Null, &Value::Null));
    assert_eq!(visitor_status["revision"], json!(1));

    let nobody = fixture.visitor().fetch("/").await.json();
    assert_eq!(fields(&nobody), FIELDS);
    for absent in ["session", "position", "joined_at", "expires_in", "enter_url", "reason", "message", "support_code"] {
        assert_eq!(nobody[absent], Value::Null, "{absent}");
    }
}

async fn waiting_visitors_get_the_message_in_their_language(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 1 })).await;
    let queue = fixture.queue.as_str();
    let mut active = fixture.visitor().with_header("accept-language", "de");
    assert_eq!(active.status(queue).await.json()["state"], "admitted");
    let mut visitor = fixture.visitor().with_header("accept-language", "pt-BR, de;q=0.5");
    assert_eq!(visitor.status(queue).await.json()["message"], Value::Null);

    let texts = json!({ "default": "Floor tickets are sold out.", "de": "Ausverkauft.", "pt-BR": "<b>Esgotado</b> & \"mais\"" });
    fixture.change(&json!({ "message": texts })).await;
    let status = visitor.status(queue).await.json();
    assert_eq!((&status["message"], &status["revision"]), (&texts["pt-BR"], &json!(2)), "with the next poll");
    let page = visitor.navigate("/").await;
    assert!(page.text().contains(">&lt;b&gt;Esgotado&lt;&#x2f;b&gt; &amp; &quot;mais&quot;</p>"), "{}", page.text());
    assert_eq!(visitor.fetch("/").await.json()["message"], texts["pt-BR"]);
    let mut other = fixture.visitor().with_header("accept-language", "de-AT");
    assert_eq!(other.status(queue).await.json()["message"], texts["de"]);
    assert_eq!(fixture.visitor().fetch("/").await.json()["message"], texts["default"]);
    assert_eq!(active.status(queue).await.json()["message"], Value::Null, "an active session sees no queue page");

    fixture.change(&json!({ "mode": "closed" })).await;
    assert!(fixture.visitor().navigate("/").await.text().contains(">Floor tickets are sold out.</p>"));
    fixture.change(&json!({ "message": null, "mode": "open" })).await;
    assert_eq!(visitor.status(queue).await.json()["message"], Value::Null);
}

async fn an_admitted_status_has_the_enter_url(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 1 })).await;
    let visitor_status = fixture.visitor().status(fixture.queue.as_str()).await.json();
    assert_eq!(visitor_status["state"], "admitted");
    assert_eq!((&visitor_status["position"], &visitor_status["active"]), (&Value::Null, &json!(1)));
    assert_eq!(visitor_status["enter_url"], format!("http://{}/", fixture.host));
}

async fn status_requests_join_and_renew_the_session(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let mut visitor = fixture.visitor();
    let first = visitor.status(fixture.queue.as_str()).await;
    assert_eq!(fixture.counts().await, (1, 0));
    for _ in 0..6 {
        fixture.advance_seconds(15);
        let again = visitor.status(fixture.queue.as_str()).await;
        assert_eq!(session_in(&again), session_in(&first));
        assert_eq!(again.json()["joined_at"], first.json()["joined_at"]);
    }
    assert_eq!((fixture.counts().await, fixture.stats().await.counters.returned), ((1, 0), 0));
}

async fn page_without_its_cookie_does_not_join(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    let session = session_in(&visitor.fetch("/").await);
    let path = format!("{}&session={session}", fixture.own("status"));
    assert_eq!(session_in(&visitor.fetch(&path).await), session, "with its ticket it is the session");
    let without = fixture.visitor().fetch(&path).await;
    assert_eq!(without.status, StatusCode::OK);
    assert_eq!(without.json()["session"], Value::Null, "a session's name is no ticket");
    assert!(set_cookie(&without, &fixture.cookie_name()).is_none());
    assert_eq!(fixture.counts().await, (1, 0), "every poll of a browser without cookies would be a new number");
}

async fn head_and_prefetch_of_the_status_do_not_join(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let prefetch = Request::get(fixture.own("status")).header("sec-purpose", "prefetch");
    for request in [prefetch, Request::head(fixture.own("status"))] {
        assert_eq!(fixture.visitor().request(request, "").await.status, StatusCode::OK);
        assert_eq!(fixture.counts().await, (0, 0));
    }
}

async fn status_requires_a_queue_of_this_host(setup: StoreSetup) {
    let fixture = GateFixture::open(setup.clone(), json!({})).await;
    let other = GateFixture::open(setup, json!({})).await;
    assert_eq!(fixture.visitor().fetch("/_vestibule/status").await.status, StatusCode::OK, "the only one is meant");
    for queue in [other.queue.as_str(), "nobody", "", "a%20b", "%7Bx%7D", "..%2F", "%ff", &"x".repeat(5000)] {
        let answer = fixture.visitor().status(queue).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{queue}");
        assert_eq!(answer.json()["code"], "unknown_queue", "{queue}");
    }
    assert_eq!(fixture.counts().await, (1, 0));
}

async fn polls_are_frequent_near_the_front_and_before_expiry(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let mut first = fixture.visitor();
    let mut polls = Vec::new();
    for _ in 0..40 {
        fixture.setup.clock.advance(7);
        let visitor_status = fixture.visitor().status(fixture.queue.as_str()).await.json();
        polls.push((visitor_status["position"].as_u64().unwrap(), visitor_status["poll_after"].as_u64().unwrap()));
    }
    for (position, poll) in &polls {
        assert!((1..=20).contains(poll), "{polls:?}");
        assert!(*position > 10 || *poll == 2, "{polls:?}");
    }
    let far: Vec<u64> = polls.iter().filter(|(position, _)| *position > 10).map(|(_, poll)| *poll).collect();
    assert!(far.iter().any(|poll| *poll != far[0]), "all come at the same second: {far:?}");
    assert!(first.navigate("/").await.text().contains("content=\""), "the page refreshes without script");
}

async fn an_app_keeps_its_ticket_in_a_header(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let mut app = fixture.visitor().with_header("x-vestibule-ticket", "");
    let first = app.status(fixture.queue.as_str()).await;
    let ticket = first.header("x-vestibule-ticket").unwrap().to_owned();
    let mut app = fixture.visitor().with_header("x-vestibule-ticket", &ticket);
    let again = app.status(fixture.queue.as_str()).await;
    assert_eq!(session_in(&again), session_in(&first));
    assert!(again.header("x-vestibule-ticket").is_some());
    assert_eq!(session_in(&app.fetch("/").await), session_in(&first), "requests for pages are of the same session");
    let browser = fixture.visitor().status(fixture.queue.as_str()).await;
    assert!(browser.header("x-vestibule-ticket").is_none(), "scripts of a browser cannot read the ticket");
    assert_eq!(fixture.counts().await, (2, 0));
}

async fn other_methods_return_405(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    for (method, path) in [("GET", "keepalive"), ("POST", "status"), ("DELETE", "line")] {
        let request = Request::builder().method(method).uri(format!("/_vestibule/{path}"));
        let refused = fixture.visitor().request(request, "").await;
        assert_eq!(refused.status, StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
        assert_eq!(refused.json()["code"], "method_not_allowed");
        assert!(refused.header("allow").is_some(), "{method} {path}");
    }
}

async fn unknown_endpoints_return_404(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 9 })).await;
    for path in ["/_vestibule/nothing", "/_vestibule/status/x", "/_vestibule/", "/_vestibule/theme/x", "/_vestibule"] {
        let answer = fixture.visitor().navigate(path).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
        assert_eq!(answer.json()["code"], "not_found", "{path}");
    }
    assert!(fixture.origin.requests().is_empty());
    assert_eq!(fixture.counts().await, (0, 0));
}

async fn a_wrong_method_returns_405(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    for (method, endpoint) in [
        ("POST", "status"),
        ("GET", "keepalive"),
        ("GET", "away"),
        ("GET", "leave"),
        ("DELETE", "status"),
        ("PUT", "health"),
    ] {
        let request = Request::builder().method(method).uri(fixture.own(endpoint));
        let answer = fixture.visitor().request(request, "").await;
        assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED, "{method} {endpoint}");
        assert!(answer.header("allow").is_some(), "{method} {endpoint}");
    }
    assert_eq!(fixture.counts().await, (0, 0));
}

async fn an_invalid_query_returns_problem_details(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let queue = &fixture.queue;
    for (path, parameter) in [
        (format!("/_vestibule/status?queue={queue}&queue=x"), "queue"),
        (format!("/_vestibule/status?queue={queue}&session=a&session=b"), "session"),
        (format!("/_vestibule/check?queue={queue}&page=perhaps"), "page"),
    ] {
        let answer = fixture.visitor().fetch(&path).await;
        assert_eq!(
            (answer.status, &answer.json()["code"]),
            (StatusCode::BAD_REQUEST, &"invalid_query".into()),
            "{path}"
        );
        assert_eq!(answer.json()["errors"][0]["field"], parameter, "{path}");
    }
}
