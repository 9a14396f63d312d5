//! Scheduled queues: what visitors see in each phase, and which requests need the store (rule 13).

use serde_json::{Value, json};
use vestibule_core::{Micros, Timestamp};
use vestibule_tests::{TestResponse, wait_until};

use crate::gate_fixture::{GateFixture, StoreSetup, TIMEOUT, direct_and_lambda, over_own_redis};

direct_and_lambda! {
    lobby_page_counts_down_to_the_start,
    closed_page_shows_the_next_start,
    idle_queue_forwards_and_says_why,
    a_set_mode_overrides_the_events_at_once,
    first_request_after_the_opening_sees_the_lobby,
}

mod own_redis {
    use super::{an_idle_queue_asks_the_store_only_once, idle_queue_forwards_while_the_store_is_down, over_own_redis};

    over_own_redis! {
        an_idle_queue_asks_the_store_only_once,
        idle_queue_forwards_while_the_store_is_down,
    }
}

/// Settings of a queue with an event that opens its lobby, starts and ends this many seconds from the store's time.
fn scheduled(setup: &StoreSetup, lobby: i64, changes: &Value) -> Value {
    let now = setup.clock.now();
    let at = |seconds: i64| {
        let instant = now.0.saturating_add_signed(seconds * 1_000_000);
        Timestamp::of(Micros(instant)).to_string()
    };
    let mut settings = json!({
        "mode": "scheduled", "quota": 1,
        "events": [{ "id": "sale", "name": "Spring <sale>", "lobby_at": at(lobby), "starts_at": at(lobby + 900), "ends_at": at(lobby + 4_500), "order": "arrival" }],
    });
    settings.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    settings
}

fn heading(answer: &TestResponse) -> String {
    let page = answer.text();
    let (_, rest) = page.split_once("<h1").unwrap_or_else(|| panic!("no heading: {page}"));
    rest.split_once('>').unwrap().1.split_once("</h1>").unwrap().0.to_owned()
}

async fn lobby_page_counts_down_to_the_start(setup: StoreSetup) {
    let settings = scheduled(&setup, -600, &json!({}));
    let fixture = GateFixture::open(setup, settings.clone()).await;
    let mut visitor = fixture.visitor();
    let page = visitor.navigate("/").await;
    let starts = settings["events"][0]["starts_at"].as_str().unwrap().replace('T', " ");
    let heading = heading(&page);
    assert!(heading.starts_with(&format!("Start of Spring &lt;sale&gt;: {}", &starts[..16])), "{heading}");
    assert!(heading.ends_with(" UTC"), "{heading}");
    assert!(page.text().contains("about 5 minutes"), "{}", page.text());
    let status = visitor.fetch(&fixture.own("status")).await.json();
    assert_eq!((&status["state"], &status["position"]), (&json!("paused"), &json!(1)));
    let event = &status["event"];
    assert_eq!(
        (&event["id"], &event["name"], &event["phase"]),
        (&json!("sale"), &json!("Spring <sale>"), &json!("lobby"))
    );
    let left = event["starts_in"].as_f64().unwrap();
    assert!((290.0..=300.0).contains(&left), "{left}");
    fixture.advance_seconds(300);
    let status = visitor.fetch(&fixture.own("status")).await.json();
    assert_eq!((&status["state"], &status["event"]["phase"]), (&json!("admitted"), &json!("running")));
}

async fn closed_page_shows_the_next_start(setup: StoreSetup) {
    let settings = scheduled(&setup, 3_600, &json!({ "between_events": "closed" }));
    let fixture = GateFixture::open(setup, settings).await;
    let mut visitor = fixture.visitor();
    let page = visitor.navigate("/").await;
    assert!(heading(&page).starts_with("Start of Spring &lt;sale&gt;: "), "{}", page.text());
    let status = visitor.fetch(&fixture.own("status")).await.json();
    assert_eq!((&status["state"], &status["event"]["phase"]), (&json!("closed"), &json!("idle")));
    assert_eq!(fixture.counts().await, (0, 0));
}

async fn idle_queue_forwards_and_says_why(setup: StoreSetup) {
    let settings = scheduled(&setup, 3_600, &json!({}));
    let fixture = GateFixture::open(setup, settings).await;
    for _ in 0..3 {
        let answer = fixture.visitor().navigate("/shop").await;
        assert!(answer.text().contains("origin /shop"), "{}", answer.text());
        assert_eq!(fixture.origin.requests().last().unwrap().headers["x-vestibule-bypass"], "mode");
    }
    fixture.advance_seconds(3_600);
    // A request that asks the store tells this gate the time.
    fixture.visitor().fetch(&fixture.own("status")).await;
    let answer = fixture.visitor().navigate("/shop").await;
    assert!(heading(&answer).starts_with("Start of Spring &lt;sale&gt;"), "{}", answer.text());
}

async fn a_set_mode_overrides_the_events_at_once(setup: StoreSetup) {
    let settings = scheduled(&setup, -600, &json!({}));
    let fixture = GateFixture::open(setup, settings).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    for (mode, state) in [("closed", "closed"), ("scheduled", "paused"), ("open", "admitted")] {
        fixture.change(&json!({ "mode": mode })).await;
        let status = visitor.fetch(&fixture.own("status")).await.json();
        assert_eq!(status["state"], state, "{mode}");
        assert_eq!(status["event"].is_null(), mode != "scheduled", "{mode}: {status}");
    }
}

async fn an_idle_queue_asks_the_store_only_once(setup: StoreSetup) {
    let settings = scheduled(&setup, 3_600, &json!({}));
    let fixture = GateFixture::open(setup, settings).await;
    assert!(fixture.visitor().navigate("/").await.text().contains("origin /"));
    let before = fixture.setup.own().calls("fcall").await;
    for _ in 0..20 {
        assert!(fixture.visitor().navigate("/").await.text().contains("origin /"));
    }
    assert_eq!(fixture.setup.own().calls("fcall").await, before);
}

/// Nobody notices between events that the store is down: an hour before the lobby requests do not need it, and half a minute
/// before they ask in vain.
async fn idle_queue_forwards_while_the_store_is_down(setup: StoreSetup) {
    let settings = scheduled(&setup, 3_600, &json!({}));
    let fixture = GateFixture::open(setup, settings).await;
    for (seconds, requests) in [(0, 3), (3_572, 1)] {
        fixture.advance_seconds(seconds);
        wait_until("the gate asks the store", TIMEOUT, async || {
            fixture.visitor().fetch(&fixture.own("status")).await.json()["event"]["phase"] == "idle"
        })
        .await;
        fixture.setup.own().kill();
        for _ in 0..requests {
            let answer = fixture.visitor().navigate("/shop").await;
            assert!(answer.text().contains("origin /shop"), "{}", answer.text());
            assert_eq!(fixture.origin.requests().last().unwrap().headers["x-vestibule-bypass"], "mode");
        }
        fixture.setup.own().restart_empty().await;
    }
}

async fn first_request_after_the_opening_sees_the_lobby(setup: StoreSetup) {
    let settings = scheduled(&setup, 3_600, &json!({}));
    let fixture = GateFixture::open(setup, settings).await;
    fixture.advance_seconds(3_571);
    // A request that asks the store tells this gate the time.
    fixture.visitor().fetch(&fixture.own("status")).await;
    assert!(fixture.visitor().navigate("/shop").await.text().contains("origin /shop"));
    fixture.advance_seconds(30);
    let answer = fixture.visitor().navigate("/shop").await;
    assert!(heading(&answer).starts_with("Start of Spring &lt;sale&gt;: "), "{}", answer.text());
}
