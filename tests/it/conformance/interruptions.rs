//! Rule 7: visitors who could not be served keep their order.

use serde_json::json;
use vestibule_core::SessionId;
use vestibule_core::line::{Visit, VisitAnswer, Witness};

use crate::line_fixture::{LineFixture, StoreFixture, TestVisitor, sessions};

/// The visit of a guest through a process that could not serve for this time.
async fn tell(fixture: &LineFixture<'_>, guest: &TestVisitor, seconds: u64) -> VisitAnswer {
    let witness = Witness { unserved: seconds * 1_000_000, census: None };
    let visit = Visit { ticket: Some(guest.ticket.clone()), witness, ..Visit::default() };
    fixture.store().visit(&fixture.queue, visit).await.unwrap()
}

/// A line of which nobody came for 100 seconds, so that all have expired. The first visitor had left.
async fn line_without_visits(stores: &StoreFixture) -> (LineFixture<'_>, Vec<TestVisitor>) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let mut guests = fixture.arrivals(4).await;
    fixture.advance_seconds(1);
    fixture.visit_all(&mut guests).await;
    fixture.leave(&guests[0]).await;
    fixture.advance_seconds(100);
    (fixture, guests)
}

pub(super) async fn rule_07_unserved_visitors_keep_their_order(stores: &StoreFixture) {
    for (seconds, recovers) in [(29, false), (30, true)] {
        let (fixture, mut guests) = line_without_visits(stores).await;
        let answer = tell(&fixture, &guests[3], seconds).await;
        assert_eq!(answer.recovering, recovers, "after {seconds} s");
        if recovers {
            fixture.visit_all(&mut guests[1..]).await;
            assert_eq!(fixture.line().await, sessions(&guests[1..]));
        }
    }
}

/// Of an interruption, operations other than a visit do not know: the earlier visitor may have expired because of it.
pub(super) async fn rule_07_no_admission_before_a_visit_shows_an_interruption(stores: &StoreFixture) {
    for (visited, admits) in [(32, true), (31, false)] {
        let fixture = stores.open(json!({ "quota": 1, "recheck_after": 0 })).await;
        let mut guests = fixture.arrivals(3).await;
        fixture.advance_seconds(visited);
        fixture.visit(&mut guests[2]).await;
        fixture.advance_seconds(61 - visited);
        fixture.leave(&guests[0]).await;
        fixture.change(|settings| settings.line.quota = 2).await;
        fixture.purge().await;
        assert_eq!(fixture.is_in(&guests[2]).await, admits, "{} s after the last visit", 61 - visited);
        if !admits {
            assert!(tell(&fixture, &guests[1], 30).await.recovering);
            assert_eq!(fixture.line().await, sessions(&guests[1..]), "in the old order");
        }
    }
}

/// The first visit afterwards comes through a process that did not notice.
pub(super) async fn rule_07_interruption_is_known_after_visits_of_others(stores: &StoreFixture) {
    for (later, recovers) in [(1, true), (59, true), (60, false)] {
        let (fixture, mut guests) = line_without_visits(stores).await;
        assert!(!fixture.visit(&mut guests[3]).await.recovering);
        for _ in 0..later {
            fixture.advance_seconds(1);
            fixture.visit(&mut guests[3]).await;
        }
        assert_eq!(tell(&fixture, &guests[1], 30).await.recovering, recovers, "after {later} s");
        if recovers {
            for recovering in [true, true, false] {
                fixture.advance_seconds(20);
                let answer = tell(&fixture, &guests[1], 30).await;
                assert_eq!(answer.recovering, recovering, "one interruption starts one recovery");
            }
        }
    }
}

pub(super) async fn rule_07_quiet_queue_is_not_an_interruption(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let guest = fixture.join_and_confirm().await;
    fixture.leave(&guest).await;
    fixture.advance_seconds(1);
    fixture.join_and_confirm().await;
    fixture.advance_seconds(3600);
    let witness = Witness { unserved: Witness::STARTED, census: None };
    let visit = Visit { witness, ..Visit::joining(SessionId::random()) };
    let answer = fixture.store().visit(&fixture.queue, visit).await.unwrap();
    assert!(!answer.recovering, "no session waited, so none expired");
    assert!(answer.session.unwrap().admitted_at.is_some());
}

/// The visit that did not tell has admitted a later arrival.
pub(super) async fn rule_07_later_arrivals_grant_no_slots_to_the_expired(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 9, "admissions_per_minute": 1 })).await;
    let mut guests = fixture.arrivals(5).await;
    fixture.advance_seconds(2);
    for guest in &mut guests {
        fixture.advance_seconds(1);
        fixture.visit(guest).await;
    }
    fixture.advance_seconds(100);
    fixture.visit(&mut guests[4]).await;
    assert!(fixture.is_in(&guests[4]).await);
    fixture.advance_seconds(1);
    assert!(tell(&fixture, &guests[3], 30).await.recovering);
    // The census of this ticket is younger than the interruption.
    fixture.visit(&mut guests[4]).await;
    fixture.visit_all(&mut guests[1..4]).await;
    assert_eq!(fixture.line().await, sessions(&guests[1..4]));
    assert_eq!((fixture.counts().await, fixture.stats().await.reserved), ((3, 2), 0));
}

/// A visitor was admitted before the interruption without noticing, and the claim expired in it.
pub(super) async fn rule_07_unnoticed_admission_is_known_after_visits_of_others(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 2 })).await;
    let mut guests = fixture.arrivals(5).await;
    fixture.advance_seconds(1);
    fixture.visit_all(&mut guests[1..]).await;
    fixture.leave(&guests[0]).await;
    fixture.advance_seconds(1);
    fixture.visit(&mut guests[4]).await;
    fixture.advance_seconds(40);
    fixture.visit(&mut guests[4]).await;
    assert!(fixture.is_in(&guests[3]).await && !fixture.is_in(&guests[2]).await);
    assert!(tell(&fixture, &guests[4], 30).await.recovering);
    fixture.change(|settings| settings.line.quota = 3).await;
    fixture.visit(&mut guests[2]).await;
    assert!(fixture.is_in(&guests[2]).await);
    assert_eq!(fixture.line().await, [guests[4].session]);
}

/// An earlier time without visits was longer.
pub(super) async fn rule_07_longer_quiet_time_hides_no_interruption(stores: &StoreFixture) {
    for waits in [false, true] {
        let fixture = stores.open(json!({ "quota": 1, "waiting_ttl": 60 })).await;
        let mut guests = fixture.arrivals(if waits { 4 } else { 1 }).await;
        fixture.advance_seconds(1);
        fixture.visit_all(&mut guests).await;
        fixture.advance_seconds(200);
        fixture.visit_all(&mut guests).await;
        if !waits {
            guests.extend(fixture.arrivals(3).await);
        }
        fixture.advance_seconds(1);
        fixture.visit_all(&mut guests).await;
        fixture.advance_seconds(100);
        assert!(!fixture.visit(&mut guests[3]).await.recovering);
        fixture.advance_seconds(1);
        assert!(tell(&fixture, &guests[1], 30).await.recovering, "{waits}");
    }
}
