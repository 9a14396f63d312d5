//! Headers of `VESTIBULE_TRUSTED_HEADERS`: what rules do with them, and who can send them.

use http::StatusCode;
use serde_json::{Value, json};
use vestibule_gate::ClientRules;
use vestibule_tests::{GateOptions, Visitor};

use crate::gate_fixture::{GateFixture, StoreSetup, direct_and_lambda, navigation, raw};

direct_and_lambda! {
    client_is_classified_by_the_header_of_a_proxy,
    header_of_a_proxy_precedes_lists_of_networks,
    header_is_dropped_without_all_proxies,
    last_value_of_a_header_counts,
    ;
    differing:
    header_is_dropped_without_trusted_proxies: Trust,
}

const SCORE: &str = "cf-bot-score";
const ADDRESS: &str = "203.0.113.9";

/// A full queue whose rules compare the score.
fn scored() -> Value {
    let rule =
        |action: &str, test: &str, score: u64| json!({ "action": action, "header": { "name": SCORE, test: score } });
    json!({
        "rules": [rule("block", "below", 10), rule("challenge", "below", 30), rule("trust", "above", 90)],
        "protection": {
            "pre_ticket_from": 0, "mode": "enforce", "on_exceed": "reject", "networks": { "203.0.113.0/24": "blocked" },
            "proof_of_work": { "mode": "auto", "effort": 100 },
        },
    })
}

async fn behind_proxies(setup: StoreSetup, settings: Value, trusted_proxies: usize) -> GateFixture {
    let clients = ClientRules { trusted_headers: SCORE.parse().unwrap(), ..ClientRules::default() };
    GateFixture::open_with(setup, settings, GateOptions { trusted_proxies, clients, ..GateOptions::default() }).await
}

/// A visitor whom a proxy gave this address and score.
fn visitor(fixture: &GateFixture, address: &str, score: &str) -> Visitor {
    fixture.visitor().with_header("x-forwarded-for", address).with_header(SCORE, score)
}

/// The next step of a newcomer after the first visit; `null` in line.
async fn next_step(fixture: &GateFixture, mut visitor: Visitor) -> Value {
    visitor.navigate("/").await;
    visitor.status(fixture.queue.as_str()).await.json()["join"].clone()
}

async fn client_is_classified_by_the_header_of_a_proxy(setup: StoreSetup) {
    let fixture = behind_proxies(setup, scored(), 1).await;
    let step = async |score: &str| next_step(&fixture, visitor(&fixture, "198.51.100.1", score)).await;
    let blocked = step("9").await;
    assert_eq!((&blocked["action"], &blocked["reason"]), (&json!("retry_later"), &json!("blocked")));
    let challenged = step("29").await;
    assert_eq!((&challenged["action"], &challenged["difficulty"]), (&json!("prove"), &json!(16)));
    assert_eq!(step("30").await, Value::Null, "an ordinary newcomer");
    assert_eq!(step("unknown").await, Value::Null, "no integer");
    let mut bot = visitor(&fixture, "198.51.100.1", "1");
    bot.navigate("/").await;
    let page = bot.navigate("/").await;
    assert_eq!((page.status, page.header("cache-control")), (StatusCode::TOO_MANY_REQUESTS, Some("no-store")));
    assert!(page.header("retry-after").is_some_and(|seconds| (300..=450).contains(&seconds.parse().unwrap())));
    assert_eq!(fixture.counts().await, (2, 0));
}

async fn header_of_a_proxy_precedes_lists_of_networks(setup: StoreSetup) {
    let fixture = behind_proxies(setup, scored(), 1).await;
    let step = async |score: &str| next_step(&fixture, visitor(&fixture, ADDRESS, score)).await;
    assert_eq!(step("50").await["reason"], "blocked", "by its network");
    assert_eq!(step("91").await, Value::Null, "trusted");
    assert_eq!(step("29").await["action"], "prove", "suspicious");
}

/// A request that came past a proxy has fewer entries in `X-Forwarded-For` than proxies are trusted.
async fn header_is_dropped_without_all_proxies(setup: StoreSetup) {
    let mut settings = scored();
    settings["rules"].as_array_mut().unwrap().push(json!({ "action": "bypass", "path": "/static/**" }));
    let fixture = behind_proxies(setup, settings, 1).await;
    assert_eq!(next_step(&fixture, fixture.visitor().with_header(SCORE, "1")).await, Value::Null);
    fixture.visitor().with_header(SCORE, "1").fetch("/static/past").await;
    visitor(&fixture, ADDRESS, "1").with_header("cf_bot_score", "99").fetch("/static/through").await;
    let requests = fixture.origin.requests();
    let imitated = requests.iter().filter(|request| request.headers.contains_key("cf_bot_score"));
    assert_eq!(imitated.count(), 0, "where headers become variables, both are the same");
    let sent: Vec<_> = requests
        .iter()
        .map(|request| (request.uri.path(), request.headers.get(SCORE).map(|score| score.to_str().unwrap())))
        .collect();
    assert_eq!(sent, [("/static/past", None), ("/static/through", Some("1"))], "the site sees no forged one either");
}

async fn header_is_dropped_without_trusted_proxies(setup: StoreSetup) {
    let mut settings = scored();
    settings["protection"]["networks"] = json!({ "127.0.0.0/8": "blocked" });
    let fixture = behind_proxies(setup, settings, 0).await;
    assert_eq!(next_step(&fixture, visitor(&fixture, ADDRESS, "99")).await["reason"], "blocked");
}

/// A proxy that appends its value leaves the client's before it.
async fn last_value_of_a_header_counts(setup: StoreSetup) {
    let mut settings = scored();
    settings["protection"]["pre_ticket_from"] = json!("none");
    let fixture = behind_proxies(setup, settings, 1).await;
    for (scores, status) in [(["99", "1"], "429"), (["1", "99"], "200")] {
        let lines = scores.map(|score| format!("{SCORE}: {score}"));
        let lines = ["X-Forwarded-For: 198.51.100.1", &lines[0], &lines[1]];
        let (head, _) = raw(fixture.gate.address(), &navigation("/", &fixture.host, &lines)).await;
        assert!(head.starts_with(&format!("http/1.1 {status}")), "{scores:?}: {head}");
    }
}
