//! Proof of work: a newcomer gets a challenge, and joins with its solution or after a waiting time.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::join_all;
use http::{Request, StatusCode};
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::time::Instant;
use vestibule_tests::{GateOptions, TestResponse, Visitor, account_keys, account_token};

use crate::gate_fixture::{GateFixture, StoreSetup, direct_and_lambda, session_in};

direct_and_lambda! {
    newcomer_joins_with_a_proof,
    widget_joins_by_its_form_value,
    invalid_proofs_join_nobody,
    newcomer_without_a_proof_joins_later,
    attack_mode_asks_for_proofs,
    only_the_difference_is_left_after_a_proof,
    spent_pre_ticket_joins_nobody_again,
    only_invalid_proofs_of_an_address_wait_after_20_of_them,
    stored_proof_is_spent_after_hold_ttl,
    late_challenge_keeps_no_arrival,
    challenge_that_nobody_required_keeps_no_arrival,
    proof_does_not_replace_an_account,
}

/// A full queue in which every newcomer proves the least work that the settings allow.
fn proving() -> Value {
    json!({ "protection": { "pre_ticket_from": 0, "mode": "enforce", "proof_of_work": { "mode": "always", "effort": 100 } } })
}

fn bytes(digits: &Value) -> Vec<u8> {
    hex::decode(digits.as_str().unwrap()).unwrap()
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
            let derived_key = hex::encode(key);
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

async fn newcomer_joins_with_a_proof(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, proving()).await;
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

async fn widget_joins_by_its_form_value(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, proving()).await;
    let (mut visitor, _) = challenged(&fixture).await;
    let proof = proof_of(&challenge(&fixture, &mut visitor).await);
    let joined = join(&fixture, &mut visitor, &json!({ "altcha": STANDARD.encode(proof.to_string()) })).await;
    assert_eq!(joined.status, StatusCode::OK);
    assert_eq!(fixture.counts().await, (1, 0));
}

async fn invalid_proofs_join_nobody(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, proving()).await;
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

async fn newcomer_without_a_proof_joins_later(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, proving()).await;
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

async fn attack_mode_asks_for_proofs(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "protection": { "proof_of_work": { "effort": 100 } } })).await;
    fixture.gate.store().set_attack_mode(&fixture.queue, 600).await.unwrap();
    let (mut visitor, step) = challenged(&fixture).await;
    assert_eq!((&step["action"], &step["difficulty"]), (&json!("prove"), &json!(4)));
    let proof = proof_of(&challenge(&fixture, &mut visitor).await);
    let joined = join(&fixture, &mut visitor, &json!({ "proof": proof })).await;
    assert_eq!(joined.status, StatusCode::OK);
}

/// Attack mode begins while the newcomer computes: what is proven counts, and more is required.
async fn only_the_difference_is_left_after_a_proof(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, proving()).await;
    let (mut visitor, step) = challenged(&fixture).await;
    assert_eq!(step["difficulty"], 1);
    let first_visit = fixture.stats().await.now.seconds();
    let first = proof_of(&challenge(&fixture, &mut visitor).await);
    fixture.gate.store().set_attack_mode(&fixture.queue, 600).await.unwrap();
    let more = join(&fixture, &mut visitor, &json!({ "proof": first })).await;
    assert_eq!(more.status, StatusCode::TOO_MANY_REQUESTS);
    let step = more.json()["join"].clone();
    assert_eq!((&step["action"], &step["difficulty"]), (&json!("prove"), &json!(3)), "four, less what is proven");
    let second = challenge(&fixture, &mut visitor).await;
    let data = &second["parameters"]["data"];
    assert_eq!((&data["base"], &data["difficulty"], &data["max_counter"]), (&json!(1), &json!(3), &json!(600)));
    let again = join(&fixture, &mut visitor, &json!({ "proof": first })).await;
    assert_eq!(again.json()["join"]["difficulty"], 3, "the first proof does not count twice: {}", again.text());
    fixture.advance_seconds(100);
    let joined = join(&fixture, &mut visitor, &json!({ "proof": proof_of(&second) })).await;
    assert_eq!((joined.status, &joined.json()["joined_at"]), (StatusCode::OK, &json!(first_visit)));
}

/// The session of the pre-ticket has ended, so neither it nor its proof joins again.
async fn spent_pre_ticket_joins_nobody_again(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, proving()).await;
    let (mut visitor, _) = challenged(&fixture).await;
    let proof = json!({ "proof": proof_of(&challenge(&fixture, &mut visitor).await) });
    let cookie = visitor.cookie(&fixture.cookie_name()).unwrap().to_owned();
    assert_eq!(join(&fixture, &mut visitor, &proof).await.status, StatusCode::OK);
    visitor.leave(fixture.queue.as_str()).await;
    visitor.set_cookie(&fixture.cookie_name(), &cookie);
    let again = join(&fixture, &mut visitor, &proof).await;
    assert_eq!(again.status, StatusCode::TOO_MANY_REQUESTS);
    let status = again.json();
    assert_eq!((&status["join"]["action"], &status["session"]), (&json!("redeem"), &Value::Null), "{status}");
    assert_ne!(visitor.cookie(&fixture.cookie_name()).unwrap(), cookie, "another pre-ticket");
    let status = visitor.status(fixture.queue.as_str()).await.json();
    assert_eq!(status["join"]["action"], "prove", "nothing is proven: {status}");
    assert_eq!(fixture.counts().await, (0, 0));
}

async fn only_invalid_proofs_of_an_address_wait_after_20_of_them(setup: StoreSetup) {
    let options = GateOptions { trusted_proxies: 1, ..GateOptions::default() };
    let fixture = GateFixture::open_with(setup, proving(), options).await;
    let behind_the_address = async || {
        let mut visitor = fixture.visitor().with_header("x-forwarded-for", "203.0.113.9");
        visitor.navigate("/").await;
        visitor.status(fixture.queue.as_str()).await;
        visitor
    };
    let (mut attacker, mut visitor) = (behind_the_address().await, behind_the_address().await);
    let invalid = json!({ "proof": {} });
    for _ in 0..20 {
        let answer = join(&fixture, &mut attacker, &invalid).await;
        assert_eq!((answer.status, &answer.json()["code"]), (StatusCode::BAD_REQUEST, &json!("invalid_proof")));
    }
    let answer = join(&fixture, &mut attacker, &invalid).await;
    assert_eq!(
        (answer.status, &answer.json()["code"]),
        (StatusCode::TOO_MANY_REQUESTS, &json!("too_many_invalid_proofs"))
    );
    let retry_after: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&retry_after), "{retry_after}");
    let proof = json!({ "proof": proof_of(&challenge(&fixture, &mut visitor).await) });
    let joined = join(&fixture, &mut visitor, &proof).await;
    assert_eq!((joined.status, fixture.counts().await), (StatusCode::OK, (1, 0)), "{}", joined.text());
}

/// A bearer keeps a pre-ticket with a proof, joins with it later, and comes with it again once that session has expired.
async fn stored_proof_is_spent_after_hold_ttl(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, proving()).await;
    let (mut visitor, _) = challenged(&fixture).await;
    let proof = json!({ "proof": proof_of(&challenge(&fixture, &mut visitor).await) });
    fixture.gate.store().set_attack_mode(&fixture.queue, 60).await.unwrap();
    assert_eq!(join(&fixture, &mut visitor, &proof).await.json()["join"]["difficulty"], 3, "one of four is proven");
    let kept = visitor.cookie(&fixture.cookie_name()).unwrap().to_owned();
    fixture.advance_seconds(540);
    let joined = status_with(&fixture, &kept).await;
    assert_eq!(
        (&joined["join"], joined["session"].is_string()),
        (&Value::Null, true),
        "what is proven counts: {joined}"
    );
    fixture.advance_seconds(601);
    let spent = status_with(&fixture, &kept).await;
    assert_eq!((&spent["join"]["action"], &spent["join"]["difficulty"]), (&json!("prove"), &json!(1)), "{spent}");
    assert_eq!(fixture.counts().await, (0, 0));
}

/// The visitor status of a browser with this cookie, once the gate has learned the time.
async fn status_with(fixture: &GateFixture, cookie: &str) -> Value {
    fixture.visitor().keepalive(fixture.queue.as_str()).await;
    let mut visitor = fixture.visitor();
    visitor.set_cookie(&fixture.cookie_name(), cookie);
    visitor.status(fixture.queue.as_str()).await.json()
}

/// Whoever asks for a challenge only after `pre_ticket_max_age` joins at the end of the line, so no page says that a place is kept.
async fn late_challenge_keeps_no_arrival(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, proving()).await;
    let (mut visitor, _) = challenged(&fixture).await;
    fixture.advance_seconds(31);
    // The gate learns the time with an answer of the store.
    fixture.visitor().keepalive(fixture.queue.as_str()).await;
    let proof = json!({ "proof": proof_of(&challenge(&fixture, &mut visitor).await) });
    fixture.advance_seconds(10);
    let joined = join(&fixture, &mut visitor, &proof).await;
    assert_eq!(
        (joined.status, &joined.json()["joined_at"]),
        (StatusCode::OK, &json!(fixture.stats().await.now.seconds()))
    );
}

/// A pre-ticket that is kept for later is worth no more than its age, though its bearer asked for a challenge at once.
async fn challenge_that_nobody_required_keeps_no_arrival(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "protection": { "pre_ticket_from": 0 } })).await;
    let mut hoarder = fixture.visitor();
    hoarder.navigate("/").await;
    challenge(&fixture, &mut hoarder).await;
    fixture.advance_seconds(50);
    let mut honest = fixture.visitor();
    for visitor in [&mut honest, &mut hoarder] {
        visitor.navigate("/").await;
        visitor.status(fixture.queue.as_str()).await;
    }
    let joined_at = hoarder.status(fixture.queue.as_str()).await.json()["joined_at"].as_u64();
    assert_eq!(joined_at, Some(fixture.stats().await.now.seconds()), "it is too old to count");
}

async fn proof_does_not_replace_an_account(setup: StoreSetup) {
    let mut settings = proving();
    settings["protection"]["identity"] = json!({
        "keys": account_keys(), "issuer": "https://www.example.com", "audience": "tour", "from": ["cookie:shop_id"],
        "key_id": "k1", "required": true, "sign_in": "https://www.example.com/sign-in",
    });
    let fixture = GateFixture::open(setup, settings).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    let asked = visitor.status(fixture.queue.as_str()).await.json();
    assert_eq!(asked["join"]["action"], "sign_in", "{asked}");
    let proof = json!({ "proof": proof_of(&challenge(&fixture, &mut visitor).await) });
    let answer = join(&fixture, &mut visitor, &proof).await;
    assert_eq!((answer.status, &answer.json()["join"]["action"]), (StatusCode::FORBIDDEN, &json!("sign_in")));
    assert_eq!(fixture.counts().await, (0, 0));
    let expires = fixture.setup.clock.now().seconds() + 3600;
    let claims = json!({ "iss": "https://www.example.com", "aud": "tour", "sub": "user-1", "exp": expires });
    visitor.set_cookie("shop_id", &account_token("ES256", &claims));
    let joined = join(&fixture, &mut visitor, &proof).await;
    assert_eq!((joined.status, fixture.counts().await), (StatusCode::OK, (1, 0)), "{}", joined.text());
}

/// In one process, as others make challenges of their own.
#[tokio::test]
async fn process_makes_at_most_200_challenges_a_second() {
    let fixture = GateFixture::open(StoreSetup::memory(), proving()).await;
    let mut visitors = Vec::new();
    for _ in 0..400 {
        let mut visitor = fixture.visitor();
        visitor.navigate("/").await;
        visitors.push(visitor);
    }
    let (challenge, started) = (fixture.own("challenge"), Instant::now());
    let answers = join_all(visitors.iter_mut().map(|visitor| visitor.fetch(&challenge))).await;
    // The last of these seconds has begun.
    let seconds = started.elapsed().as_secs() as usize + 2;
    let made = answers.iter().filter(|answer| answer.status == StatusCode::OK).count();
    assert!(made <= 200 * seconds, "{made} in {seconds} s");
    let refused = answers.iter().find(|answer| answer.status == StatusCode::TOO_MANY_REQUESTS);
    if let Some(refused) = refused {
        assert_eq!(refused.json()["join"]["reason"], "challenges");
    }
    assert!(refused.is_some() || seconds > 2, "all 400 are made");
}
