//! Proof of work: a newcomer gets a challenge, and joins with its solution or after a waiting time.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{Request, StatusCode};
use serde_json::{Value, json};
use sha2::Sha256;
use vestibule_tests::{TestResponse, Visitor};

use crate::gate_fixture::{GateFixture, StoreSetup, on_each_store, session_in};

on_each_store! {
    newcomer_joins_with_a_proof,
    widget_joins_by_its_form_value,
    invalid_proofs_join_nobody,
    newcomer_without_a_proof_joins_later,
    attack_mode_asks_for_proofs,
}

/// A full queue in which every newcomer proves the least work that the settings allow.
fn proving() -> Value {
    json!({ "protection": { "pre_ticket_from": 0, "mode": "enforce", "proof_of_work": { "mode": "always", "effort": 100 } } })
}

fn bytes(digits: &Value) -> Vec<u8> {
    let digits = digits.as_str().unwrap();
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

/// Solves a challenge.
fn proof_of(challenge: &Value) -> Value {
    let parameters = &challenge["parameters"];
    let (nonce, salt) = (bytes(&parameters["nonce"]), bytes(&parameters["salt"]));
    let prefix = bytes(&parameters["keyPrefix"]);
    let most = u32::try_from(parameters["data"]["max_counter"].as_u64().unwrap()).unwrap();
    for counter in 1..=most {
        let mut key = [0; 32];
        pbkdf2::pbkdf2_hmac::<Sha256>(&[&nonce[..], &counter.to_be_bytes()].concat(), &salt, 1000, &mut key);
        if key.starts_with(&prefix) {
            let derived_key = key.map(|byte| format!("{byte:02x}")).concat();
            return json!({ "challenge": challenge, "solution": { "counter": counter, "derivedKey": derived_key } });
        }
    }
    panic!("no counter up to {most} solves {challenge}")
}

/// A newcomer who was asked for a proof: their second visit says so.
async fn challenged(fixture: &GateFixture) -> (Visitor, Value) {
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    let status = visitor.status(fixture.queue.as_str()).await;
    assert_eq!(status.status, StatusCode::OK);
    (visitor, status.json()["join"].clone())
}

async fn challenge(fixture: &GateFixture, visitor: &mut Visitor) -> Value {
    let answer = visitor.fetch(&fixture.own("challenge")).await;
    assert_eq!((answer.status, answer.header("cache-control")), (StatusCode::OK, Some("no-store")));
    answer.json()
}

async fn join(fixture: &GateFixture, visitor: &mut Visitor, body: &Value) -> TestResponse {
    let request = Request::post(fixture.own("join")).header("content-type", "application/json");
    visitor.request(request, body.to_string()).await
}

async fn newcomer_joins_with_a_proof(keeper: StoreSetup) {
    let fixture = GateFixture::open(keeper, proving()).await;
    let (mut visitor, step) = challenged(&fixture).await;
    let first_visit = fixture.stats().await.now.seconds();
    let queue = fixture.queue.as_str();
    let url = format!("/_vestibule/challenge?queue={queue}");
    let expected =
        json!({ "action": "prove", "difficulty": 1, "effort": 100, "challenge_url": url, "delayed_after": 30 });
    assert_eq!(step, expected);
    let proof = json!({ "proof": proof_of(&challenge(&fixture, &mut visitor).await) });
    // The first visit counts while the newcomer solves the challenge.
    fixture.advance_seconds(100);
    let joined = join(&fixture, &mut visitor, &proof).await;
    assert_eq!((joined.status, &joined.json()["join"]), (StatusCode::OK, &Value::Null));
    assert_eq!(joined.json()["joined_at"], first_visit);
    let again = join(&fixture, &mut visitor, &proof).await;
    assert_eq!((again.status, session_in(&again)), (StatusCode::OK, session_in(&joined)));
    let counters = fixture.stats().await.limits.counters;
    assert_eq!((counters.challenged, counters.proofs_valid, counters.proofs_invalid), (1, 1, 0));
    assert_eq!(fixture.counts().await, (1, 0));
}

async fn widget_joins_by_its_form_value(keeper: StoreSetup) {
    let fixture = GateFixture::open(keeper, proving()).await;
    let (mut visitor, _) = challenged(&fixture).await;
    let proof = proof_of(&challenge(&fixture, &mut visitor).await);
    let joined = join(&fixture, &mut visitor, &json!({ "altcha": STANDARD.encode(proof.to_string()) })).await;
    assert_eq!(joined.status, StatusCode::OK);
    assert_eq!(fixture.counts().await, (1, 0));
}

async fn invalid_proofs_join_nobody(keeper: StoreSetup) {
    let fixture = GateFixture::open(keeper, proving()).await;
    let nobody = fixture.visitor().fetch(&fixture.own("challenge")).await;
    assert_eq!((nobody.status, &nobody.json()["code"]), (StatusCode::FORBIDDEN, &json!("pre_ticket_required")));
    let (mut visitor, _) = challenged(&fixture).await;
    let (mut other, _) = challenged(&fixture).await;
    let of_other = proof_of(&challenge(&fixture, &mut other).await);
    let own = proof_of(&challenge(&fixture, &mut visitor).await);
    let mut easier = own.clone();
    easier["challenge"]["parameters"]["data"]["difficulty"] = json!(64);
    let mut wrong = own.clone();
    wrong["solution"]["derivedKey"] = json!("00".repeat(32));
    for proof in [of_other, easier, wrong, json!({})] {
        let answer = join(&fixture, &mut visitor, &json!({ "proof": proof })).await;
        assert_eq!((answer.status, &answer.json()["code"]), (StatusCode::BAD_REQUEST, &json!("invalid_proof")));
    }
    let large = join(&fixture, &mut visitor, &json!({ "altcha": "a".repeat(8192) })).await;
    assert_eq!((large.status, &large.json()["code"]), (StatusCode::PAYLOAD_TOO_LARGE, &json!("body_too_large")));
    assert_eq!(fixture.counts().await, (0, 0));
}

async fn newcomer_without_a_proof_joins_later(keeper: StoreSetup) {
    let fixture = GateFixture::open(keeper, proving()).await;
    let (mut visitor, step) = challenged(&fixture).await;
    fixture.advance_seconds(step["delayed_after"].as_u64().unwrap() - 1);
    let early = visitor.status(fixture.queue.as_str()).await;
    assert_eq!(early.json()["join"]["delayed_after"], 1);
    fixture.advance_seconds(1);
    let joined = visitor.status(fixture.queue.as_str()).await;
    assert_eq!((joined.status, joined.json()["position"].as_u64()), (StatusCode::OK, Some(1)));
    assert_eq!(joined.json()["joined_at"], fixture.stats().await.now.seconds(), "at the end of the line");
    assert_eq!(fixture.stats().await.limits.counters.delayed_joins, 1);
}

async fn attack_mode_asks_for_proofs(keeper: StoreSetup) {
    let fixture = GateFixture::open(keeper, json!({ "protection": { "proof_of_work": { "effort": 100 } } })).await;
    fixture.gate.store().set_attack_mode(&fixture.queue, 600).await.unwrap();
    let (mut visitor, step) = challenged(&fixture).await;
    assert_eq!((&step["action"], &step["difficulty"]), (&json!("prove"), &json!(4)));
    let proof = proof_of(&challenge(&fixture, &mut visitor).await);
    let joined = join(&fixture, &mut visitor, &json!({ "proof": proof })).await;
    assert_eq!(joined.status, StatusCode::OK);
}
