//! `line`: what is true for everyone, and how long caches may keep it.

use http::{Method, Request, StatusCode};
use serde_json::{Value, json};
use vestibule_tests::{GateOptions, Nginx, Visitor};

use crate::gate_fixture::{GateFixture, StoreSetup, direct_and_lambda};

direct_and_lambda! {
    the_line_document_has_exactly_these_fields,
    the_line_document_joins_nobody_and_sets_no_cookie,
    an_unchanged_line_document_is_not_sent_again,
    every_site_may_read_the_line_document,
}

async fn read(fixture: &GateFixture) -> vestibule_tests::TestResponse {
    fixture.visitor().fetch(&fixture.own("line")).await
}

async fn the_line_document_has_exactly_these_fields(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 1, "mode": "open" })).await;
    let mut joined_at = Vec::new();
    for _ in 0..4 {
        joined_at.push(fixture.visitor().status(fixture.queue.as_str()).await.json()["joined_at"].clone());
    }
    let stats = fixture.stats().await;
    let document = read(&fixture).await.json();
    let arrivals: Vec<u64> =
        document["checkpoints"].as_array().unwrap().iter().map(|it| it[1].as_u64().unwrap()).collect();
    assert!(arrivals.is_sorted() && arrivals.len() == 3, "{document}");
    let wait = document["wait_seconds"].clone();
    assert!(wait["p50"].as_u64().unwrap() > 60 && wait["p90"].as_u64() > wait["p50"].as_u64(), "{wait}");
    let expected = json!({
        "queue": fixture.queue, "name": "Acme tour", "at": document["at"], "epoch": stats.rules.epoch, "revision": 1,
        "state_since": stats.state_since.seconds(), "mode": "open", "phase": null, "recovering": false, "waiting": 3,
        "active": 1, "joined": 4, "admitted": 1, "admitted_per_minute": document["admitted_per_minute"],
        "wait_seconds": wait,
        "front": { "arrival": arrivals[0], "joined_at": joined_at[1], "number": null },
        "last": { "arrival": arrivals[2] },
        "checkpoints": [[1, arrivals[0]], [2, arrivals[1]], [3, arrivals[2]]],
        "event": null, "last_draw": null, "message": null, "poll_after": 5,
    });
    assert_eq!(document, expected);
    let empty = GateFixture::open(fixture.setup.clone(), json!({ "quota": 1 })).await;
    let document = read(&empty).await.json();
    assert_eq!(
        (&document["front"], &document["last"], &document["checkpoints"]),
        (&Value::Null, &Value::Null, &json!([]))
    );
    assert_eq!(document["wait_seconds"], json!({ "p50": 0, "p90": 0 }));
}

async fn the_line_document_joins_nobody_and_sets_no_cookie(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 0 })).await;
    let mut visitor = fixture.visitor();
    for path in [fixture.own("line"), "/_vestibule/line".to_owned()] {
        let answer = visitor.fetch(&path).await;
        assert_eq!((answer.status, answer.header("set-cookie")), (StatusCode::OK, None));
        assert_eq!(
            answer.header("cache-control"),
            Some("public, max-age=1, s-maxage=2, stale-while-revalidate=8, stale-if-error=60")
        );
        assert_eq!(
            (answer.header("vary"), answer.header("content-type")),
            (Some("Accept-Encoding"), Some("application/json"))
        );
    }
    assert_eq!(fixture.counts().await, (0, 0));
    let head = visitor.request(Request::builder().method(Method::HEAD).uri(fixture.own("line")), "").await;
    assert_eq!((head.status, head.text()), (StatusCode::OK, ""));
    let missing = visitor.fetch("/_vestibule/line?queue=another").await;
    assert_eq!((missing.status, missing.json()["code"].clone()), (StatusCode::NOT_FOUND, json!("unknown_queue")));
    visitor.status(fixture.queue.as_str()).await;
    let with_ticket = visitor.fetch(&fixture.own("line")).await;
    assert_eq!(with_ticket.header("set-cookie"), None, "no ticket is read");
}

async fn an_unchanged_line_document_is_not_sent_again(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 0 })).await;
    let first = read(&fixture).await;
    let etag = first.header("etag").unwrap();
    let ask = |tag: &str| Request::get(fixture.own("line")).header("if-none-match", tag.to_owned());
    let mut visitor = fixture.visitor();
    // The store's clock stands still, so the next document is the same.
    let again = visitor.request(ask(etag), "").await;
    assert_eq!((again.status, again.header("etag"), again.text()), (StatusCode::NOT_MODIFIED, Some(etag), ""));
    assert!(again.header("cache-control").is_some());
    assert_eq!(visitor.request(ask("\"another\""), "").await.status, StatusCode::OK);
}

async fn every_site_may_read_the_line_document(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 0 })).await;
    let request =
        |method| Request::builder().method(method).uri(fixture.own("line")).header("origin", "https://other.example");
    let mut visitor = fixture.visitor();
    for method in [Method::GET, Method::OPTIONS] {
        let answer = visitor.request(request(method), "").await;
        assert!(answer.status.is_success(), "{}", answer.status);
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
        assert_eq!(answer.header("access-control-allow-credentials"), None);
    }
}

/// A cache in front of the gate asks it once for many clients, whatever tickets they have.
#[tokio::test]
async fn a_shared_cache_keeps_the_line_document() {
    let options = GateOptions { trusted_proxies: 1, ..GateOptions::default() };
    let fixture = GateFixture::open_with(StoreSetup::memory(), json!({ "quota": 0 }), options).await;
    let nginx = Nginx::start(&format!(
        "proxy_cache_path cache keys_zone=lines:1m;\n\
         server {{ listen 127.0.0.1:{{port}}; location / {{\n\
         proxy_pass http://{}; proxy_set_header Host $http_host; proxy_cache lines; proxy_cache_lock on;\n\
         proxy_cache_use_stale updating error timeout http_503; proxy_cache_background_update on;\n\
         add_header X-Cache $upstream_cache_status;\n\
         }} }}",
        fixture.gate.address()
    ))
    .await;
    let mut states = Vec::new();
    for _ in 0..50 {
        let mut visitor = Visitor::new(&nginx.address(), &fixture.host);
        visitor.status(fixture.queue.as_str()).await;
        let answer = visitor.fetch(&fixture.own("line")).await;
        assert_eq!((answer.status, answer.header("set-cookie")), (StatusCode::OK, None));
        states.push(answer.header("x-cache").unwrap().to_owned());
    }
    let misses = states.iter().filter(|state| *state == "MISS").count();
    assert_eq!(misses, 1, "{states:?}");
    assert!(
        states.iter().all(|state| ["MISS", "HIT", "STALE", "UPDATING", "EXPIRED"].contains(&state.as_str())),
        "{states:?}"
    );
}
