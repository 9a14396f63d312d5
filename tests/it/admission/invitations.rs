//! Invitation codes as visitors present them (rules 19 and 20).

use std::time::Duration;

use http::{Request, StatusCode};
use serde_json::{Value, json};
use vestibule_core::settings::Settings;
use vestibule_core::{Micros, SaleKeys, SessionId, Timestamp};
use vestibule_tests::{GateOptions, GateUnderTest, TestResponse, Visitor, wait_until};

use crate::gate_fixture::{GateFixture, StoreSetup, direct_and_lambda};

direct_and_lambda! {
    a_link_joins_ahead_and_leaves_no_code_in_the_address,
    a_code_on_two_devices_is_one_slot,
    wrong_codes_make_ordinary_newcomers,
    restricted_queues_ask_for_a_code,
    an_invited_session_replaces_the_waiting_one,
    a_visitor_ahead_of_the_invited_session_keeps_the_position,
    active_visitors_ignore_codes,
    an_ended_session_blocks_its_code,
    nobody_can_end_the_session_of_a_code_for_others,
    changed_batches_apply_to_the_next_code,
    full_lines_keep_the_code_in_the_address,
    code_keeps_the_position_in_a_full_line,
    codes_of_no_use_to_a_visitor_are_not_used,
    apps_present_codes_in_a_header,
    the_draw_subtracts_the_head_start,
}

/// Otherwise nobody could enter a code.
#[tokio::test]
async fn template_without_the_form_is_not_used_where_a_code_is_needed() {
    let form = "{% if asks_for_code %}<input name=\"vestibule_invite\">{% endif %}";
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("acme/queue.html");
    std::fs::create_dir(page.parent().unwrap()).unwrap();
    std::fs::write(&page, "<h1>ours</h1>{{ script_tags }}").unwrap();
    let options = GateOptions { themes: Some(folder.path().to_owned()), ..GateOptions::default() };
    let settings = with(&json!({ "theme": "acme" }));
    let fixture = GateFixture::open_with(StoreSetup::memory(), settings, options).await;
    let own_page_is_shown = async || {
        wait_until("the page of the theme is shown", Duration::from_secs(20), async || {
            fixture.visitor().navigate("/").await.text().contains("<h1>ours</h1>")
        })
        .await;
    };
    own_page_is_shown().await;
    fixture.change(&json!({ "access": "invited" })).await;
    let shown = fixture.visitor().navigate("/").await;
    let is_own = shown.text().contains("<h1>ours</h1>");
    assert!(!is_own && shown.text().contains("name=\"vestibule_invite\""), "{}", shown.text());
    std::fs::write(&page, format!("<h1>ours</h1>{form}{{{{ script_tags }}}}")).unwrap();
    own_page_is_shown().await;
    // Nobody can enter a code.
    std::fs::write(page.with_file_name("closed.html"), "<h1>ours</h1>closed{{ script_tags }}").unwrap();
    fixture.change(&json!({ "access": "anyone", "mode": "closed" })).await;
    wait_until("the closed page of the theme is shown", Duration::from_secs(20), async || {
        fixture.visitor().navigate("/").await.text().contains("<h1>ours</h1>closed")
    })
    .await;
    let shown = fixture.visitor().navigate("/?vestibule_invite=wrong").await;
    let shown = if shown.status.is_redirection() { fixture.visitor().navigate("/").await } else { shown };
    assert!(shown.text().contains("<h1>ours</h1>closed"), "{}", shown.text());
}

const HEAD_START: u64 = 600;
const WRONG: &str = "This code is not valid for this queue.";

fn batch() -> Value {
    json!({ "number": 7, "id": "fans", "head_start": HEAD_START, "count": 100, "key": "s1" })
}

fn with(changes: &Value) -> Value {
    let mut settings = json!({ "quota": 0, "invitations": [batch()] });
    settings.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    settings
}

async fn settings(fixture: &GateFixture) -> Settings {
    fixture.gate.store().settings(&fixture.queue).await.unwrap().unwrap()
}

/// The code with this number, and its session.
async fn code(fixture: &GateFixture, number: u32) -> (String, SessionId) {
    let settings = settings(fixture).await;
    let keys = SaleKeys::new(&GateUnderTest::sale_keys()).unwrap();
    let key = keys.batch_key(&settings, &settings.invitations[0]).unwrap();
    (key.code(number).to_string(), key.session(settings.line.epoch, number))
}

/// Follows a link with a code. Returns the redirect and the page after it.
async fn follow(visitor: &mut Visitor, link: &str) -> (TestResponse, TestResponse) {
    let redirect = visitor.navigate(link).await;
    assert_eq!(redirect.status, StatusCode::FOUND, "{}", redirect.text());
    let address = redirect.header("location").unwrap();
    assert!(!address.contains("vestibule_invite"), "{address}");
    assert_eq!(redirect.header("cache-control"), Some("no-store"));
    let path = address.split_once("://").unwrap().1;
    let path = path[path.find('/').unwrap()..].to_owned();
    let page = visitor.navigate(&path).await;
    (redirect, page)
}

async fn status(fixture: &GateFixture, visitor: &mut Visitor) -> Value {
    visitor.fetch(&fixture.own("status")).await.json()
}

async fn a_link_joins_ahead_and_leaves_no_code_in_the_address(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, with(&json!({}))).await;
    let mut early = fixture.visitor();
    early.navigate("/").await;
    let (code, session) = code(&fixture, 42).await;
    let mut invited = fixture.visitor();
    let link = format!("/tour?date=1&vestibule_invite={}&seats=a%20b", code.to_lowercase());
    let (redirect, page) = follow(&mut invited, &link).await;
    let address = redirect.header("location").unwrap();
    assert!(address.ends_with("/tour?date=1&seats=a%20b"), "{address}");
    assert!(!page.text().contains(&code) && !page.text().contains(WRONG), "{}", page.text());
    let shown = status(&fixture, &mut invited).await;
    assert_eq!((&shown["position"], &shown["session"]), (&json!(1), &json!(session)), "{shown}");
    assert_eq!(status(&fixture, &mut early).await["position"], 1, "the shown position does not rise");
    assert_eq!(fixture.counts().await, (2, 0));
}

async fn a_code_on_two_devices_is_one_slot(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, with(&json!({ "quota": 2 }))).await;
    let (code, session) = code(&fixture, 1).await;
    for _ in 0..3 {
        let mut device = fixture.visitor();
        let (_, site) = follow(&mut device, &format!("/?vestibule_invite={code}")).await;
        assert!(site.text().contains("origin /"), "{}", site.text());
        assert_eq!(status(&fixture, &mut device).await["session"], json!(session));
    }
    assert_eq!(fixture.counts().await, (0, 1));
    for request in fixture.origin.requests() {
        assert!(!format!("{request:?}").contains(&code), "the origin saw the code: {request:?}");
    }
}

async fn wrong_codes_make_ordinary_newcomers(setup: StoreSetup) {
    let at = |seconds: u64| Timestamp::of(Micros((setup.clock.now().seconds() + seconds) * 1_000_000)).to_string();
    let soon = json!({ "number": 8, "id": "soon", "count": 9, "key": "s1", "from": at(3_600) });
    let gone = json!({ "number": 9, "id": "gone", "count": 9, "key": "s1", "revoked": true });
    let fixture = GateFixture::open(setup, with(&json!({ "invitations": [soon, gone, batch()] }))).await;
    let settings = settings(&fixture).await;
    let keys = SaleKeys::new(&GateUnderTest::sale_keys()).unwrap();
    let of = |batch: usize, number| {
        keys.batch_key(&settings, &settings.invitations[batch]).unwrap().code(number).to_string()
    };
    let other = Settings { id: "other".parse().unwrap(), ..settings.clone() };
    let other_queue = keys.batch_key(&other, &settings.invitations[2]).unwrap().code(1).to_string();
    let mut altered = of(2, 1);
    let last = altered.pop().unwrap();
    altered.push(if last == '0' { '1' } else { '0' });
    let codes = [of(0, 1), of(1, 1), of(2, 101), other_queue, altered, "banana".to_owned(), String::new()];
    for (index, code) in codes.iter().enumerate() {
        let waiting = fixture.counts().await.0;
        let mut visitor = fixture.visitor();
        let redirect = visitor.navigate(&format!("/?vestibule_invite={code}")).await;
        assert_eq!(redirect.status, StatusCode::FOUND, "{code}");
        assert_eq!(fixture.counts().await, (waiting, 0), "{code}: nothing is stored");
        let page = visitor.navigate("/").await;
        assert!(page.text().contains(WRONG), "{code}: {}", page.text());
        assert_eq!(status(&fixture, &mut visitor).await["position"], index + 1, "{code}: at the end of the line");
        assert!(!visitor.navigate("/").await.text().contains(WRONG), "said once");
    }
}

async fn restricted_queues_ask_for_a_code(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, with(&json!({ "access": "invited" }))).await;
    let mut visitor = fixture.visitor();
    let page = visitor.navigate("/tour?date=1&seat=%22x").await;
    assert_eq!((page.status, page.header("set-cookie")), (StatusCode::OK, None));
    assert!(page.text().contains("An invitation is required"), "{}", page.text());
    assert!(page.text().contains("name=\"vestibule_invite\""), "{}", page.text());
    for field in ["name=\"date\" value=\"1\"", "name=\"seat\" value=\"&quot;x\""] {
        assert!(
            page.text().contains(field) || page.text().contains(&field.replace("&quot;", "&#34;")),
            "{field}: {}",
            page.text()
        );
    }
    assert!(!page.text().contains("http-equiv=\"refresh\""), "a reload would clear the field");
    let fetched = visitor.fetch("/tour").await;
    assert_eq!(fetched.status, StatusCode::TOO_MANY_REQUESTS);
    let shown = fetched.json();
    assert_eq!((&shown["state"], &shown["session"]), (&json!("invitation_required"), &json!(null)));
    assert!((45..=60).contains(&shown["poll_after"].as_u64().unwrap()), "{shown}");
    assert_eq!(fixture.counts().await, (0, 0));
    let (_, page) = follow(&mut visitor, "/tour?vestibule_invite=0000").await;
    assert!(page.text().contains(WRONG) && page.text().contains("aria-invalid=\"true\""), "{}", page.text());
    let (code, _) = code(&fixture, 1).await;
    // Browsers write spaces of a form as plus signs.
    let typed = code.replace('-', "+");
    let (_, page) = follow(&mut visitor, &format!("/tour?date=1&seat=%22x&vestibule_invite={typed}")).await;
    assert!(page.text().contains("You’re in line"), "{}", page.text());
    assert_eq!(fixture.counts().await, (1, 0));
}

async fn an_invited_session_replaces_the_waiting_one(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, with(&json!({}))).await;
    fixture.visitor().navigate("/").await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    let before = status(&fixture, &mut visitor).await;
    assert_eq!(before["position"], 2);
    let mut copy = visitor.clone();
    let (code, session) = code(&fixture, 5).await;
    for _ in 0..2 {
        follow(&mut visitor, &format!("/?vestibule_invite={code}")).await;
        let after = status(&fixture, &mut visitor).await;
        assert_eq!((&after["position"], &after["session"]), (&json!(1), &json!(session)));
        assert_eq!(fixture.counts().await, (2, 0), "one visitor has one position");
    }
    copy.navigate("/").await;
    let again = status(&fixture, &mut copy).await;
    assert_ne!(again["session"], before["session"], "the replaced session has ended");
}

async fn a_visitor_ahead_of_the_invited_session_keeps_the_position(setup: StoreSetup) {
    let mut without_advantage = batch();
    without_advantage["head_start"] = json!(0);
    let fixture = GateFixture::open(setup, with(&json!({ "invitations": [without_advantage] }))).await;
    let (mut ahead, mut holder) = (fixture.visitor(), fixture.visitor());
    ahead.navigate("/").await;
    let own = status(&fixture, &mut ahead).await;
    fixture.advance_seconds(1);
    let (code, session) = code(&fixture, 5).await;
    follow(&mut holder, &format!("/?vestibule_invite={code}")).await;
    assert_eq!(status(&fixture, &mut holder).await["session"], json!(session));
    follow(&mut ahead, &format!("/?vestibule_invite={code}")).await;
    let after = status(&fixture, &mut ahead).await;
    assert_eq!((&after["session"], &after["position"]), (&own["session"], &json!(1)), "whoever sent the link");
    fixture.change(&json!({ "quota": 2 })).await;
    let kept = status(&fixture, &mut holder).await;
    assert_eq!(
        (&kept["session"], &kept["state"]),
        (&json!(session), &json!("admitted")),
        "its holder is present all the time"
    );
}

async fn active_visitors_ignore_codes(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, with(&json!({ "quota": 1, "recheck_after": 0 }))).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    let before = status(&fixture, &mut visitor).await["session"].clone();
    let (code, _) = code(&fixture, 5).await;
    let (_, site) = follow(&mut visitor, &format!("/a?vestibule_invite={code}")).await;
    assert!(site.text().contains("origin /a"), "{}", site.text());
    assert_eq!(status(&fixture, &mut visitor).await["session"], before);
    assert_eq!(fixture.counts().await, (0, 1));
}

async fn an_ended_session_blocks_its_code(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, with(&json!({ "hold_ttl": 600, "active_ttl": 600 }))).await;
    let (code, session) = code(&fixture, 5).await;
    let link = format!("/?vestibule_invite={code}");
    follow(&mut fixture.visitor(), &link).await;
    fixture.gate.store().end(&fixture.queue, session).await.unwrap();
    let mut visitor = fixture.visitor();
    let (_, page) = follow(&mut visitor, &link).await;
    assert!(page.text().contains(WRONG), "{}", page.text());
    let shown = status(&fixture, &mut visitor).await;
    assert_ne!(shown["session"], json!(session));
    fixture.advance_seconds(600);
    let mut later = fixture.visitor();
    follow(&mut later, &link).await;
    assert_eq!(status(&fixture, &mut later).await["session"], json!(session), "usable again");
}

/// Otherwise whoever spreads a code could take the position, or the slot, of everybody who followed its link.
async fn nobody_can_end_the_session_of_a_code_for_others(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, with(&json!({}))).await;
    fixture.visitor().navigate("/").await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    let (first, first_session) = code(&fixture, 5).await;
    let (second, _) = code(&fixture, 6).await;
    follow(&mut visitor, &format!("/?vestibule_invite={first}")).await;
    for state in ["waiting", "admitted"] {
        let mut other = fixture.visitor();
        follow(&mut other, &format!("/?vestibule_invite={first}")).await;
        let (mut closed, mut changed) = (other.clone(), other.clone());
        other.leave(fixture.queue.as_str()).await;
        closed.away(fixture.queue.as_str()).await;
        follow(&mut changed, &format!("/?vestibule_invite={second}")).await;
        // Without a visit that would restore it.
        let counts = fixture.counts().await;
        let shown = status(&fixture, &mut visitor).await;
        assert_eq!((&shown["session"], &shown["state"]), (&json!(first_session), &json!(state)), "{shown}");
        assert_eq!(fixture.counts().await, counts, "it was present all the time");
        fixture.change(&json!({ "quota": 10 })).await;
        status(&fixture, &mut visitor).await;
    }
}

async fn changed_batches_apply_to_the_next_code(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, with(&json!({}))).await;
    fixture.visitor().navigate("/").await;
    let (first, _) = code(&fixture, 1).await;
    let mut invited = fixture.visitor();
    follow(&mut invited, &format!("/?vestibule_invite={first}")).await;
    let mut revoked = batch();
    revoked["revoked"] = true.into();
    fixture.change(&json!({ "invitations": [revoked] })).await;
    let (second, _) = code(&fixture, 2).await;
    let (_, page) = follow(&mut fixture.visitor(), &format!("/?vestibule_invite={second}")).await;
    assert!(page.text().contains(WRONG), "{}", page.text());
    assert_eq!(status(&fixture, &mut invited).await["position"], 1, "sessions in line keep their arrival");
    fixture.change(&json!({ "invitations": [batch()] })).await;
    let (_, page) = follow(&mut fixture.visitor(), &format!("/?vestibule_invite={second}")).await;
    assert!(!page.text().contains(WRONG), "{}", page.text());
}

async fn full_lines_keep_the_code_in_the_address(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, with(&json!({ "max_waiting": 1, "access": "invited" }))).await;
    let mut first = fixture.visitor();
    let (other, other_session) = code(&fixture, 2).await;
    follow(&mut first, &format!("/?vestibule_invite={other}")).await;
    let (code, session) = code(&fixture, 1).await;
    let link = format!("/?vestibule_invite={code}");
    let mut invited = fixture.visitor();
    let page = invited.navigate(&link).await;
    assert_eq!(page.status, StatusCode::OK, "the page presents the code again when it reloads");
    assert!(page.text().contains("The line is full"), "{}", page.text());
    let data = page.text().split_once("id=\"vestibule-data\">").unwrap().1;
    let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
    let poll = data["status_url"].as_str().unwrap();
    assert_eq!(invited.request(Request::get(poll), "").await.json()["state"], "full");
    fixture.gate.store().end(&fixture.queue, other_session).await.unwrap();
    assert_eq!(
        invited.request(Request::get(poll), "").await.json()["session"],
        json!(session),
        "the open page presents it, too"
    );
    follow(&mut invited, &link).await;
    assert_eq!(status(&fixture, &mut invited).await["session"], json!(session));
}

async fn code_keeps_the_position_in_a_full_line(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, with(&json!({ "max_waiting": 1 }))).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    let own = status(&fixture, &mut visitor).await;
    assert_eq!((&own["state"], &own["position"]), (&json!("waiting"), &json!(1)));
    fixture.advance_seconds(1);
    let (code, _) = code(&fixture, 5).await;
    let page = visitor.navigate(&format!("/?vestibule_invite={code}")).await;
    assert!(page.text().contains("data-state=\"waiting\""), "{}", page.text());
    let ask = Request::get(fixture.own("status")).header("x-vestibule-invite", &code);
    let after = visitor.request(ask, "").await.json();
    assert_eq!((&after["session"], &after["position"]), (&own["session"], &json!(1)));
}

/// Whoever sent the link, and however often an app sends the header.
async fn codes_of_no_use_to_a_visitor_are_not_used(setup: StoreSetup) {
    let protection = json!({ "pre_ticket_from": "none", "mode": "enforce", "on_exceed": "reject", "per_address": 3 });
    let fixture = GateFixture::open(setup, with(&json!({ "protection": protection }))).await;
    let mut ahead = fixture.visitor();
    ahead.navigate("/").await;
    fixture.advance_seconds(HEAD_START + 5);
    let (code, _) = code(&fixture, 5).await;
    let ask = || Request::get(fixture.own("status")).header("x-vestibule-invite", &code);
    for _ in 0..10 {
        let kept = ahead.request(ask(), "").await;
        assert_eq!((kept.status, &kept.json()["position"]), (StatusCode::OK, &json!(1)));
    }
    assert_eq!(fixture.counts().await, (1, 0), "its session has not joined");
}

async fn apps_present_codes_in_a_header(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, with(&json!({ "access": "invited" }))).await;
    let (code, session) = code(&fixture, 3).await;
    let own = fixture.own("status");
    let ask = |code: &str| Request::get(&own).header("x-vestibule-invite", code);
    let mut app = fixture.visitor();
    let refused = app.request(ask("0400E0"), "").await.json();
    assert_eq!((&refused["state"], &refused["session"]), (&json!("invitation_required"), &json!(null)));
    for _ in 0..2 {
        let joined = app.request(ask(&code), "").await;
        assert_eq!(joined.status, StatusCode::OK);
        assert_eq!((&joined.json()["state"], &joined.json()["session"]), (&json!("waiting"), &json!(session)));
    }
    assert_eq!(fixture.counts().await, (1, 0));
}

async fn the_draw_subtracts_the_head_start(setup: StoreSetup) {
    let now = setup.clock.now().seconds();
    let at = |seconds: u64| Timestamp::of(Micros(seconds * 1_000_000)).to_string();
    let event = json!({
        "id": "sale", "lobby_at": at(now - 600), "starts_at": at(now + 300), "ends_at": at(now + 3_600), "draw_seconds": 30,
        "key": "s1", "salt": "a",
    });
    // A head start longer than the lobby puts the invited ahead of everyone else in the draw.
    let mut fans = batch();
    fans["head_start"] = 3_600.into();
    let settings = with(&json!({ "mode": "scheduled", "events": [event], "invitations": [fans] }));
    let fixture = GateFixture::open(setup, settings).await;
    let mut others = Vec::new();
    for _ in 0..3 {
        let mut visitor = fixture.visitor();
        visitor.navigate("/").await;
        others.push(visitor);
    }
    let mut invited = others.pop().unwrap();
    let (code, session) = code(&fixture, 9).await;
    follow(&mut invited, &format!("/?vestibule_invite={code}")).await;
    let shown = status(&fixture, &mut invited).await;
    assert_eq!((&shown["state"], &shown["session"]), (&json!("lobby"), &json!(session)), "it replaced the session");
    fixture.advance_seconds(300);
    fixture.visitor().post(&fixture.own("keepalive")).await;
    for visitor in others.iter_mut().chain([&mut invited]) {
        visitor.navigate("/").await;
    }
    fixture.advance_seconds(30);
    let shown = status(&fixture, &mut invited).await;
    assert_eq!((&shown["state"], &shown["position"]), (&json!("waiting"), &json!(1)), "{shown}");
    assert!(shown["event"]["number"].is_string(), "{shown}");
}
