//! Events of queues: their state, and the fields that their phase fixes.

use http::Method;
use serde_json::{Value, json};
use vestibule_core::line::Visit;
use vestibule_core::settings::Settings;
use vestibule_core::{
    Draw, KeyList, LobbyTicket, Micros, PutMode, QueueId, SaleKeys, SessionId, TicketSigner, Timestamp,
};
use vestibule_tests::{AdminClient, GateUnderTest, TestResponse};

use super::backoffice::{Backoffice, on_memory_and_redis, queue};

on_memory_and_redis! {
    event_reports_its_phase_and_problems,
    locked_fields_are_rejected_by_update_and_import,
    late_lobby_is_a_warning_of_validation,
    events_survive_export_and_import,
    draw_is_committed_to_and_proven,
    lobby_tickets_are_counted_and_removed_with_a_confirmation,
    only_unused_tickets_become_invalid_after_the_draw,
    nobody_is_admitted_by_hand_during_the_draw,
    drawn_sessions_show_their_number,
    draws_need_a_known_sale_key,
}

/// This many seconds from now.
fn at(backoffice: &Backoffice, seconds: u64) -> String {
    Timestamp::of(Micros(0).add_seconds(backoffice.now() + seconds)).to_string()
}

/// An event that opens its lobby in 100 seconds, starts in 200 and ends in 300.
fn sale(backoffice: &Backoffice) -> Value {
    let [lobby_at, starts_at, ends_at] = [100, 200, 300].map(|seconds| at(backoffice, seconds));
    json!({ "id": "sale", "lobby_at": lobby_at, "starts_at": starts_at, "ends_at": ends_at, "order": "arrival", "suspended": false })
}

async fn scheduled(backoffice: &Backoffice) -> Value {
    backoffice.tenant("acme").await;
    let sale = sale(backoffice);
    backoffice.queue("tour", "acme", json!({ "mode": "scheduled", "quota": 0, "events": [sale] })).await;
    sale
}

async fn event_reports_its_phase_and_problems(backoffice: Backoffice) {
    scheduled(&backoffice).await;
    let mut root = backoffice.root();
    for (seconds, phase, effective) in
        [(0, "upcoming", "bypass"), (100, "lobby", "paused"), (100, "running", "open"), (100, "ending", "open")]
    {
        backoffice.advance_seconds(seconds);
        let event = root.get("/queues/tour/events/sale").await.json();
        assert_eq!((&event["phase"], &event["name"]), (&json!(phase), &json!("tour")));
        let stats = root.get("/queues/tour/stats").await.json();
        assert_eq!((&stats["mode"], &stats["effective_mode"]), (&json!("scheduled"), &json!(effective)));
        assert_eq!(stats["event"]["starts_in"], event["starts_in"]);
    }
    let event = root.get("/queues/tour/events/sale").await.json();
    assert_eq!(event["problems"][0]["code"], "event_past");
    assert_eq!(root.get("/queues/tour/events/other").await.status, 404);
}

async fn locked_fields_are_rejected_by_update_and_import(backoffice: Backoffice) {
    let sale = scheduled(&backoffice).await;
    let mut root = backoffice.root();
    let changed = |field: &str, seconds: u64| {
        let mut event = sale.clone();
        event[field] = at(&backoffice, seconds).into();
        json!({ "events": [event] })
    };
    let (earlier, later) = (changed("lobby_at", 120), changed("starts_at", 220));
    assert_eq!(root.patch("/queues/tour", earlier.clone()).await.status, 200, "before the lobby");
    assert_eq!(root.patch("/queues/tour", json!({ "events": [sale] })).await.status, 200);
    backoffice.advance_seconds(100);
    let refused = root.patch("/queues/tour", earlier.clone()).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (422, "event_locked".to_owned()), "{}", refused.text());
    assert!(refused.wrong_fields()[0].starts_with("events[0].lobby_at: cannot be changed after lobby_at"));
    assert_eq!(root.patch("/queues/tour", later.clone()).await.status, 200, "an event can be postponed in its lobby");
    assert_eq!(root.patch("/queues/tour", json!({ "events": [sale] })).await.status, 200);
    let mut import = queue("tour", "acme", earlier);
    import["mode"] = "scheduled".into();
    let document = json!({ "tenants": [{ "id": "acme", "name": "acme" }], "queues": [import] });
    let refused = root.post("/settings?validate=true", document).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (422, "event_locked".to_owned()), "{}", refused.text());
    assert!(refused.wrong_fields()[0].starts_with("tour.events[0].lobby_at: "), "{}", refused.text());
    backoffice.advance_seconds(100);
    assert_eq!(root.patch("/queues/tour", later).await.code(), "event_locked", "after the start");
    assert_eq!(root.patch("/queues/tour", json!({ "events": [] })).await.status, 200, "an event can be removed");
}

async fn late_lobby_is_a_warning_of_validation(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({ "mode": "scheduled" })).await;
    let mut root = backoffice.root();
    let patch = json!({ "events": [sale(&backoffice)] });
    let validate = "/queues/tour?validate=true";
    assert_eq!(root.patch(validate, patch.clone()).await.json()["warnings"], json!([]));
    backoffice.advance_seconds(71);
    let warned = root.patch(validate, patch.clone()).await.json();
    let (field, code) = (&warned["warnings"][0]["field"], &warned["warnings"][0]["code"]);
    assert_eq!((field, code), (&json!("events[0].lobby_at"), &json!("lobby_soon")), "{warned}");
    assert_eq!(root.patch("/queues/tour", patch.clone()).await.status, 200, "a warning prevents nothing");
    assert_eq!(root.patch(validate, patch).await.json()["warnings"], json!([]), "gates know it");
}

async fn events_survive_export_and_import(backoffice: Backoffice) {
    let sale = scheduled(&backoffice).await;
    let mut root = backoffice.root();
    let exported = root.get("/settings").await.json();
    assert_eq!((&exported["queues"][0]["mode"], &exported["queues"][0]["events"][0]), (&json!("scheduled"), &sale));
    let plan = root.post("/settings?validate=true", exported).await.json();
    assert_eq!(plan["plan"]["queues"], json!([]), "an export changes nothing");
    let toml = root.get("/settings?format=toml").await;
    assert!(toml.text().contains("[[queues.events]]\nid = \"sale\"\nlobby_at = \""), "{}", toml.text());
}

/// An event with a draw that opens its lobby in 100 seconds, starts in 200 and draws until 230.
async fn drawn(backoffice: &Backoffice) -> Value {
    backoffice.tenant("acme").await;
    let mut sale = sale(backoffice);
    sale["order"] = "draw".into();
    backoffice.queue("tour", "acme", json!({ "mode": "scheduled", "events": [sale] })).await["events"][0].take()
}

/// Lets a visitor come to the lobby.
async fn enter_lobby(backoffice: &Backoffice) -> LobbyTicket {
    let (queue, visit): (QueueId, _) = ("tour".parse().unwrap(), Visit::joining(SessionId::random()));
    let answer = backoffice.store.visit(&queue, visit.clone()).await.unwrap();
    let signer = TicketSigner::new(&KeyList::of_bytes("k1", [7; 32])).unwrap();
    let token = signer.sign_lobby(&queue, &"sale".parse().unwrap(), &answer.lobby_entry(&visit).unwrap());
    signer.verify_lobby(&queue, token.unwrap().as_bytes()).unwrap()
}

async fn draw_of(backoffice: &Backoffice) -> Draw {
    let queue: QueueId = "tour".parse().unwrap();
    let settings = backoffice.store.settings(&queue).await.unwrap().unwrap();
    SaleKeys::new(&GateUnderTest::sale_keys()).unwrap().draw(&queue, &settings.line.events[0]).unwrap()
}

async fn draw_is_committed_to_and_proven(backoffice: Backoffice) {
    let sale = drawn(&backoffice).await;
    let start = backoffice.now() + 200;
    assert_eq!(sale["key"], "s1");
    assert_eq!(sale["salt"].as_str().unwrap().len(), 16, "nobody can choose it: {sale}");
    let expected = draw_of(&backoffice).await;
    let mut root = backoffice.root();
    for (seconds, phase, effective, is_proven) in [
        (0, "upcoming", "bypass", false),
        (199, "lobby", "lobby", false),
        (1, "draw", "draw", true),
        (30, "running", "open", true),
    ] {
        backoffice.advance_seconds(seconds);
        let event = root.get("/queues/tour/events/sale").await.json();
        let stats = root.get("/queues/tour/stats").await.json();
        assert_eq!((&event["phase"], &stats["effective_mode"]), (&json!(phase), &json!(effective)));
        assert_eq!(stats["event"]["draw_ends_at"], start + 30);
        let draw = &event["draw"];
        assert_eq!(draw["commitment"], expected.commitment().to_string(), "known as soon as the event exists");
        let proof = is_proven.then(|| [expected.secret(), expected.seed()].map(|value| value.to_string()));
        let found =
            draw["secret"].as_str().map(|secret| [secret.to_owned(), draw["seed"].as_str().unwrap().to_owned()]);
        assert_eq!(found, proof, "{phase}");
    }
    let mut suspended = sale;
    suspended["suspended"] = true.into();
    assert_eq!(root.patch("/queues/tour", json!({ "events": [suspended] })).await.status, 200);
    let event = root.get("/queues/tour/events/sale").await.json();
    assert_eq!((&event["phase"], &event["draw"]["secret"]), (&json!("suspended"), &Value::Null));
}

/// Changes the queue with the token of the first response.
async fn patch_confirmed(root: &mut AdminClient, patch: Value) -> TestResponse {
    let token = root.patch("/queues/tour", patch.clone()).await.confirmation();
    let headers = [("if-match", "*"), ("x-vestibule-confirm", token.as_str())];
    root.send(Method::PATCH, "/queues/tour", &headers, Some(patch)).await
}

async fn lobby_tickets_are_counted_and_removed_with_a_confirmation(backoffice: Backoffice) {
    let first = drawn(&backoffice).await;
    let mut root = backoffice.root();
    let removed = json!({ "events": [] });
    backoffice.advance_seconds(100);
    assert_eq!(root.get("/queues/tour/events/sale").await.json()["lobby_tickets"], 0);
    assert_eq!(root.patch("/queues/tour", removed.clone()).await.status, 200, "nobody is in the lobby");
    let created = root.patch("/queues/tour", json!({ "events": [first] })).await;
    assert_eq!(created.status, 200);
    let sale = created.json()["events"][0].clone();
    assert_ne!(sale["salt"], first["salt"], "a secret that may be public is not used again");
    let changed = |field: &str, value: Value| {
        let mut event = sale.clone();
        event[field] = value;
        json!({ "events": [event] })
    };
    for _ in 0..3 {
        enter_lobby(&backoffice).await;
    }
    let event = root.get("/queues/tour/events/sale").await.json();
    let stats = root.get("/queues/tour/stats").await.json();
    assert_eq!(
        (&event["lobby_tickets"], &stats["event"]["lobby_tickets"], &stats["waiting"]),
        (&json!(3), &json!(3), &json!(0))
    );
    assert_eq!(root.patch("/queues/tour", changed("name", "New".into())).await.status, 200, "the tickets stay valid");
    for void in [removed.clone(), changed("suspended", true.into())] {
        let asked = root.patch("/queues/tour", void).await;
        assert_eq!((asked.status.as_u16(), asked.code()), (428, "confirmation_required".to_owned()));
        let message = &asked.json()["confirmation"]["message"];
        assert_eq!((&message["code"], &message["params"]["tickets"]), (&json!("will_void_lobby_tickets"), &json!(3)));
    }
    let lobby_of = async |method: Method, path: &str| {
        let asked = backoffice.root().send(method, path, &[], None).await.json();
        let message = &asked["confirmation"]["message"];
        assert_eq!(message["code"], "both", "{asked}");
        (message["params"]["first"]["code"].clone(), message["params"]["then"].clone())
    };
    for mode in ["scheduled", "paused"] {
        assert_eq!(root.patch("/queues/tour", json!({ "mode": mode })).await.status, 200);
        for (method, path, code) in
            [(Method::POST, "/queues/tour/reset", "will_reset"), (Method::DELETE, "/queues/tour", "will_remove_queue")]
        {
            let (first, then) = lobby_of(method, path).await;
            let expected = match mode {
                "scheduled" => {
                    json!({ "code": "will_void_lobby_tickets", "params": { "tickets": 3, "event": "sale" } })
                }
                _ => json!({ "code": "will_void_uncounted_tickets", "params": { "event": "sale" } }),
            };
            assert_eq!((first, then), (json!(code), expected));
        }
    }
    let asked = root.patch("/queues/tour", removed.clone()).await.json();
    assert_eq!(asked["confirmation"]["message"]["code"], "will_void_uncounted_tickets");
    assert_eq!(patch_confirmed(&mut root, removed).await.status, 200);
}

async fn only_unused_tickets_become_invalid_after_the_draw(backoffice: Backoffice) {
    drawn(&backoffice).await;
    let mut root = backoffice.root();
    backoffice.advance_seconds(100);
    for _ in 0..4 {
        enter_lobby(&backoffice).await;
    }
    for (seconds, code) in [(99, "will_void_lobby_tickets"), (1, "will_void_unused_tickets")] {
        backoffice.advance_seconds(seconds);
        let reset = root.post("/queues/tour/reset", json!({})).await.json();
        let expected = json!({ "code": code, "params": { "tickets": 4, "event": "sale" } });
        assert_eq!(reset["confirmation"]["message"]["params"]["then"], expected, "{reset}");
    }
}

async fn nobody_is_admitted_by_hand_during_the_draw(backoffice: Backoffice) {
    drawn(&backoffice).await;
    let mut root = backoffice.root();
    backoffice.advance_seconds(229);
    let session = backoffice.join("tour", 1).await[0];
    let admit = format!("/queues/tour/sessions/{session}/admit");
    for (path, body) in [("/queues/tour/release", json!({ "count": 1 })), (&admit, json!({}))] {
        let refused = root.post(path, body).await;
        assert_eq!((refused.status.as_u16(), refused.code()), (409, "draw_in_progress".to_owned()), "{path}");
        assert_eq!(refused.json()["params"]["seconds"], 1);
    }
    backoffice.advance_seconds(1);
    assert_eq!(root.get("/queues/tour/stats").await.json()["effective_mode"], "open");
    assert_eq!(root.post(&admit, json!({})).await.status, 200);
}

async fn drawn_sessions_show_their_number(backoffice: Backoffice) {
    drawn(&backoffice).await;
    let mut root = backoffice.root();
    backoffice.advance_seconds(100);
    let lobby = enter_lobby(&backoffice).await;
    backoffice.advance_seconds(110);
    let (draw, session) = (draw_of(&backoffice).await, lobby.session());
    let ticket = lobby.drawn(&draw, Micros(0).add_seconds(backoffice.now() - 10), 0);
    let visit = Visit { ticket: Some(ticket), ..Visit::joining(session) };
    backoffice.store.visit(&"tour".parse().unwrap(), visit).await.unwrap();
    let late = backoffice.join("tour", 1).await[0];
    let listed = root.get("/queues/tour/sessions").await.json();
    let shown = |entry: &Value| (entry["session"].clone(), entry["number"].clone(), entry["joined_at"].is_null());
    assert_eq!(
        shown(&listed["sessions"][0]),
        (json!(session.to_string()), json!(draw.number(session).to_string()), true)
    );
    assert_eq!(shown(&listed["sessions"][1]), (json!(late.to_string()), Value::Null, false));
    let found = root.get(&format!("/queues/tour/sessions/{session}")).await.json();
    assert_eq!((&found["position"], shown(&found)), (&json!(1), shown(&listed["sessions"][0])));
    let code = json!(session.support_code());
    assert_eq!([&found["support_code"], &listed["sessions"][0]["support_code"]], [&code; 2], "as on the queue page");
}

async fn draws_need_a_known_sale_key(backoffice: Backoffice) {
    let mut sale = drawn(&backoffice).await;
    let mut root = backoffice.root();
    sale["key"] = "other".into();
    let refused = root.patch("/queues/tour", json!({ "events": [sale] })).await;
    assert_eq!(refused.status, 422);
    assert_eq!(refused.wrong_fields(), ["events[0].key: is not one of the sale keys: s1"]);
    let stored = backoffice.store.settings(&"tour".parse().unwrap()).await.unwrap().unwrap();
    let mut value = stored.to_value();
    value["events"][0]["key"] = "other".into();
    let written = Settings::from_value(&value).unwrap();
    backoffice.store.put_settings(&written, PutMode::Always).await.unwrap();
    let event = root.get("/queues/tour/events/sale").await.json();
    assert_eq!((&event["draw"]["key"], &event["draw"]["commitment"]), (&json!("other"), &Value::Null));
    assert_eq!(event["problems"][0]["code"], "sale_key_missing");
}
