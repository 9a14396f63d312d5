//! Rule 18: read-only visits.

use serde_json::json;
use vestibule_core::line::{Counters, Mode, SessionLocation, Visit, VisitAnswer, VisitKind};
use vestibule_core::{MICROS_PER_SECOND, PutMode};

use crate::line_fixture::{LineFixture, StoreFixture, TestVisitor, sessions};

async fn read(fixture: &LineFixture<'_>, guest: &TestVisitor) -> VisitAnswer {
    fixture.store().visit(&fixture.queue, Visit::reading(guest.ticket.clone())).await.unwrap()
}

pub(super) async fn rule_18_read_only_visit_sees_the_position(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let guests = fixture.arrivals(4).await;
    let answer = read(&fixture, &guests[3]).await;
    let session = answer.session.unwrap();
    assert_eq!((answer.kind, session.id, session.arrival), (VisitKind::Renewed, guests[3].session, guests[3].arrival));
    assert_eq!((session.position, session.admitted_at, answer.waiting, answer.active), (3, None, 3, 1));
    let inside = read(&fixture, &guests[0]).await.session.unwrap();
    assert!(inside.admitted_at.is_some() && inside.position == 0);
    fixture.leave(&guests[1]).await;
    assert_eq!(read(&fixture, &guests[3]).await.session.unwrap().position, 2);
}

pub(super) async fn rule_18_read_only_visits_renew_no_presence(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let guests = fixture.arrivals(2).await;
    let expiry = fixture.expires_in(&guests[1]).await;
    for second in 1..60 {
        fixture.advance_seconds(1);
        let session = read(&fixture, &guests[1]).await.session.unwrap();
        assert_eq!(session.expires_at.since(fixture.now()), expiry - second * MICROS_PER_SECOND);
    }
    fixture.advance_seconds(1);
    assert_eq!(read(&fixture, &guests[1]).await.session, None, "it has expired");
    assert_eq!(fixture.state(&guests[1]).await, None);
    assert_eq!(read(&fixture, &guests[1]).await.kind, VisitKind::Absent, "the ticket is good, but nobody presents it");
    let counters = fixture.stats().await.counters;
    assert_eq!((counters.expired_waiting, counters.returned), (1, 0));
}

pub(super) async fn rule_18_read_only_visit_restores_and_joins_nobody(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0 })).await;
    let guest = fixture.join().await;
    let before = fixture.expires_in(&guest).await;
    assert_eq!(read(&fixture, &guest).await.session.unwrap().expires_at.since(fixture.now()), before);
    assert_eq!(fixture.stats().await.counters.confirmed, 0, "the client has not returned the ticket");
    fixture.away(&guest).await;
    let visit = Visit { join: Some(guest.session), ..Visit::reading(guest.ticket.clone()) };
    let answer = fixture.store().visit(&fixture.queue, visit).await.unwrap();
    assert_eq!((answer.kind, answer.session, answer.waiting), (VisitKind::Absent, None, 0));
    fixture.lose(PutMode::Restore).await;
    let answer = read(&fixture, &guest).await;
    assert!(answer.session.is_none() && answer.recovering, "the state was lost");
    assert_eq!(fixture.stats().await.counters, Counters::default());
    fixture.end(&guest).await;
    assert_eq!(read(&fixture, &guest).await.session, None);
    assert_eq!(fixture.state(&guest).await, Some(SessionLocation::Ended));
}

pub(super) async fn rule_18_read_only_visit_expires_and_admits_others(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1, "active_ttl": 70 })).await;
    let mut guests = fixture.arrivals(4).await;
    fixture.advance_seconds(40);
    fixture.visit_all(&mut guests[2..]).await;
    fixture.advance_seconds(20);
    assert_eq!(read(&fixture, &guests[3]).await.session.unwrap().position, 2, "the one at the head has expired");
    assert_eq!(fixture.line().await, sessions(&guests[2..]));
    fixture.advance_seconds(10);
    let answer = read(&fixture, &guests[3]).await;
    assert_eq!((answer.session.unwrap().position, answer.waiting, answer.active), (1, 1, 1));
    assert!(fixture.is_in(&guests[2]).await, "the slot expired, and the next session has it");
}

pub(super) async fn rule_18_census_of_a_read_only_visit_frees_reserved_slots(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1, "active_ttl": 100, "waiting_ttl": 10 })).await;
    let mut guests = fixture.arrivals(3).await;
    fixture.visit(&mut guests[1]).await;
    fixture.change(|settings| settings.line.mode = Mode::Paused).await;
    fixture.leave(&guests[0]).await;
    fixture.advance_seconds(1);
    fixture.visit(&mut guests[2]).await;
    fixture.advance_seconds(1);
    fixture.lose(PutMode::Restore).await;
    fixture.change(|settings| settings.line.mode = Mode::Open).await;
    for _ in 0..3 {
        fixture.visit(&mut guests[1]).await;
        fixture.advance_seconds(5);
    }
    let stats = fixture.stats().await;
    assert_eq!((stats.recovering, stats.reserved, stats.waiting), (false, 1, 1), "by the ticket of the second visitor");
    assert_eq!(read(&fixture, &guests[2]).await.active, 1, "the ticket of the third says that nobody was active");
    assert!(fixture.is_in(&guests[1]).await);
}

pub(super) async fn rule_18_turn_that_was_only_read_expires_unclaimed(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1, "claim_ttl": 25 })).await;
    let mut guests = fixture.arrivals(2).await;
    fixture.change(|settings| settings.line.quota = 2).await;
    let session = read(&fixture, &guests[1]).await.session.unwrap();
    assert!(session.admitted_at.is_some());
    assert_eq!(session.expires_at.since(fixture.now()), 25 * MICROS_PER_SECOND, "nobody has claimed it");
    fixture.advance_seconds(24);
    read(&fixture, &guests[1]).await;
    assert_eq!(fixture.expires_in(&guests[1]).await, MICROS_PER_SECOND);
    let mut claimed = guests[1].clone();
    fixture.visit(&mut claimed).await;
    assert_eq!(fixture.expires_in(&guests[1]).await, 600 * MICROS_PER_SECOND);
    fixture.leave(&guests[0]).await;
    assert_eq!(read(&fixture, &guests[0]).await.session, None, "it has left");
    fixture.visit(&mut guests[1]).await;
}
