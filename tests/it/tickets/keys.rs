//! Keys rotate and settings change, and every visitor keeps the position.

use serde_json::json;
use vestibule_core::KeyList;
use vestibule_tests::{GateOptions, GateUnderTest, Origin, Visitor, account_keys, account_token};

use crate::gate_fixture::{GateFixture, StoreSetup, direct_and_lambda, document_of, random_id, session_in, set_cookie};

direct_and_lambda! {
    keys_rotate_without_dropping_anybody,
    accounts_keep_their_positions_while_keys_rotate,
    settings_changes_apply_to_the_next_request,
    settings_changes_apply_to_other_gates,
}

const OLD: [u8; 32] = [7; 32];
const NEW: [u8; 32] = [8; 32];

fn keys(text: &[(&str, [u8; 32])]) -> KeyList {
    let lists = text.iter().map(|(kid, bytes)| KeyList::of_bytes(kid, *bytes).expose());
    lists.collect::<Vec<_>>().join(",").parse().unwrap()
}

/// The name of the key that signed the ticket, as the token's header has it.
fn signed_by(ticket: &str) -> &str {
    ticket.split('.').next().unwrap()
}

async fn keys_rotate_without_dropping_anybody(setup: StoreSetup) {
    let (id, origin) = (random_id(), Origin::start());
    let host = format!("{id}.example.com");
    let document = document_of(&id, &host, &origin.url(), &json!({}));
    let gate = async |ticket_keys| {
        let options = GateOptions { ticket_keys, ..GateOptions::default() };
        setup.gate(&document, options).await
    };
    let old = gate(keys(&[("k1", OLD)])).await;
    let both = gate(keys(&[("k2", NEW), ("k1", OLD)])).await;
    let new = gate(keys(&[("k2", NEW)])).await;
    let cookie = format!("vestibule_{id}");

    let mut visitor = Visitor::new(old.address(), &host);
    visitor.navigate("/").await;
    let session = session_in(&visitor.fetch("/").await);
    let first = visitor.cookie(&cookie).unwrap().to_owned();

    let at = |gate: &GateUnderTest, ticket: &str| {
        let mut visitor = Visitor::new(gate.address(), &host);
        visitor.set_cookie(&cookie, ticket);
        visitor
    };
    let mut visitor = at(&both, &first);
    assert_eq!(session_in(&visitor.fetch("/").await), session, "the old key is still valid");
    let second = visitor.cookie(&cookie).unwrap().to_owned();
    assert_ne!(signed_by(&second), signed_by(&first), "the first key signs");
    assert_eq!(session_in(&at(&new, &second).fetch("/").await), session, "without the old key nobody is dropped");
    let stale = at(&new, &first).fetch("/").await;
    assert_eq!(stale.json()["session"], json!(null), "a ticket of a removed key is invalid");
    assert!(set_cookie(&stale, &cookie).is_none());
}

async fn accounts_keep_their_positions_while_keys_rotate(setup: StoreSetup) {
    let (id, origin) = (random_id(), Origin::start());
    let host = format!("{id}.example.com");
    let identity = json!({
        "keys": account_keys(), "issuer": "https://www.example.com", "audience": "tour", "from": ["cookie:shop_id"],
        "required": true, "sign_in": "https://www.example.com/sign-in?return={return}",
    });
    let document = document_of(
        &id,
        &host,
        &origin.url(),
        &json!({ "protection": { "pre_ticket_from": "none", "identity": identity } }),
    );
    let gate = async |ticket_keys| {
        let options = GateOptions { ticket_keys, ..GateOptions::default() };
        setup.gate(&document, options).await
    };
    let before = gate(keys(&[("k1", OLD), ("k2", NEW)])).await;
    let after = gate(keys(&[("k2", NEW), ("k1", OLD)])).await;
    let (cookie, expires) = (format!("vestibule_{id}"), setup.clock.now().seconds() + 3600);
    let signed_in = |gate: &GateUnderTest, account: &str, lifetime: u64| {
        let claims =
            json!({ "iss": "https://www.example.com", "aud": "tour", "sub": account, "exp": expires + lifetime });
        let mut visitor = Visitor::new(gate.address(), &host);
        visitor.set_cookie("shop_id", &account_token("ES256", &claims));
        visitor
    };
    let mut first = None;
    for position in 1..=3 {
        let account = format!("user-{position}");
        let mut visitor = signed_in(&before, &account, 0);
        visitor.status(&id).await;
        let joined = visitor.status(&id).await;
        assert_eq!(joined.json()["position"], position);
        // The site renews tokens meanwhile.
        for lifetime in [0, 60] {
            let mut moved = signed_in(&after, &account, lifetime);
            moved.set_cookie(&cookie, visitor.cookie(&cookie).unwrap());
            let answer = moved.status(&id).await;
            let is_same = session_in(&answer) == session_in(&joined);
            assert!(is_same && answer.json()["position"] == position, "token of {lifetime}: {}", answer.json());
        }
        first.get_or_insert(visitor);
    }
    let mut thief = signed_in(&after, "user-4", 0);
    thief.set_cookie(&cookie, first.unwrap().cookie(&cookie).unwrap());
    assert_eq!(thief.status(&id).await.json()["position"], 4, "a ticket of another account");
}

async fn assert_follows(fixture: &GateFixture, address: &str) {
    let visitor = || Visitor::new(address, &fixture.host);
    assert_eq!(visitor().status(fixture.queue.as_str()).await.json()["state"], "waiting");

    fixture.change(&json!({ "name": "Another name" })).await;
    assert!(visitor().navigate("/").await.text().contains("Another name"));

    fixture.change(&json!({ "queue_status": 503 })).await;
    assert_eq!(visitor().navigate("/").await.status.as_u16(), 503);

    fixture.change(&json!({ "mode": "closed" })).await;
    assert_eq!(visitor().fetch("/").await.json()["state"], "closed");

    fixture.change(&json!({ "mode": "bypass" })).await;
    assert!(visitor().navigate("/in").await.text().contains("origin /in"));

    fixture.change(&json!({ "mode": "open", "quota": 1000 })).await;
    assert!(visitor().navigate("/in").await.text().contains("origin /in"));

    fixture.change(&json!({ "handover": { "kind": "redirect", "origin": "https://www.example.net" } })).await;
    let answer = visitor().navigate("/in").await;
    assert!(answer.header("location").unwrap().starts_with("https://www.example.net/in"));
}

async fn settings_changes_apply_to_the_next_request(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    assert_follows(&fixture, fixture.gate.address()).await;
}

async fn settings_changes_apply_to_other_gates(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let none = json!({ "tenants": [], "queues": [] });
    let other = fixture.setup.gate(&none, GateOptions::default()).await;
    assert_follows(&fixture, other.address()).await;
}
