//! Rules 19 and 20: the head start of invited newcomers, and access for them only.

use serde_json::json;
use vestibule_core::line::{Mode, Visit, VisitAnswer, VisitKind};
use vestibule_core::settings::Access;
use vestibule_core::{MICROS_PER_SECOND, SaleKeys, SessionId};
use vestibule_tests::GateUnderTest;

use super::phases::event;
use crate::line_fixture::{LineFixture, StoreFixture};

/// An invited newcomer with a head start in seconds.
async fn invited_as(fixture: &LineFixture<'_>, session: SessionId, head_start: u64) -> VisitAnswer {
    fixture.store().visit(&fixture.queue, Visit::invited(session, head_start * MICROS_PER_SECOND)).await.unwrap()
}

async fn invited(fixture: &LineFixture<'_>, head_start: u64) -> VisitAnswer {
    invited_as(fixture, SessionId::random(), head_start).await
}

fn session_of(answer: &VisitAnswer) -> SessionId {
    answer.session.unwrap().id
}

pub(super) async fn rule_19_head_start_is_bounded(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0, "waiting_ttl": 600, "claim_ttl": 600 })).await;
    let early = fixture.join().await;
    fixture.advance_seconds(61);
    let late = fixture.join().await;
    let last = fixture.now();
    let ahead = invited(&fixture, 60).await;
    assert_eq!(
        ahead.session.unwrap().arrival.since(late.arrival),
        0,
        "of two arrivals at once, none is earlier than 60 s"
    );
    assert_eq!(last.since(ahead.session.unwrap().arrival), 60 * MICROS_PER_SECOND - 1);
    assert_eq!(
        (ahead.kind, ahead.session.unwrap().position),
        (VisitKind::Joined, 2),
        "who came 61 s earlier stays ahead"
    );
    let next = fixture.join().await;
    assert_eq!(next.arrival.since(late.arrival), 1, "it delays no later arrival");
    let line = [early.session, session_of(&ahead), late.session, next.session];
    assert_eq!(fixture.line().await, line);
    fixture.change(|settings| settings.line.quota = 2).await;
    assert_eq!(fixture.counts().await, (2, 2), "the quota is the same");
    assert_eq!(fixture.line().await, line[2..]);
}

pub(super) async fn rule_19_equal_arrivals_have_an_order(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0 })).await;
    fixture.join().await;
    let ids = [[3; 14], [1; 14], [2; 14]].map(SessionId::from_bytes);
    for session in ids {
        invited_as(&fixture, session, 5).await;
    }
    assert_eq!(fixture.line().await[..3], [ids[1], ids[2], ids[0]]);
    let plain = invited(&fixture, 0).await;
    assert_eq!(plain.session.unwrap().position, 5, "without a head start the invited join at the end");
}

pub(super) async fn rule_19_a_join_ahead_is_no_return(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    fixture.join_and_confirm().await;
    fixture.join_and_confirm().await;
    let before = fixture.stats().await.pace;
    invited(&fixture, 60).await;
    assert_eq!(fixture.stats().await.pace, before, "joins do not move the line back");
}

pub(super) async fn rule_20_uninvited_newcomers_do_not_join(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1, "access": "invited", "max_waiting": 1 })).await;
    let newcomer = fixture.visit_as(SessionId::random()).await;
    assert_eq!((newcomer.kind, newcomer.session), (VisitKind::InvitationRequired, None));
    assert_eq!(
        fixture.ask(None, None).await.kind,
        VisitKind::InvitationRequired,
        "visitors who may not join get the same answer"
    );
    assert_eq!((fixture.counts().await, fixture.stats().await.counters.joined), ((0, 0), 0), "nothing is stored");
    let first = session_of(&invited(&fixture, 0).await);
    assert_eq!(fixture.counts().await, (0, 1));
    assert_eq!(fixture.visit_as(first).await.kind, VisitKind::Renewed, "a present session is none");
    assert_eq!(invited(&fixture, 60).await.kind, VisitKind::Joined);
    assert_eq!(invited(&fixture, 60).await.kind, VisitKind::Full, "the invited meet the limit");
    assert_eq!(fixture.visit_as(SessionId::random()).await.kind, VisitKind::InvitationRequired, "comes before it");
    fixture.change(|settings| settings.line.mode = Mode::Closed).await;
    assert_eq!(fixture.visit_as(SessionId::random()).await.kind, VisitKind::Absent, "closed comes first");
    fixture.change(|settings| (settings.line.mode, settings.line.access) = (Mode::Paused, Some(Access::Anyone))).await;
    assert_eq!(fixture.visit_as(SessionId::random()).await.kind, VisitKind::Full, "the next request follows");
}

pub(super) async fn rule_20_tickets_return_without_an_invitation(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0 })).await;
    let mut guest = fixture.join_and_confirm().await;
    fixture.change(|settings| settings.line.access = Some(Access::Invited)).await;
    fixture.away(&guest).await;
    assert_eq!(fixture.visit(&mut guest).await.kind, VisitKind::Restored);
}

pub(super) async fn rule_20_an_ended_session_blocks_its_code(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0, "hold_ttl": 600, "active_ttl": 300 })).await;
    let session = SessionId::random();
    for _ in 0..10 {
        assert_eq!(session_of(&invited_as(&fixture, session, 60).await), session);
    }
    assert_eq!(fixture.counts().await, (1, 0), "ten devices are one session");
    fixture.store().end(&fixture.queue, session).await.unwrap();
    assert_eq!(invited_as(&fixture, session, 60).await.kind, VisitKind::Absent);
    fixture.advance_seconds(599);
    assert_eq!(invited_as(&fixture, session, 60).await.kind, VisitKind::Absent);
    fixture.advance_seconds(1);
    assert_eq!(invited_as(&fixture, session, 60).await.kind, VisitKind::Joined, "usable again");
}

pub(super) async fn rule_20_the_lobby_is_for_the_invited_too(stores: &StoreFixture) {
    let mut event = event("sale", 0, 600, 4_000);
    for (field, value) in [("order", json!("draw")), ("key", json!("s1")), ("salt", json!("a"))] {
        event[field] = value;
    }
    let settings =
        json!({ "mode": "scheduled", "quota": 1, "access": "invited", "hold_ttl": 1_200, "events": [event] });
    let fixture = stores.open(settings).await;
    let newcomer = fixture.visit_as(SessionId::random()).await;
    assert_eq!((newcomer.kind, newcomer.mode), (VisitKind::InvitationRequired, Mode::Lobby));
    assert_eq!(fixture.stats().await.lobby_tickets, 0);
    let visit = Visit::invited(SessionId::random(), 120 * MICROS_PER_SECOND);
    let answer = fixture.store().visit(&fixture.queue, visit.clone()).await.unwrap();
    assert_eq!((answer.kind, fixture.stats().await.lobby_tickets), (VisitKind::Lobby, 1));
    let entry = answer.lobby_entry(&visit).unwrap().in_batch(Some(7));
    let signer = &fixture.stores.signer;
    let token = signer.sign_lobby(&fixture.queue, &"sale".parse().unwrap(), &entry).unwrap();
    let ticket = signer.verify_lobby(&fixture.queue, token.as_bytes()).unwrap();
    assert_eq!(ticket.batch(), Some(7));
    fixture.advance_seconds(600);
    let event = fixture.settings().await.line.events[0].clone();
    let draw = SaleKeys::new(&GateUnderTest::sale_keys()).unwrap().draw(&fixture.queue, &event).unwrap();
    let drawn = ticket.drawn(&draw, event.drawn_at().unwrap(), 120 * MICROS_PER_SECOND);
    let restored = fixture.ask(Some(drawn), None).await;
    assert_eq!(restored.kind, VisitKind::Restored);
    let ahead = draw.arrival(ticket.session()).since(restored.session.unwrap().arrival);
    assert_eq!(ahead, 120 * MICROS_PER_SECOND, "the head start counts from the drawn arrival");
}
