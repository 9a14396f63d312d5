//! The lobby and the draw of an event as visitors meet them (rules 14 and 15).

use std::time::Duration;

use serde_json::{Value, json};
use vestibule_core::line::{PageStart, SessionList};
use vestibule_core::settings::Settings;
use vestibule_core::{Draw, Micros, SaleKeys, SessionId, Timestamp};
use vestibule_tests::{GateUnderTest, Visitor, wait_until};

use crate::gate_fixture::{GateFixture, StoreSetup, direct_and_lambda, over_own_redis, session_in};

direct_and_lambda! {
    lobby_visitors_join_in_the_order_of_the_draw,
    a_set_mode_in_the_lobby_keeps_lobby_tickets,
    a_set_mode_during_the_draw_keeps_the_drawn_order,
    lobby_tickets_are_drawn_in_every_mode,
    lobby_tickets_are_void_without_their_event,
    lobby_ticket_of_an_earlier_event_is_void,
    leaving_the_lobby_deletes_the_ticket,
    line_document_commits_to_the_draw,
    line_document_keeps_the_last_draw,
    postponed_event_keeps_its_secret,
}

mod own_redis {
    use super::{lobby_is_shown_while_the_store_is_down, lobby_polls_cost_the_store_nothing, over_own_redis};

    over_own_redis! {
        lobby_polls_cost_the_store_nothing,
        lobby_is_shown_while_the_store_is_down,
    }
}

/// Seconds from the beginning of a test to the start of the event.
const STARTS: u64 = 300;
const DRAW: u64 = 30;

/// Settings of a queue in the lobby of an event with a draw.
fn drawn(setup: &StoreSetup, changes: &Value) -> Value {
    let now = setup.clock.now().seconds();
    let at = |seconds: u64| Timestamp::of(Micros(seconds * 1_000_000)).to_string();
    let event = json!({
        "id": "sale", "lobby_at": at(now - 600), "starts_at": at(now + STARTS), "ends_at": at(now + 3_600),
        "draw_seconds": DRAW, "key": "s1", "salt": "a",
    });
    let mut settings = json!({ "mode": "scheduled", "quota": 0, "events": [event] });
    settings.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    settings
}

/// Moves the clock forward. A request that asks the store tells the gate the time, as those of other visitors do.
async fn advance(fixture: &GateFixture, seconds: u64) {
    fixture.advance_seconds(seconds);
    fixture.visitor().post(&fixture.own("keepalive")).await;
}

async fn draw_of(fixture: &GateFixture) -> Draw {
    let settings: Settings = fixture.gate.store().settings(&fixture.queue).await.unwrap().unwrap();
    let keys = SaleKeys::new(&GateUnderTest::sale_keys()).unwrap();
    keys.draw(&settings.id, &settings.line.events[0]).unwrap()
}

async fn lobby_visitors_join_in_the_order_of_the_draw(setup: StoreSetup) {
    let settings = drawn(&setup, &json!({}));
    let fixture = GateFixture::open(setup, settings).await;
    let mut visitors = Vec::new();
    for _ in 0..3 {
        let mut visitor = fixture.visitor();
        let page = visitor.navigate("/").await;
        assert!(page.text().contains(">Start of "), "{}", page.text());
        // The event may be postponed to a day after its lobby opened, and the page does not ask for another cookie.
        let cookie = page
            .headers
            .get_all("set-cookie")
            .iter()
            .find_map(|it| it.to_str().ok()?.split("Max-Age=").nth(1))
            .unwrap();
        assert!(cookie.split(';').next().unwrap().parse::<u64>().unwrap() > 86_400, "{cookie}");
        let first = visitor.fetch(&fixture.own("status")).await.json();
        let again = visitor.fetch(&fixture.own("status")).await.json();
        assert_eq!((&first["state"], &first["session"]), (&json!("lobby"), &again["session"]));
        for field in ["position", "waiting", "active", "wait_seconds", "joined_at", "expires_in", "enter_url"] {
            assert!(first[field].is_null(), "{field}: {first}");
        }
        let event = &first["event"];
        assert_eq!(
            (&event["phase"], &event["order"], &event["number"]),
            (&json!("lobby"), &json!("draw"), &json!(null))
        );
        assert!(event["draw_ends_in"].as_f64().unwrap() - event["starts_in"].as_f64().unwrap() - (DRAW as f64) < 0.001);
        let asks_after = first["poll_after"].as_u64().unwrap();
        assert!((50..=75).contains(&asks_after), "{asks_after}");
        let session: SessionId = first["session"].as_str().unwrap().parse().unwrap();
        visitors.push((visitor, session));
    }
    assert_eq!(fixture.counts().await, (0, 0), "the lobby is not in the store");
    advance(&fixture, STARTS).await;
    let draw = draw_of(&fixture).await;
    for (visitor, session) in &mut visitors {
        let status = visitor.fetch(&fixture.own("status")).await.json();
        assert_eq!((&status["state"], &status["event"]["phase"]), (&json!("lobby"), &json!("draw")), "{status}");
        assert_eq!(status["session"], session.to_string());
        assert_eq!(status["support_code"], session.support_code(), "the code with which a visitor checks the draw");
        assert_eq!(status["event"]["number"], draw.number(*session).to_string());
        assert!(status["position"].is_null() && status["joined_at"].is_null(), "{status}");
        assert!(status["expires_in"].as_u64().unwrap() > 30, "present in line");
        let asks_after = status["poll_after"].as_u64().unwrap();
        assert!((1..=20).contains(&asks_after), "{asks_after}");
    }
    assert_eq!(fixture.counts().await, (3, 0));
    advance(&fixture, DRAW).await;
    visitors.sort_by_key(|(_, session)| draw.number(*session));
    for (index, (visitor, session)) in visitors.iter_mut().enumerate() {
        let status = visitor.fetch(&fixture.own("status")).await.json();
        assert_eq!((&status["state"], &status["position"]), (&json!("waiting"), &json!(index + 1)), "{status}");
        assert_eq!(status["event"]["number"], draw.number(*session).to_string());
        assert!(status["joined_at"].is_null(), "a drawn arrival is no time");
        assert_eq!(status["support_code"], session.support_code(), "it stays the one of the lobby");
    }
    let mut late = fixture.visitor();
    late.navigate("/").await;
    let status = late.fetch(&fixture.own("status")).await.json();
    assert_eq!((&status["position"], &status["event"]["number"]), (&json!(4), &json!(null)));
}

async fn a_set_mode_in_the_lobby_keeps_lobby_tickets(setup: StoreSetup) {
    let settings = drawn(&setup, &json!({}));
    let fixture = GateFixture::open(setup, settings).await;
    let (mut visitor, mut other) = (fixture.visitor(), fixture.visitor());
    visitor.navigate("/").await;
    let session = visitor.fetch(&fixture.own("status")).await.json()["session"].clone();
    other.navigate("/").await;
    for (mode, state) in [("closed", "closed"), ("paused", "paused"), ("scheduled", "lobby")] {
        fixture.change(&json!({ "mode": mode })).await;
        // The gate of another request has the new settings at once; this one asks the store within half a minute.
        advance(&fixture, 30).await;
        let status = visitor.fetch(&fixture.own("status")).await.json();
        assert_eq!((&status["state"], &status["session"]), (&json!(state), &session), "{mode}");
        let asks_after = status["poll_after"].as_u64().unwrap();
        assert!(asks_after >= 15, "the start is unknown or far away: {asks_after}");
        let page = visitor.navigate("/").await;
        assert!(
            !page.text().contains(">We keep your position")
                && !page.text().contains(">Admissions are paused. You keep")
        );
    }
    fixture.change(&json!({ "mode": "open" })).await;
    advance(&fixture, 30).await;
    let status = visitor.fetch(&fixture.own("status")).await.json();
    assert_eq!((&status["state"], &status["position"], &status["session"]), (&json!("waiting"), &json!(1), &session));
    assert!(status["joined_at"].is_u64(), "they join in order of arrival");
    fixture.change(&json!({ "mode": "scheduled" })).await;
    advance(&fixture, STARTS).await;
    let status = other.fetch(&fixture.own("status")).await.json();
    assert!(status["event"]["number"].is_string(), "the others are still drawn: {status}");
}

/// Visitors of a lobby, whose first visit was to it, in the order of their numbers.
async fn lobby_visitors(fixture: &GateFixture, count: usize) -> Vec<(Visitor, SessionId)> {
    let mut visitors = Vec::new();
    for _ in 0..count {
        let mut visitor = fixture.visitor();
        visitor.navigate("/").await;
        let session = session_in(&visitor.fetch(&fixture.own("status")).await);
        visitors.push((visitor, session));
    }
    let draw = draw_of(fixture).await;
    visitors.sort_by_key(|(_, session)| draw.number(*session));
    visitors
}

/// The state that each visitor is shown, who present their tickets in this order.
async fn states(fixture: &GateFixture, visitors: &mut [(Visitor, SessionId)]) -> Vec<String> {
    let mut shown = Vec::new();
    for (visitor, session) in visitors {
        let status = visitor.fetch(&fixture.own("status")).await.json();
        assert_eq!(status["session"], session.to_string(), "{status}");
        shown.push(status["state"].as_str().unwrap().to_owned());
    }
    shown
}

/// Who waits, from the front of the line.
async fn line(fixture: &GateFixture) -> Vec<SessionId> {
    let start = PageStart::default();
    let page = fixture.gate.store().page(&fixture.queue, SessionList::Waiting, start, usize::MAX).await.unwrap();
    page.entries.iter().map(|entry| entry.session).collect()
}

/// A visitor who came back first has the last number, and others return under the modes that are set meanwhile.
async fn a_set_mode_during_the_draw_keeps_the_drawn_order(setup: StoreSetup) {
    let settings = drawn(&setup, &json!({ "waiting_ttl": 300, "claim_ttl": 100 }));
    let fixture = GateFixture::open(setup, settings).await;
    let mut visitors = lobby_visitors(&fixture, 3).await;
    let drawn: Vec<SessionId> = visitors.iter().map(|(_, session)| *session).collect();
    visitors.reverse();
    advance(&fixture, STARTS).await;
    for (mode, state, present) in [("scheduled", "lobby", 1), ("closed", "closed", 2), ("paused", "paused", 3)] {
        fixture.change(&json!({ "mode": mode })).await;
        let states = states(&fixture, &mut visitors[..present]).await;
        assert!(states.iter().all(|shown| shown == state), "{mode}: {states:?}");
        assert_eq!(line(&fixture).await, drawn[3 - present..], "{mode}");
    }
    fixture.change(&json!({ "mode": "scheduled" })).await;
    let status = visitors[0].0.fetch(&fixture.own("status")).await.json();
    assert_eq!((&status["state"], &status["event"]["phase"]), (&json!("lobby"), &json!("draw")), "{status}");
    fixture.change(&json!({ "mode": "open", "quota": 1 })).await;
    assert_eq!(states(&fixture, &mut visitors).await, ["waiting", "waiting", "admitted"], "the first one in the order");
}

/// After the draw, tickets of the lobby are converted in every mode.
async fn lobby_tickets_are_drawn_in_every_mode(setup: StoreSetup) {
    let settings = drawn(&setup, &json!({ "waiting_ttl": 300, "claim_ttl": 100 }));
    let fixture = GateFixture::open(setup, settings).await;
    let mut visitors = lobby_visitors(&fixture, 4).await;
    let drawn: Vec<SessionId> = visitors.iter().map(|(_, session)| *session).collect();
    visitors.reverse();
    advance(&fixture, STARTS + DRAW).await;
    let modes = [("closed", "closed"), ("draining", "waiting"), ("paused", "paused"), ("open", "waiting")];
    for (index, (mode, state)) in modes.into_iter().enumerate() {
        fixture.change(&json!({ "mode": mode })).await;
        assert_eq!(states(&fixture, &mut visitors[index..=index]).await, [state], "{mode}");
        assert_eq!(line(&fixture).await, drawn[3 - index..], "{mode}");
    }
}

async fn lobby_tickets_are_void_without_their_event(setup: StoreSetup) {
    let settings = drawn(&setup, &json!({}));
    let fixture = GateFixture::open(setup, settings.clone()).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    let before = visitor.fetch(&fixture.own("status")).await.json()["session"].clone();
    let mut suspended = settings["events"].clone();
    suspended[0]["suspended"] = true.into();
    fixture.change(&json!({ "events": suspended, "between_events": "closed" })).await;
    advance(&fixture, 30).await;
    assert_eq!(visitor.fetch(&fixture.own("status")).await.json()["state"], "closed");
    fixture.change(&json!({ "events": settings["events"], "between_events": "bypass" })).await;
    advance(&fixture, 30).await;
    let status = visitor.fetch(&fixture.own("status")).await.json();
    assert_eq!((&status["state"], &status["session"]), (&json!("lobby"), &before), "the event takes place after all");
    fixture.gate.store().reset(&fixture.queue).await.unwrap();
    advance(&fixture, 30).await;
    let status = visitor.fetch(&fixture.own("status")).await.json();
    assert_eq!(status["state"], "lobby");
    assert_ne!(status["session"], before, "a newcomer after a reset");
}

/// An event with the ID of one that was removed is another event. A kept ticket is no way around its lobby.
async fn lobby_ticket_of_an_earlier_event_is_void(setup: StoreSetup) {
    let settings = drawn(&setup, &json!({}));
    let fixture = GateFixture::open(setup, settings.clone()).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    let before = visitor.fetch(&fixture.own("status")).await.json()["session"].clone();
    fixture.change(&json!({ "events": [] })).await;
    advance(&fixture, 30).await;
    let now = fixture.setup.clock.now().seconds();
    let at = |seconds: u64| Timestamp::of(Micros(seconds * 1_000_000)).to_string();
    let mut event = settings["events"][0].clone();
    for (field, seconds) in [("lobby_at", now + 10), ("starts_at", now + 310), ("ends_at", now + 3_600)] {
        event[field] = json!(at(seconds));
    }
    fixture.change(&json!({ "events": [event] })).await;
    advance(&fixture, 20).await;
    let status = visitor.fetch(&fixture.own("status")).await.json();
    assert_eq!(status["state"], "lobby");
    assert_ne!(status["session"], before, "a newcomer of this lobby");
}

async fn leaving_the_lobby_deletes_the_ticket(setup: StoreSetup) {
    let settings = drawn(&setup, &json!({}));
    let fixture = GateFixture::open(setup, settings).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    let before = visitor.fetch(&fixture.own("status")).await.json()["session"].clone();
    assert_eq!(visitor.post(&fixture.own("leave")).await.status, 204);
    assert_ne!(visitor.fetch(&fixture.own("status")).await.json()["session"], before);
}

async fn line_document_commits_to_the_draw(setup: StoreSetup) {
    let settings = drawn(&setup, &json!({}));
    let fixture = GateFixture::open(setup, settings).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    let session: SessionId =
        visitor.fetch(&fixture.own("status")).await.json()["session"].as_str().unwrap().parse().unwrap();
    let draw = draw_of(&fixture).await;
    let before = fixture.visitor().fetch(&fixture.own("line")).await.json();
    let event = &before["event"];
    assert_eq!(
        (&before["mode"], &before["phase"], &event["lobby_tickets"]),
        (&json!("lobby"), &json!("lobby"), &json!(1))
    );
    assert_eq!(event["draw"]["commitment"], draw.commitment().to_string());
    assert!(event["draw"]["secret"].is_null() && event["draw"]["seed"].is_null() && event["drawn_at"].is_null());
    advance(&fixture, STARTS).await;
    visitor.fetch(&fixture.own("status")).await;
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let after = fixture.visitor().fetch(&fixture.own("line")).await.json();
    assert_eq!((&after["mode"], &after["phase"]), (&json!("draw"), &json!("draw")));
    assert_eq!(after["event"]["drawn_at"], after["event"]["starts_at"]);
    let published = &after["event"]["draw"];
    assert_eq!((&published["commitment"], &published["salt"]), (&event["draw"]["commitment"], &json!("a")));
    assert_eq!((&published["secret"], &published["seed"]), (&json!(draw.secret()), &json!(draw.seed())));
    let front = &after["front"];
    assert_eq!((&front["arrival"], &front["joined_at"]), (&json!(draw.arrival(session)), &json!(null)));
    assert_eq!(front["number"], draw.number(session).to_string());
}

/// Also while an operator has set another mode, and once the event is over and the next one follows.
async fn line_document_keeps_the_last_draw(setup: StoreSetup) {
    let mut settings = drawn(&setup, &json!({}));
    let now = setup.clock.now().seconds();
    let at = |seconds: u64| Timestamp::of(Micros((now + seconds) * 1_000_000)).to_string();
    let next = json!({ "id": "next", "lobby_at": at(86_400), "starts_at": at(86_600), "ends_at": at(90_000), "key": "s1", "salt": "b" });
    settings["events"].as_array_mut().unwrap().push(next);
    let fixture = GateFixture::open(setup, settings).await;
    let draw = draw_of(&fixture).await;
    let read = async || {
        tokio::time::sleep(Duration::from_millis(1_100)).await;
        fixture.visitor().fetch(&fixture.own("line")).await.json()
    };
    assert_eq!(read().await["last_draw"], json!(null), "it is the current event");
    fixture.change(&json!({ "mode": "paused" })).await;
    let paused = read().await;
    let published = &paused["last_draw"];
    assert_eq!((&paused["event"], &published["id"], &published["phase"]), (&json!(null), &json!("sale"), &json!(null)));
    assert_eq!(published["draw"]["commitment"], draw.commitment().to_string());
    assert_eq!((&published["draw"]["secret"], &published["drawn_at"]), (&json!(null), &json!(null)));
    fixture.change(&json!({ "mode": "scheduled" })).await;
    for (seconds, phase) in [(10_000, "idle"), (76_400, "lobby")] {
        advance(&fixture, seconds).await;
        let document = read().await;
        assert_eq!((&document["phase"], &document["event"]["id"]), (&json!(phase), &json!("next")));
        let published = &document["last_draw"];
        assert_eq!((&published["id"], &published["draw"]["secret"]), (&json!("sale"), &json!(draw.secret())));
    }
}

async fn lobby_polls_cost_the_store_nothing(setup: StoreSetup) {
    let settings = drawn(&setup, &json!({}));
    let fixture = GateFixture::open(setup, settings).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    visitor.fetch(&fixture.own("status")).await;
    let before = fixture.setup.own().calls("fcall").await;
    for _ in 0..20 {
        assert_eq!(visitor.fetch(&fixture.own("status")).await.json()["state"], "lobby");
        visitor.navigate("/").await;
    }
    assert_eq!(fixture.setup.own().calls("fcall").await, before);
}

async fn lobby_is_shown_while_the_store_is_down(setup: StoreSetup) {
    let settings = drawn(&setup, &json!({}));
    let fixture = GateFixture::open(setup, settings).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    let session = visitor.fetch(&fixture.own("status")).await.json()["session"].clone();
    fixture.setup.own().kill();
    let status = visitor.fetch(&fixture.own("status")).await.json();
    assert_eq!((&status["state"], &status["session"]), (&json!("lobby"), &session), "{status}");
    assert!(visitor.navigate("/").await.text().contains(">Start of "));
    let mut newcomer = fixture.visitor();
    newcomer.navigate("/").await;
    assert_eq!(newcomer.fetch(&fixture.own("status")).await.json()["state"], "unavailable");
    fixture.setup.own().restart_empty().await;
    wait_until("the store is back", Duration::from_secs(20), async || {
        fixture.visitor().fetch(&fixture.own("status")).await.json()["state"] == "lobby"
    })
    .await;
    let status = visitor.fetch(&fixture.own("status")).await.json();
    assert_eq!((&status["state"], &status["session"]), (&json!("lobby"), &session), "{status}");
    advance(&fixture, STARTS).await;
    let status = visitor.fetch(&fixture.own("status")).await.json();
    assert!(status["event"]["number"].is_string(), "the draw is the same: {status}");
}

async fn postponed_event_keeps_its_secret(setup: StoreSetup) {
    let settings = drawn(&setup, &json!({}));
    let fixture = GateFixture::open(setup, settings.clone()).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    let mut postponed = settings["events"].clone();
    let start: Timestamp = postponed[0]["starts_at"].as_str().unwrap().parse().unwrap();
    postponed[0]["starts_at"] = Timestamp::of(start.micros().add_seconds(600)).to_string().into();
    fixture.change(&json!({ "events": postponed })).await;
    // This gate has not learned of the change yet.
    fixture.advance_seconds(STARTS + 1);
    let document = fixture.visitor().fetch(&fixture.own("line")).await.json();
    assert_eq!((&document["phase"], &document["event"]["drawn_at"]), (&json!("lobby"), &json!(null)), "{document}");
    assert!(document["event"]["draw"]["secret"].is_null(), "{document}");
    let status = visitor.fetch(&fixture.own("status")).await.json();
    assert_eq!((&status["state"], &status["event"]["number"]), (&json!("lobby"), &json!(null)), "{status}");
}
