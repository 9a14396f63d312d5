//! Waiting and admission: the answer to each kind of request.

use http::{Method, Request, StatusCode};
use serde_json::json;
use vestibule_tests::{GateOptions, TestResponse};

use crate::gate_fixture::{GateFixture, StoreSetup, direct_and_lambda, navigation, random_id, raw, set_cookie};

direct_and_lambda! {
    an_admitted_navigation_reaches_the_origin,
    a_waiting_navigation_gets_the_queue_page,
    the_status_of_the_queue_page_is_a_setting,
    waiting_requests_get_the_visitor_status_as_json,
    a_waiting_post_is_not_forwarded,
    the_ticket_cookie_is_http_only_and_same_site_lax,
    forwarded_proto_is_ignored_without_trusted_proxies,
    the_ticket_cookie_lasts_as_long_as_the_ticket,
    bypass_passes_everyone_and_stores_nothing,
    paused_queues_admit_nobody,
    closed_queues_keep_active_sessions,
    draining_queues_admit_waiting_visitors_only,
    a_full_line_gives_newcomers_no_position,
    a_host_without_a_queue_returns_404,
    an_invalid_host_returns_400,
    queue_pages_are_never_cached,
    ; differing:
    the_ticket_cookie_is_secure_over_https: Scheme,
}

async fn an_admitted_navigation_reaches_the_origin(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 1 })).await;
    let answer = fixture.visitor().navigate("/tour?date=1").await;
    assert_eq!(answer.status, StatusCode::OK);
    assert!(answer.text().contains("origin /tour"), "{}", answer.text());
    assert_eq!(fixture.counts().await, (0, 1));
}

fn assert_queue_page(answer: &TestResponse) {
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("x-robots-tag"), Some("noindex"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    let after: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=20).contains(&after), "a third of waiting_ttl at most, not {after}");
    let policy = answer.header("content-security-policy").unwrap();
    for part in ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "connect-src 'self'"] {
        assert!(policy.contains(part), "{part} in {policy}");
    }
    let nonce = policy.split("'nonce-").nth(1).unwrap().split('\'').next().unwrap();
    assert!(answer.text().contains(nonce), "the page's own styles may apply");
    assert!(!answer.text().contains("src=\"http"), "no third party");
}

async fn a_waiting_navigation_gets_the_queue_page(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let answer = fixture.visitor().navigate("/tour").await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_queue_page(&answer);
    assert!(answer.text().contains("Acme tour"), "{}", answer.text());
    assert!(fixture.origin.requests().is_empty(), "the origin received a request");
    assert_eq!(fixture.counts().await, (1, 0));
}

async fn a_full_line_gives_newcomers_no_position(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 0, "max_waiting": 1 })).await;
    let mut first = fixture.visitor();
    first.navigate("/tour").await;
    let mut newcomer = fixture.visitor();
    let page = newcomer.navigate("/tour").await;
    assert_eq!((page.status, page.header("set-cookie")), (StatusCode::OK, None));
    assert!(page.text().contains("The line is full"), "{}", page.text());
    assert!(page.text().contains("You do not have a place in line yet."), "{}", page.text());
    assert!(page.text().contains("data-vestibule=\"hold-notice\" hidden"), "there is no position to keep");
    let fetched = newcomer.fetch("/tour").await;
    assert_eq!((fetched.status, fetched.header("set-cookie")), (StatusCode::TOO_MANY_REQUESTS, None));
    let after = fetched.header("retry-after").unwrap().parse::<u64>().unwrap();
    assert!((45..=60).contains(&after), "{after}");
    let queue = fixture.queue.as_str();
    let expected = json!({
        "queue": queue, "session": null, "state": "full", "reason": null, "position": null, "waiting": 1, "active": 0,
        "wait_seconds": null, "joined_at": null, "expires_in": null, "poll_after": after, "enter_url": null,
        "revision": 1, "support_code": null, "message": null, "message_language": null, "event": null,
        "join": { "action": "retry_later", "retry_after": after, "reason": "full" },
    });
    assert_eq!(fetched.json(), expected);
    let asked = newcomer.status(queue).await;
    assert_eq!((asked.status, &asked.json()["state"]), (StatusCode::OK, &json!("full")));
    assert_eq!(first.status(queue).await.json()["position"], 1, "who waits is not refused");
    first.away(queue).await;
    assert_eq!(newcomer.status(queue).await.json()["position"], 1, "there is room again");
    let returned = first.status(queue).await.json();
    assert_eq!((&returned["state"], &returned["position"]), (&json!("waiting"), &json!(1)), "a ticket is not refused");
}

async fn the_status_of_the_queue_page_is_a_setting(setup: StoreSetup) {
    for status in [200, 202, 429, 503] {
        let fixture = GateFixture::open(setup.clone(), json!({ "queue_status": status })).await;
        let answer = fixture.visitor().navigate("/").await;
        assert_eq!(answer.status.as_u16(), status);
        assert_queue_page(&answer);
        let fetched = fixture.visitor().fetch("/").await;
        assert_eq!(fetched.status, StatusCode::TOO_MANY_REQUESTS, "only the page has that status");
    }
}

async fn waiting_requests_get_the_visitor_status_as_json(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    let get = |mode: &str, destination: &str, accept: &str| {
        let request = Request::get("/x").header("accept", accept).header("sec-fetch-mode", mode);
        request.header("sec-fetch-dest", destination)
    };
    for (what, request) in [
        ("fetch", get("cors", "empty", "*/*")),
        ("fetch of a page", get("cors", "empty", "text/html")),
        ("image", get("no-cors", "image", "image/avif,*/*")),
        ("script", get("no-cors", "script", "*/*")),
        ("json", Request::get("/x").header("accept", "application/json")),
        ("put", Request::put("/x")),
    ] {
        let answer = visitor.request(request, "").await;
        assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS, "{what}");
        assert_eq!(answer.header("content-type"), Some("application/json"), "{what}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{what}");
        assert!(answer.header("retry-after").is_some(), "{what}");
        let visitor_status = answer.json();
        assert_eq!(
            (&visitor_status["state"], &visitor_status["position"]),
            (&json!("waiting"), &json!(1)),
            "{what}: {visitor_status}"
        );
    }
    assert!(fixture.origin.requests().is_empty());
    assert_eq!(fixture.counts().await, (1, 0), "one visitor is one session");
}

async fn a_waiting_post_is_not_forwarded(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    let form = Request::post("/pay").header("accept", "text/html").header("sec-fetch-mode", "navigate");
    let answer = visitor.request(form, "amount=1").await;
    assert_eq!((answer.status, answer.header("cache-control")), (StatusCode::TOO_MANY_REQUESTS, Some("no-store")));
    assert!(answer.text().contains("Your request cannot be processed"), "{}", answer.text());
    assert!(answer.header("retry-after").is_some());
    assert_eq!(fixture.counts().await, (1, 0));
    fixture.change(&json!({ "quota": 1 })).await;
    assert!(visitor.navigate("/").await.text().contains("origin /"));
    let paths: Vec<String> = fixture.origin.requests().iter().map(|request| request.uri.to_string()).collect();
    assert_eq!(paths, ["/"], "a payment was replayed");
}

async fn the_ticket_cookie_is_http_only_and_same_site_lax(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "cookie_domain": "example.com" })).await;
    let answer = fixture.visitor().navigate("/").await;
    let cookie = set_cookie(&answer, &fixture.cookie_name()).unwrap();
    let attributes: Vec<&str> = cookie.split("; ").skip(1).collect();
    assert_eq!(attributes, ["Path=/", "Max-Age=600", "HttpOnly", "SameSite=Lax", "Domain=example.com"]);

    let fixture = GateFixture::open(fixture.setup.clone(), json!({})).await;
    let answer = fixture.visitor().navigate("/").await;
    let cookie = set_cookie(&answer, &fixture.cookie_name()).unwrap();
    assert!(!cookie.contains("Domain") && !cookie.contains("Secure"), "{cookie}");
}

async fn the_ticket_cookie_is_secure_over_https(setup: StoreSetup) {
    let options = GateOptions { trusted_proxies: 1, ..GateOptions::default() };
    let fixture = GateFixture::open_with(setup, json!({}), options).await;
    let by = |proto: &str| fixture.visitor().with_header("x-forwarded-proto", proto);
    let with_https = by("https").navigate("/").await;
    assert!(set_cookie(&with_https, &fixture.cookie_name()).unwrap().ends_with("; Secure"));
    let by_http = by("http").navigate("/").await;
    assert!(!set_cookie(&by_http, &fixture.cookie_name()).unwrap().contains("Secure"));
}

async fn forwarded_proto_is_ignored_without_trusted_proxies(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let answer = fixture.visitor().with_header("x-forwarded-proto", "https").navigate("/").await;
    assert!(!set_cookie(&answer, &fixture.cookie_name()).unwrap().contains("Secure"));
}

async fn the_ticket_cookie_lasts_as_long_as_the_ticket(setup: StoreSetup) {
    for (hold, active, age) in [(7200, 600, "; Max-Age=7200;"), (60, 900, "; Max-Age=900;")] {
        let fixture = GateFixture::open(setup.clone(), json!({ "hold_ttl": hold, "active_ttl": active })).await;
        let answer = fixture.visitor().navigate("/").await;
        assert!(set_cookie(&answer, &fixture.cookie_name()).unwrap().contains(age));
    }
}

async fn bypass_passes_everyone_and_stores_nothing(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "mode": "bypass" })).await;
    for _ in 0..3 {
        let answer = fixture.visitor().navigate("/tour").await;
        assert!(answer.text().contains("origin /tour"));
        assert!(set_cookie(&answer, &fixture.cookie_name()).is_none());
    }
    assert_eq!(fixture.visitor().post("/pay").await.status, StatusCode::OK);
    assert_eq!(fixture.counts().await, (0, 0));
    assert!(fixture.origin.requests().iter().all(|request| !request.headers.contains_key("x-vestibule-pass")));
}

async fn paused_queues_admit_nobody(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "mode": "paused", "quota": 10 })).await;
    let mut visitor = fixture.visitor();
    let page = visitor.navigate("/").await;
    assert!(page.text().contains("The line is paused"), "{}", page.text());
    let visitor_status = visitor.fetch("/").await.json();
    assert_eq!((&visitor_status["state"], &visitor_status["position"]), (&json!("paused"), &json!(1)));
    assert_eq!(visitor_status["wait_seconds"], json!(null), "nobody knows how long a pause lasts");
    assert_eq!(fixture.counts().await, (1, 0));
}

async fn closed_queues_keep_active_sessions(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 1 })).await;
    let (mut inside, mut waiting) = (fixture.visitor(), fixture.visitor());
    inside.navigate("/").await;
    waiting.navigate("/").await;
    fixture.change(&json!({ "mode": "closed" })).await;
    assert!(inside.navigate("/tour").await.text().contains("origin /tour"), "an active session continues");
    assert!(waiting.navigate("/").await.text().contains("Closed for now"));
    let newcomer = fixture.visitor().navigate("/").await;
    assert!(newcomer.text().contains("Closed for now"), "{}", newcomer.text());
    assert_eq!(newcomer.header("cache-control"), Some("no-store"));
    assert!(set_cookie(&newcomer, &fixture.cookie_name()).is_none());
    assert_eq!(fixture.visitor().fetch("/").await.json()["state"], "closed");
    assert_eq!(fixture.stats().await.counters.joined, 2, "a newcomer joined a closed queue");
}

async fn draining_queues_admit_waiting_visitors_only(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 1 })).await;
    let (mut inside, mut waiting) = (fixture.visitor(), fixture.visitor());
    inside.navigate("/").await;
    waiting.navigate("/").await;
    fixture.change(&json!({ "mode": "draining" })).await;
    let visitor_status = waiting.fetch("/").await.json();
    assert_eq!((&visitor_status["state"], &visitor_status["position"]), (&json!("waiting"), &json!(1)));
    assert!(visitor_status["wait_seconds"]["p90"].is_u64(), "the line goes on: {visitor_status}");
    let newcomer = fixture.visitor().navigate("/").await;
    assert!(newcomer.text().contains("Closed for now"), "{}", newcomer.text());
    assert!(set_cookie(&newcomer, &fixture.cookie_name()).is_none());
    assert_eq!(fixture.visitor().fetch("/").await.json()["state"], "closed");
    inside.leave(fixture.queue.as_str()).await;
    assert!(waiting.navigate("/tour").await.text().contains("origin /tour"), "the next one is admitted");
    assert_eq!(fixture.visitor().fetch("/").await.json()["state"], "closed", "closed despite free slots");
    assert_eq!(fixture.stats().await.counters.joined, 2, "a newcomer joined a draining queue");
}

async fn a_host_without_a_queue_returns_404(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 9 })).await;
    let stranger = format!("{}.example.org", random_id());
    let mut visitor = vestibule_tests::Visitor::new(fixture.gate.address(), &stranger);
    let page = visitor.navigate("/").await;
    assert_eq!(page.status, StatusCode::NOT_FOUND);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    let fetched = visitor.fetch("/").await;
    assert_eq!(fetched.status, StatusCode::NOT_FOUND);
    assert_eq!(fetched.json()["code"], "unknown_host");
    assert!(fixture.origin.requests().is_empty());
}

async fn an_invalid_host_returns_400(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 9 })).await;
    for host in ["", "a b", "..", "user@host", "a/b", &format!("{}%2f", fixture.host), &format!("{}@x", fixture.host)] {
        let (head, body) = raw(fixture.gate.address(), &navigation("/", host, &[])).await;
        assert!(head.starts_with("http/1.1 400 "), "{host:?}: {head}");
        assert!(body.is_empty() || body.contains("invalid_host"), "{host:?}: {body}");
    }
    let without = b"GET / HTTP/1.1\r\nAccept: text/html\r\nConnection: close\r\n\r\n";
    assert!(raw(fixture.gate.address(), without).await.0.starts_with("http/1.1 400 "));
    for host in [format!("{}:8443", fixture.host), format!("{}.", fixture.host), fixture.host.to_uppercase()] {
        let (head, _) = raw(fixture.gate.address(), &navigation("/", &host, &[])).await;
        assert!(head.starts_with("http/1.1 200 "), "{host:?}: {head}");
    }
}

async fn queue_pages_are_never_cached(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let (one, two) = (fixture.visitor().navigate("/").await, fixture.visitor().navigate("/").await);
    assert_ne!(one.header("content-security-policy"), two.header("content-security-policy"), "a nonce is used once");
    assert_ne!(one.header("set-cookie"), two.header("set-cookie"));
    assert!(one.header("vary").unwrap().contains("cookie"));
    let request = Request::builder().method(Method::GET).uri("/").header("accept", "text/html");
    let zipped = fixture.visitor().request(request.header("accept-encoding", "br, gzip"), "").await;
    assert_eq!(zipped.header("content-encoding"), Some("gzip"));
    assert_eq!(zipped.body[..2], [0x1f, 0x8b]);
}
