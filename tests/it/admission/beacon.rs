//! The draw with a beacon as visitors meet it (rule 16).

use std::time::Duration;

use serde_json::{Value, json};
use vestibule_core::settings::Settings;
use vestibule_core::{Draw, Micros, SaleKeys, SessionId, Timestamp};
use vestibule_tests::GateUnderTest;

use crate::gate_fixture::{GateFixture, StoreSetup, direct_and_lambda};

direct_and_lambda! {
    visitors_are_drawn_when_the_beacon_is_recorded,
    lobby_tickets_are_void_without_the_beacon_at_the_end,
}

/// Seconds from the beginning of a test to the start and to the end of the event, and those of the draw.
const STARTS: u64 = 300;
const ENDS: u64 = 3_600;
const DRAW: u64 = 45;
/// Longest time for which a gate uses the store's answer while the value is missing.
const LEARNS_WITHIN: u64 = 6;

/// Settings of a queue in the lobby of an event with a beacon.
fn drawn(setup: &StoreSetup) -> Value {
    let now = setup.clock.now().seconds();
    let at = |seconds: u64| Timestamp::of(Micros(seconds * 1_000_000)).to_string();
    let event = json!({
        "id": "sale", "lobby_at": at(now - 600), "starts_at": at(now + STARTS), "ends_at": at(now + ENDS),
        "beacon": "drand-quicknet", "key": "s1", "salt": "a",
    });
    json!({ "mode": "scheduled", "quota": 0, "events": [event] })
}

/// Moves the clock forward. A request that asks the store tells the gate the time, as those of other visitors do.
async fn advance(fixture: &GateFixture, seconds: u64) {
    fixture.advance_seconds(seconds);
    fixture.visitor().post(&fixture.own("keepalive")).await;
}

/// Records the value of the beacon, and returns the draw.
async fn record_beacon(fixture: &GateFixture) -> Draw {
    let store = fixture.gate.store();
    let settings: Settings = store.settings(&fixture.queue).await.unwrap().unwrap();
    let event = &settings.line.events[0];
    let round = event.beacon_round().unwrap().round;
    let recorded =
        vestibule_runtime::record_beacon(&**store, &fixture.queue, &event.id, round, "00ff").await.unwrap().after;
    let keys = SaleKeys::new(&GateUnderTest::sale_keys()).unwrap();
    keys.draw(&recorded.id, &recorded.line.events[0]).unwrap()
}

/// The line document, read again.
async fn line_document(fixture: &GateFixture) -> Value {
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    fixture.visitor().fetch(&fixture.own("line")).await.json()
}

async fn visitors_are_drawn_when_the_beacon_is_recorded(setup: StoreSetup) {
    let settings = drawn(&setup);
    let fixture = GateFixture::open(setup, settings).await;
    let mut visitors = Vec::new();
    for _ in 0..3 {
        let mut visitor = fixture.visitor();
        visitor.navigate("/").await;
        visitors.push(visitor);
    }
    advance(&fixture, STARTS).await;
    for seconds in [0, 60, 600] {
        advance(&fixture, seconds).await;
        for visitor in &mut visitors {
            let status = visitor.fetch(&fixture.own("status")).await.json();
            let event = &status["event"];
            assert_eq!((&status["state"], &event["phase"]), (&json!("lobby"), &json!("draw")), "{status}");
            assert!(event["number"].is_null() && event["draw_ends_in"].is_null(), "{status}");
            assert!((15..=20).contains(&status["poll_after"].as_u64().unwrap()), "{status}");
        }
    }
    let document = line_document(&fixture).await;
    let (event, draw) = (&document["event"], &document["event"]["draw"]);
    assert_eq!((&document["phase"], &event["drawn_at"]), (&json!("draw"), &json!(null)), "{document}");
    assert!(draw["secret"].is_null() && draw["seed"].is_null() && draw["commitment"].is_string(), "{document}");
    let beacon = &draw["beacon"];
    assert!(beacon["randomness"].is_null() && beacon["signature"].is_null(), "{beacon}");
    let delay = beacon["at"].as_u64().unwrap() - event["starts_at"].as_u64().unwrap();
    assert!((10..13).contains(&delay), "{beacon}");

    let expected = record_beacon(&fixture).await;
    let drawn_at = fixture.setup.clock.now().seconds();
    advance(&fixture, LEARNS_WITHIN).await;
    let mut drawn = Vec::new();
    for mut visitor in visitors {
        let status = visitor.fetch(&fixture.own("status")).await.json();
        let session: SessionId = status["session"].as_str().unwrap().parse().unwrap();
        assert_eq!(status["event"]["number"], expected.number(session).to_string(), "{status}");
        drawn.push((session, visitor));
    }
    let document = line_document(&fixture).await;
    let (event, draw) = (&document["event"], &document["event"]["draw"]);
    assert_eq!((&event["drawn_at"], &draw["seed"]), (&json!(drawn_at), &json!(expected.seed())), "{document}");
    assert_eq!(draw["beacon"]["signature"], "00ff");
    assert!(draw["beacon"]["randomness"].is_string());
    advance(&fixture, DRAW).await;
    drawn.sort_by_key(|(session, _)| expected.number(*session));
    for (index, (_, visitor)) in drawn.iter_mut().enumerate() {
        let status = visitor.fetch(&fixture.own("status")).await.json();
        assert_eq!((&status["state"], &status["position"]), (&json!("waiting"), &json!(index + 1)), "{status}");
    }
}

async fn lobby_tickets_are_void_without_the_beacon_at_the_end(setup: StoreSetup) {
    let settings = drawn(&setup);
    let fixture = GateFixture::open(setup, settings).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    let before = visitor.fetch(&fixture.own("status")).await.json()["session"].clone();
    advance(&fixture, ENDS - 1).await;
    let status = visitor.fetch(&fixture.own("status")).await.json();
    assert_eq!((&status["state"], &status["session"]), (&json!("lobby"), &before), "{status}");
    advance(&fixture, 1).await;
    visitor.navigate("/").await;
    let status = visitor.fetch(&fixture.own("status")).await.json();
    assert_eq!((&status["state"], &status["position"]), (&json!("waiting"), &json!(1)), "{status}");
    assert_ne!(status["session"], before, "a newcomer");
}
