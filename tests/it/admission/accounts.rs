//! Rule 24: one session per account. Tokens are signed by a site, and verified by the gate.

use http::StatusCode;
use http::header::AUTHORIZATION;
use serde_json::{Value, json};
use tokio::time::Instant;
use vestibule_core::{Micros, SaleKeys, SessionId, Timestamp, verify_pass};
use vestibule_tests::{
    AccountKeyServer, GateOptions, GateUnderTest, TestResponse, Visitor, account_keys, account_token,
    forged_account_token, load_balancer_token,
};

use crate::gate_fixture::{GateFixture, StoreSetup, session_in};

mod memory {
    crate::gate_fixture::each!(crate::gate_fixture::StoreSetup::memory(); account_is_one_session_everywhere, account_that_left_joins_again, forged_tokens_join_nobody, required_account_sends_visitors_to_sign_in, first_visit_counts_after_signing_in, first_visit_counts_without_two_step_admission, full_line_keeps_the_first_visit_of_an_account, first_visits_without_an_account_hardly_ask_the_store, pass_names_the_account, keys_are_fetched_once, broken_key_server_keeps_existing_tickets, headers_are_for_trusted_proxies, farm_gets_a_session_per_account, invented_key_ids_cause_one_fetch, invitation_needs_the_account_too, code_is_one_session_for_all_accounts, account_that_left_is_drawn, account_of_the_lobby_is_one_session_in_an_open_line, code_of_the_lobby_counts_once_in_an_open_line, lobby_ticket_of_another_account_is_ignored, signed_out_lobby_ticket_stays_that_of_the_account, lobby_ticket_joins_an_open_line_of_accounts, late_device_keeps_the_drawn_position,);
}
mod redis {
    crate::gate_fixture::each!(crate::gate_fixture::StoreSetup::redis().await; account_is_one_session_everywhere, account_that_left_joins_again, first_visit_counts_after_signing_in, first_visit_counts_without_two_step_admission, full_line_keeps_the_first_visit_of_an_account, first_visits_without_an_account_hardly_ask_the_store, signing_in_keeps_the_position, code_is_one_session_for_all_accounts, account_that_left_is_drawn, account_of_the_lobby_is_one_session_in_an_open_line, code_of_the_lobby_counts_once_in_an_open_line, lobby_ticket_of_another_account_is_ignored, signed_out_lobby_ticket_stays_that_of_the_account, lobby_ticket_joins_an_open_line_of_accounts, late_device_keeps_the_drawn_position,);
}

const ISSUER: &str = "https://www.example.com";
/// `printf 'https://www.example.com\0user-1' | sha256sum | xxd -r -p | head -c 16 | basenc --base64url`
const USER_1: &str = "64588pHZiP_8WWnErylZ5g";

fn identity(changes: &Value) -> Value {
    let mut identity = json!({
        "keys": account_keys(), "issuer": ISSUER, "audience": "tour", "from": ["cookie:shop_id"], "key_id": "k1",
    });
    identity.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    json!({ "protection": { "pre_ticket_from": "none", "identity": identity } })
}

fn required() -> Value {
    identity(&json!({ "required": true, "sign_in": "https://www.example.com/sign-in?return={return}" }))
}

fn claims(fixture: &GateFixture, account: &str) -> Value {
    let expires = fixture.setup.clock.now().seconds() + 3600;
    json!({ "iss": ISSUER, "aud": "tour", "sub": account, "exp": expires })
}

/// A browser of this account.
fn signed_in(fixture: &GateFixture, account: &str) -> Visitor {
    with_token(fixture, &account_token("ES256", &claims(fixture, account)))
}

fn with_token(fixture: &GateFixture, token: &str) -> Visitor {
    let mut visitor = fixture.visitor();
    visitor.set_cookie("shop_id", token);
    visitor
}

async fn status(fixture: &GateFixture, visitor: &mut Visitor) -> TestResponse {
    visitor.status(fixture.queue.as_str()).await
}

async fn account_is_one_session_everywhere(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, identity(&json!({}))).await;
    let mut first = signed_in(&fixture, "user-1");
    let session = session_in(&status(&fixture, &mut first).await);
    for _ in 0..20 {
        let mut other = signed_in(&fixture, "user-1");
        let answer = status(&fixture, &mut other).await;
        assert_eq!((session_in(&answer), &answer.json()["position"]), (session, &json!(1)));
    }
    let token = account_token("EdDSA", &claims(&fixture, "user-1"));
    let mut app = fixture.visitor().with_header(AUTHORIZATION.as_str(), &format!("Bearer {token}"));
    assert_eq!(session_in(&status(&fixture, &mut app).await), session, "another token of the account");
    let mut stranger = signed_in(&fixture, "user-2");
    assert_ne!(session_in(&status(&fixture, &mut stranger).await), session);
    assert_eq!(fixture.counts().await, (2, 0));
    for _ in 0..20 {
        status(&fixture, &mut first).await;
    }
    let counters = fixture.stats().await.counters;
    assert_eq!((counters.identities_accepted, counters.identities_rejected), (3, 0), "polls verify nothing");
}

async fn account_that_left_joins_again(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, identity(&json!({}))).await;
    let (mut one, mut two) = (signed_in(&fixture, "user-1"), signed_in(&fixture, "user-1"));
    let session = session_in(&status(&fixture, &mut one).await);
    status(&fixture, &mut two).await;
    let mut behind = signed_in(&fixture, "user-2");
    status(&fixture, &mut behind).await;
    fixture.advance_seconds(1);
    one.leave(fixture.queue.as_str()).await;
    assert_eq!(fixture.counts().await, (1, 0), "it ended everywhere");
    fixture.advance_seconds(1);
    for visitor in [&mut two, &mut one] {
        let again = status(&fixture, visitor).await;
        assert_eq!((session_in(&again), &again.json()["position"]), (session, &json!(2)), "at the end, once");
    }
    assert_eq!(fixture.counts().await, (2, 0));
}

/// The settings with an event whose lobby is open in the mode `scheduled`, and whose draw is in five minutes.
fn with_lobby(setup: &StoreSetup, mut settings: Value) -> Value {
    let now = setup.clock.now().seconds();
    let at = |seconds: u64| Timestamp::of(Micros(seconds * 1_000_000)).to_string();
    settings["events"] = json!([{
        "id": "sale", "lobby_at": at(now - 600), "starts_at": at(now + 300), "ends_at": at(now + 3_600), "key": "s1", "salt": "a",
    }]);
    settings
}

/// Moves the clock forward, and tells the gate the time, as requests of others do.
async fn advance(fixture: &GateFixture, seconds: u64) {
    fixture.advance_seconds(seconds);
    fixture.visitor().post(&fixture.own("keepalive")).await;
}

async fn account_that_left_is_drawn(setup: StoreSetup) {
    let settings = with_lobby(&setup, identity(&json!({})));
    let fixture = GateFixture::open(setup, settings).await;
    let mut visitor = signed_in(&fixture, "user-1");
    let session = session_in(&status(&fixture, &mut visitor).await);
    visitor.leave(fixture.queue.as_str()).await;
    fixture.change(&json!({ "mode": "scheduled" })).await;
    fixture.advance_seconds(1);
    let mut elsewhere = signed_in(&fixture, "user-1");
    for device in [&mut visitor, &mut elsewhere] {
        let shown = status(&fixture, device).await;
        assert_eq!((session_in(&shown), &shown.json()["state"]), (session, &json!("lobby")));
    }
    advance(&fixture, 300).await;
    for device in [&mut visitor, &mut elsewhere] {
        let shown = status(&fixture, device).await;
        assert_eq!(session_in(&shown), session);
        assert!(shown.json()["event"]["number"].is_string(), "{}", shown.text());
    }
    assert_eq!(fixture.counts().await, (1, 0));
}

/// An operator opens the line of this visitor of the lobby, who is admitted as this session, which ends. Then browsers with the same
/// lobby ticket and account are the session of the account.
async fn is_one_session_in_an_open_line(
    fixture: &GateFixture,
    mut visitor: Visitor,
    session: SessionId,
    own: SessionId,
) {
    let kept = visitor.clone();
    fixture.change(&json!({ "mode": "open", "quota": 10 })).await;
    advance(fixture, 30).await;
    let admitted = status(fixture, &mut visitor).await;
    assert_eq!((session_in(&admitted), &admitted.json()["state"]), (session, &json!("admitted")));
    if session == own {
        visitor.leave(fixture.queue.as_str()).await;
    } else {
        // Nobody can leave the session of a code for the others who have it.
        fixture.gate.store().end(&fixture.queue, session).await.unwrap();
    }
    advance(fixture, 60).await;
    for _ in 0..5 {
        let mut browser = kept.clone();
        let shown = status(fixture, &mut browser).await;
        assert_eq!((session_in(&shown), &shown.json()["state"]), (own, &json!("admitted")));
        browser.set_cookie("shop_id", &account_token("ES256", &claims(fixture, "user-2")));
        browser.navigate("/").await;
        assert_ne!(session_in(&status(fixture, &mut browser).await), own, "its ticket names the account");
    }
    assert_eq!(fixture.counts().await, (0, 2), "one session for each account");
}

async fn account_of_the_lobby_is_one_session_in_an_open_line(setup: StoreSetup) {
    let mut settings = with_lobby(&setup, required());
    settings["mode"] = json!("scheduled");
    let fixture = GateFixture::open(setup, settings).await;
    let mut visitor = signed_in(&fixture, "user-1");
    let session = session_in(&status(&fixture, &mut visitor).await);
    is_one_session_in_an_open_line(&fixture, visitor, session, session).await;
}

async fn code_of_the_lobby_counts_once_in_an_open_line(setup: StoreSetup) {
    let mut settings = with_lobby(&setup, with_invitations(required()));
    settings["mode"] = json!("scheduled");
    let fixture = GateFixture::open(setup, settings).await;
    let own = session_in(&status(&fixture, &mut signed_in(&fixture, "user-1")).await);
    let (code, session) = first_code(&fixture).await;
    let mut visitor = signed_in(&fixture, "user-1");
    assert_eq!(visitor.navigate(&format!("/?vestibule_invite={code}")).await.status, StatusCode::FOUND);
    assert_eq!(session_in(&status(&fixture, &mut visitor).await), session);
    is_one_session_in_an_open_line(&fixture, visitor, session, own).await;
}

async fn lobby_ticket_of_another_account_is_ignored(setup: StoreSetup) {
    let mut settings = with_lobby(&setup, required());
    settings["mode"] = json!("scheduled");
    let fixture = GateFixture::open(setup, settings).await;
    let mut seller = signed_in(&fixture, "user-1");
    let session = session_in(&status(&fixture, &mut seller).await);
    let token = account_token("ES256", &claims(&fixture, "user-2"));
    let sold_by = |seller: &Visitor| {
        let mut buyer = seller.clone();
        buyer.set_cookie("shop_id", &token);
        buyer
    };
    let in_lobby = status(&fixture, &mut sold_by(&seller)).await;
    assert_eq!(in_lobby.json()["state"], "lobby");
    let own = session_in(&in_lobby);
    assert_ne!(own, session, "a lobby ticket of their own");
    advance(&fixture, 300).await;
    let mut signed_out = seller.clone();
    signed_out.set_cookie("shop_id", "");
    assert_eq!(session_in(&status(&fixture, &mut signed_out).await), session, "a session is kept without the token");
    for mut buyer in [sold_by(&seller), sold_by(&signed_out)] {
        assert_eq!(session_in(&status(&fixture, &mut buyer).await), own);
    }
    let shown = status(&fixture, &mut seller).await;
    assert_eq!((session_in(&shown), &shown.json()["reason"]), (session, &Value::Null));
    assert_eq!(fixture.counts().await, (2, 0));
}

/// An operator opens the line, and a browser of the lobby is not signed in any more.
async fn signed_out_lobby_ticket_stays_that_of_the_account(setup: StoreSetup) {
    let mut settings = with_lobby(&setup, identity(&json!({})));
    settings["mode"] = json!("scheduled");
    let fixture = GateFixture::open(setup, settings).await;
    let mut visitor = signed_in(&fixture, "user-1");
    let session = session_in(&status(&fixture, &mut visitor).await);
    fixture.change(&json!({ "mode": "open" })).await;
    advance(&fixture, 30).await;
    visitor.set_cookie("shop_id", "");
    assert_eq!(session_in(&status(&fixture, &mut visitor).await), session);
    visitor.set_cookie("shop_id", &account_token("ES256", &claims(&fixture, "user-2")));
    assert_ne!(session_in(&status(&fixture, &mut visitor).await), session);
    assert_eq!(fixture.counts().await, (2, 0), "the session was not handed over");
}

/// An operator opens the line, and it requires accounts. The tokens of its visitors have expired.
async fn lobby_ticket_joins_an_open_line_of_accounts(setup: StoreSetup) {
    let mut settings = with_lobby(&setup, identity(&json!({})));
    settings["mode"] = json!("scheduled");
    let fixture = GateFixture::open(setup, settings).await;
    let (mut member, mut stranger) = (signed_in(&fixture, "user-1"), fixture.visitor());
    let session = session_in(&status(&fixture, &mut member).await);
    let unnamed = session_in(&status(&fixture, &mut stranger).await);
    let mut changed = required();
    changed["mode"] = json!("open");
    fixture.change(&changed).await;
    advance(&fixture, 30).await;
    member.set_cookie("shop_id", "");
    for _ in 0..2 {
        let joined = status(&fixture, &mut member).await;
        assert_eq!((session_in(&joined), &joined.json()["state"]), (session, &json!("waiting")), "{}", joined.text());
    }
    for _ in 0..2 {
        let asked = status(&fixture, &mut stranger).await;
        let kept = (session_in(&asked), asked.json()["join"]["action"].clone());
        assert_eq!(kept, (unnamed, json!("sign_in")), "{}", asked.text());
    }
    assert_eq!(fixture.counts().await, (1, 0));
}

/// A second device of an account comes after the start, without a lobby ticket.
async fn late_device_keeps_the_drawn_position(setup: StoreSetup) {
    let mut settings = with_lobby(&setup, required());
    (settings["mode"], settings["waiting_ttl"], settings["claim_ttl"]) = (json!("scheduled"), json!(300), json!(100));
    let fixture = GateFixture::open(setup, settings).await;
    let mut phone = signed_in(&fixture, "user-1");
    let session = session_in(&status(&fixture, &mut phone).await);
    advance(&fixture, 300).await;
    let mut behind = signed_in(&fixture, "user-2");
    status(&fixture, &mut behind).await;
    let mut laptop = signed_in(&fixture, "user-1");
    assert_eq!(session_in(&status(&fixture, &mut laptop).await), session);
    assert_eq!(session_in(&status(&fixture, &mut phone).await), session);
    advance(&fixture, 40).await;
    for (device, position) in [(&mut laptop, 1), (&mut phone, 1), (&mut behind, 2)] {
        assert_eq!(status(&fixture, device).await.json()["position"], position);
    }
}

async fn forged_tokens_join_nobody(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, required()).await;
    let genuine = account_token("ES256", &claims(&fixture, "user-1"));
    let mut wrong_audience = claims(&fixture, "user-1");
    wrong_audience["aud"] = json!("other");
    let mut expired = claims(&fixture, "user-1");
    expired["exp"] = json!(1);
    let payload = genuine.split('.').nth(1).unwrap();
    for token in [
        format!("eyJhbGciOiJub25lIn0.{payload}."),
        forged_account_token(&claims(&fixture, "user-1")),
        account_token("RS256", &wrong_audience),
        account_token("EdDSA", &expired),
        genuine[..genuine.len() - 4].to_owned(),
        "a".repeat(5000),
    ] {
        let mut forger = with_token(&fixture, &token);
        let answer = status(&fixture, &mut forger).await;
        assert_eq!(answer.json()["join"]["action"], "sign_in", "{token}");
    }
    assert_eq!(fixture.counts().await, (0, 0));
    status(&fixture, &mut signed_in(&fixture, "user-1")).await;
    let counters = fixture.stats().await.counters;
    assert_eq!((counters.joined, counters.identities_accepted, counters.identities_rejected), (1, 1, 6));
}

async fn required_account_sends_visitors_to_sign_in(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, required()).await;
    let page = fixture.visitor().navigate("/tour?seat=1").await;
    assert_eq!(page.status, StatusCode::OK);
    let text = page.text().replace("&#x2f;", "/");
    assert!(text.contains("Sign in to join the line"), "{text}");
    let host = fixture.host.replace('-', "%2D").replace('.', "%2E");
    let address = format!("https://www.example.com/sign-in?return=http%3A%2F%2F{host}%2Ftour%3Fseat%3D1");
    assert!(text.contains(&address), "{text}");
    assert!(!text.contains("http-equiv=\"refresh\""), "the page waits for the visitor");
    assert_eq!(fixture.counts().await, (0, 0));
}

async fn first_visit_counts_after_signing_in(setup: StoreSetup) {
    let mut settings = required();
    settings["protection"]["pre_ticket_from"] = json!(0);
    first_visit_counts(setup, settings).await;
}

async fn first_visit_counts_without_two_step_admission(setup: StoreSetup) {
    first_visit_counts(setup, required()).await;
}

async fn first_visit_counts(setup: StoreSetup, settings: Value) {
    let fixture = GateFixture::open(setup, settings).await;
    let mut other = signed_in(&fixture, "user-0");
    status(&fixture, &mut other).await;
    fixture.advance_seconds(1);
    // The gate learns the time.
    status(&fixture, &mut other).await;
    let mut visitor = fixture.visitor();
    let first = status(&fixture, &mut visitor).await;
    assert_eq!(first.json()["join"]["action"], "sign_in");
    let came_at = fixture.setup.clock.now().seconds();
    fixture.advance_seconds(300);
    visitor.set_cookie("shop_id", &account_token("ES256", &claims(&fixture, "user-1")));
    let joined = status(&fixture, &mut visitor).await;
    assert_eq!(joined.json()["joined_at"], came_at, "the first visit is preserved");
}

async fn full_line_keeps_the_first_visit_of_an_account(setup: StoreSetup) {
    let mut settings = required();
    settings["max_waiting"] = json!(1);
    let fixture = GateFixture::open(setup, settings).await;
    let mut other = signed_in(&fixture, "user-0");
    status(&fixture, &mut other).await;
    fixture.advance_seconds(1);
    status(&fixture, &mut other).await;
    let mut visitor = fixture.visitor();
    assert_eq!(status(&fixture, &mut visitor).await.json()["state"], "full");
    let came_at = fixture.setup.clock.now().seconds();
    fixture.advance_seconds(40);
    fixture.change(&json!({ "max_waiting": 3 })).await;
    status(&fixture, &mut signed_in(&fixture, "user-2")).await;
    fixture.advance_seconds(1);
    visitor.set_cookie("shop_id", &account_token("ES256", &claims(&fixture, "user-1")));
    let joined = status(&fixture, &mut visitor).await.json();
    assert_eq!((&joined["joined_at"], &joined["position"]), (&json!(came_at), &json!(2)), "{joined}");
}

/// Each call of the store counts the pre-tickets since the call before.
async fn first_visits_without_an_account_hardly_ask_the_store(setup: StoreSetup) {
    let mut settings = required();
    settings["protection"]["pre_ticket_from"] = json!(0);
    let fixture = GateFixture::open(setup, settings).await;
    let (started, mut calls, mut counted) = (Instant::now(), 0, 0);
    for _ in 0..40 {
        let answer = status(&fixture, &mut fixture.visitor()).await;
        let shown = answer.json();
        assert_eq!((&shown["join"]["action"], &shown["state"]), (&json!("sign_in"), &json!("waiting")), "{shown}");
        let issued = fixture.stats().await.counters.pre_tickets_issued;
        calls += u64::from(issued != counted);
        counted = issued;
    }
    assert!(calls <= 1 + started.elapsed().as_secs(), "{calls} calls in {:?}", started.elapsed());
}

async fn signing_in_keeps_the_position(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, identity(&json!({}))).await;
    let mut visitor = fixture.visitor();
    let anonymous = status(&fixture, &mut visitor).await;
    status(&fixture, &mut visitor).await;
    let mut behind = fixture.visitor();
    status(&fixture, &mut behind).await;
    fixture.advance_seconds(20);
    status(&fixture, &mut visitor).await;
    visitor.set_cookie("shop_id", &account_token("ES256", &claims(&fixture, "user-1")));
    let signed_in_now = status(&fixture, &mut visitor).await;
    assert_ne!(session_in(&signed_in_now), session_in(&anonymous));
    let shown = signed_in_now.json();
    assert_eq!((&shown["position"], &shown["joined_at"]), (&json!(1), &anonymous.json()["joined_at"]));
    assert_eq!(shown["reason"], Value::Null, "nothing of the visitor's ended");
    // A user who waits elsewhere keeps that position, and the other session ends.
    let mut elsewhere = fixture.visitor();
    status(&fixture, &mut elsewhere).await;
    let before = fixture.counts().await.0;
    elsewhere.set_cookie("shop_id", &account_token("ES256", &claims(&fixture, "user-1")));
    assert_eq!(session_in(&status(&fixture, &mut elsewhere).await), session_in(&signed_in_now));
    assert_eq!(fixture.counts().await.0, before - 1);
}

async fn pass_names_the_account(setup: StoreSetup) {
    let mut settings = identity(&json!({}));
    settings["quota"] = json!(5);
    let fixture = GateFixture::open(setup, settings).await;
    let mut visitor = signed_in(&fixture, "user-1");
    visitor.navigate("/").await;
    let mut app = fixture.visitor();
    app.navigate("/").await;
    let passes: Vec<String> = fixture
        .origin
        .requests()
        .iter()
        .filter_map(|request| request.headers.get("x-vestibule-pass").map(|pass| pass.to_str().unwrap().to_owned()))
        .collect();
    let keys = fixture.visitor().fetch("/_vestibule/jwks.json").await.json();
    let codes: Vec<Option<String>> = passes
        .iter()
        .map(|pass| verify_pass(&keys, pass, fixture.setup.clock.now()).unwrap().acct.map(|code| code.to_string()))
        .collect();
    assert_eq!(codes, [Some(USER_1.to_owned()), None]);
}

async fn keys_are_fetched_once(setup: StoreSetup) {
    let keys = AccountKeyServer::start(false).await;
    let fixture = GateFixture::open(setup, identity(&json!({ "keys": null, "jwks": keys.url() }))).await;
    for number in 0..20 {
        let mut visitor = signed_in(&fixture, &format!("user-{number}"));
        status(&fixture, &mut visitor).await;
    }
    assert_eq!((fixture.stats().await.counters.identities_accepted, keys.fetches()), (20, 1));
}

async fn broken_key_server_keeps_existing_tickets(setup: StoreSetup) {
    let keys = AccountKeyServer::start(true).await;
    let changes = json!({
        "keys": null, "jwks": keys.url(), "required": true, "sign_in": "https://www.example.com/sign-in",
    });
    let fixture = GateFixture::open(setup, json!({})).await;
    let mut before = fixture.visitor();
    let session = session_in(&status(&fixture, &mut before).await);
    fixture.change(&identity(&changes)).await;
    let _ = fixture.gate.directory().reload(&fixture.queue).await;
    assert_eq!(session_in(&status(&fixture, &mut before).await), session, "existing tickets stay valid");
    for _ in 0..5 {
        let mut newcomer = signed_in(&fixture, "user-1");
        let answer = status(&fixture, &mut newcomer).await;
        assert_eq!((&answer.json()["state"], &answer.json()["session"]), (&json!("unavailable"), &Value::Null));
    }
    assert_eq!((fixture.counts().await.0, keys.fetches()), (1, 1), "a fetch a minute");
}

async fn headers_are_for_trusted_proxies(setup: StoreSetup) {
    let changes = identity(&json!({ "from": ["header:x-account"] }));
    for (trusted_proxies, accepted) in [(0, 0), (1, 1)] {
        let options = GateOptions { trusted_proxies, ..GateOptions::default() };
        let fixture = GateFixture::open_with(setup.clone(), changes.clone(), options).await;
        let token = account_token("ES256", &claims(&fixture, "user-1"));
        let mut visitor = fixture.visitor().with_header("x-account", &token);
        status(&fixture, &mut visitor).await;
        status(&fixture, &mut visitor).await;
        assert_eq!(fixture.stats().await.counters.identities_accepted, accepted, "{trusted_proxies} trusted proxies");
    }
}

async fn invented_key_ids_cause_one_fetch(setup: StoreSetup) {
    const SIGNER: &str =
        "arn:aws:elasticloadbalancing:eu-central-1:123456789012:loadbalancer/app/shop/50dc6c495c0c9188";
    let keys = AccountKeyServer::start(false).await;
    let changes = identity(&json!({
        "kind": "alb", "keys": null, "jwks": keys.named_url(), "audience": [SIGNER], "from": [],
    }));
    let options = GateOptions { trusted_proxies: 1, ..GateOptions::default() };
    let fixture = GateFixture::open_with(setup, changes, options).await;
    let visit = async |key_id: &str, account: &str| {
        let token = load_balancer_token(key_id, SIGNER, &claims(&fixture, account));
        status(&fixture, &mut fixture.visitor().with_header("x-amzn-oidc-data", &token)).await;
        fixture.stats().await.counters.identities_accepted
    };
    assert_eq!((visit("ES256", "user-1").await, keys.fetches()), (1, 1));
    for number in 0..1_000 {
        visit(&format!("invented-{number}"), "user-2").await;
    }
    assert_eq!((visit("ES256", "user-3").await, keys.fetches()), (2, 1), "the known key is still known");
}

fn with_invitations(mut settings: Value) -> Value {
    settings["invitations"] = json!([{ "number": 7, "id": "fans", "head_start": 600, "count": 100, "key": "s1" }]);
    settings["quota"] = json!(0);
    settings
}

/// The first code, and its session.
async fn first_code(fixture: &GateFixture) -> (String, SessionId) {
    let stored = fixture.gate.store().settings(&fixture.queue).await.unwrap().unwrap();
    let keys = SaleKeys::new(&GateUnderTest::sale_keys()).unwrap();
    let key = keys.batch_key(&stored, &stored.invitations[0]).unwrap();
    (key.code(1).to_string(), key.session(stored.line.epoch, 1))
}

async fn invitation_needs_the_account_too(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, with_invitations(required())).await;
    let (code, session) = first_code(&fixture).await;
    let link = format!("/?vestibule_invite={code}");
    let page = fixture.visitor().navigate(&link).await;
    assert!(page.text().contains("Sign in to join the line"), "{}", page.text());
    let mut app = fixture.visitor().with_header("x-vestibule-invite", &code);
    assert_eq!(status(&fixture, &mut app).await.json()["join"]["action"], "sign_in");
    assert_eq!(fixture.counts().await, (0, 0));
    let mut invited = signed_in(&fixture, "user-1");
    assert_eq!(invited.navigate(&link).await.status, StatusCode::FOUND);
    assert_eq!(fixture.counts().await, (1, 0));
    let mut app = signed_in(&fixture, "user-2").with_header("x-vestibule-invite", &code);
    assert_eq!(session_in(&status(&fixture, &mut app).await), session, "with an account it is the session of the code");
}

/// Also for longer than a session that ended keeps its code from being used again.
async fn code_is_one_session_for_all_accounts(setup: StoreSetup) {
    let mut settings = with_invitations(identity(&json!({})));
    (settings["hold_ttl"], settings["active_ttl"]) = (json!(60), json!(60));
    let fixture = GateFixture::open(setup, settings).await;
    let (code, session) = first_code(&fixture).await;
    let link = format!("/?vestibule_invite={code}");
    let mut phone = signed_in(&fixture, "user-1");
    status(&fixture, &mut phone).await;
    let mut laptop = signed_in(&fixture, "user-1");
    for _ in 0..2 {
        assert_eq!(laptop.navigate(&link).await.status, StatusCode::FOUND);
        let page = laptop.navigate("/").await;
        assert!(!page.text().contains("This code is not valid"), "{}", page.text());
        for _ in 0..6 {
            fixture.advance_seconds(15);
            let shown = status(&fixture, &mut laptop).await;
            assert_eq!((session_in(&shown), &shown.json()["position"]), (session, &json!(1)));
            status(&fixture, &mut phone).await;
        }
    }
    let mut other = signed_in(&fixture, "user-2");
    assert_eq!(other.navigate(&link).await.status, StatusCode::FOUND);
    assert_eq!(session_in(&status(&fixture, &mut other).await), session);
    assert_eq!(fixture.counts().await, (2, 0), "the session of the account, and that of the code");
    let renewed = account_token("EdDSA", &claims(&fixture, "user-1"));
    laptop.set_cookie("shop_id", &renewed);
    assert_eq!(session_in(&status(&fixture, &mut laptop).await), session, "another token of the account");
    fixture.change(&json!({ "quota": 5 })).await;
    laptop.navigate("/").await;
    let requests = fixture.origin.requests();
    let pass = requests.last().unwrap().headers["x-vestibule-pass"].to_str().unwrap();
    let keys = fixture.visitor().fetch("/_vestibule/jwks.json").await.json();
    let pass = verify_pass(&keys, pass, fixture.setup.clock.now()).unwrap();
    assert_eq!(pass.acct.map(|code| code.to_string()), Some(USER_1.to_owned()), "the pass names the account");
    laptop.set_cookie("shop_id", &account_token("ES256", &claims(&fixture, "user-3")));
    assert_ne!(session_in(&status(&fixture, &mut laptop).await), session, "a ticket of another account");
}

/// 500 accounts in two browsers each, which all visit twice.
async fn farm_gets_a_session_per_account(setup: StoreSetup) {
    const ACCOUNTS: u64 = 500;
    let fixture = GateFixture::open(setup, required()).await;
    for number in 0..ACCOUNTS {
        let token = account_token("EdDSA", &claims(&fixture, &format!("user-{number}")));
        for _ in 0..2 {
            let mut browser = with_token(&fixture, &token);
            for _ in 0..2 {
                status(&fixture, &mut browser).await;
            }
        }
    }
    let counters = fixture.stats().await.counters;
    let (waiting, active) = fixture.counts().await;
    assert_eq!((counters.joined, waiting + active), (ACCOUNTS, ACCOUNTS));
    assert_eq!(counters.identities_accepted, ACCOUNTS, "each token is verified once");
}
