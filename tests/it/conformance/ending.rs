//! Rule 8: leaving, ending and going away.

use serde_json::json;
use vestibule_core::line::{Counters, Removed, SessionLocation, VisitKind};
use vestibule_core::{Micros, SessionId};

use crate::line_fixture::{LineFixture, StoreFixture, TestVisitor};

/// The ticket is void, and its bearer joins as a new session at the end of the line.
async fn assert_ended(fixture: &LineFixture<'_>, guest: &TestVisitor) {
    assert_eq!(fixture.state(guest).await, Some(SessionLocation::Ended));
    let answer = fixture.keepalive(guest).await;
    assert_eq!((answer.kind, answer.session), (VisitKind::Absent, None));
    let again = fixture.visit_as(guest.session).await;
    assert_eq!(again.session, None, "the id cannot join again either");
    let mut bearer = guest.clone();
    assert_eq!(fixture.visit(&mut bearer).await.kind, VisitKind::Joined);
    assert_ne!(bearer.session, guest.session);
}

pub(super) async fn rule_08_leaving_frees_the_slot_permanently(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let guests = fixture.arrivals(3).await;
    assert_eq!(fixture.leave(&guests[1]).await, Removed::Waiting);
    assert_eq!(fixture.leave(&guests[0]).await, Removed::Active);
    assert!(fixture.is_in(&guests[2]).await);
    assert_eq!(fixture.leave(&guests[0]).await, Removed::Absent);
    assert_eq!(
        fixture.stats().await.counters,
        Counters { joined: 3, confirmed: 3, admitted: 2, left: 2, ..Counters::default() }
    );
    assert_ended(&fixture, &guests[0]).await;
    assert_ended(&fixture, &guests[1]).await;
}

pub(super) async fn rule_08_slot_is_held_until_the_last_credential_expires(stores: &StoreFixture) {
    let redirect = json!({ "kind": "redirect", "origin": "https://www.example.com" });
    let proxy = json!({ "kind": "proxy", "origin": "https://www.example.com" });
    // A ticket may admit a client for recheck_after, and a pass that it was given at the end of that for a minute more.
    for (handover, recheck_after, lasts) in [(&redirect, 2, 62), (&redirect, 0, 60), (&proxy, 7, 7), (&proxy, 0, 0)] {
        for ends in [false, true] {
            let settings = json!({ "quota": 1, "handover": handover, "recheck_after": recheck_after });
            let fixture = stores.open(settings).await;
            let mut guests = fixture.arrivals(2).await;
            fixture.advance_seconds(1);
            let removal = if ends { fixture.end(&guests[0]).await } else { fixture.leave(&guests[0]).await };
            assert_eq!(removal, Removed::Active);
            assert_eq!(fixture.keepalive(&guests[0]).await.kind, VisitKind::Absent, "ended immediately");
            for _ in 0..lasts {
                let answer = fixture.visit(&mut guests[1]).await;
                assert_eq!((answer.active, answer.session.unwrap().position), (1, 1), "the slot is still held");
                fixture.advance_seconds(1);
            }
            let answer = fixture.visit(&mut guests[1]).await;
            assert!(answer.session.unwrap().admitted_at.is_some(), "{handover} {recheck_after}");
            assert_eq!(fixture.stats().await.counters.expired_active, 0, "it was ended, and did not expire");
        }
    }
}

pub(super) async fn rule_08_operator_ends_a_present_session(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let guests = fixture.arrivals(3).await;
    assert_eq!(fixture.end(&guests[1]).await, Removed::Waiting);
    assert_eq!(fixture.end(&guests[0]).await, Removed::Active);
    assert!(fixture.is_in(&guests[2]).await);
    assert_eq!(
        fixture.stats().await.counters,
        Counters { joined: 3, confirmed: 3, admitted: 2, ended: 2, ..Counters::default() }
    );
    assert_ended(&fixture, &guests[0]).await;
}

pub(super) async fn rule_08_operator_ends_an_absent_session(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0 })).await;
    let guest = fixture.join_and_confirm().await;
    fixture.away(&guest).await;
    assert_eq!(fixture.end(&guest).await, Removed::Absent);
    assert_eq!(fixture.stats().await.counters.ended, 0, "it was counted when it went away");
    assert_ended(&fixture, &guest).await;
}

pub(super) async fn rule_08_absent_visitor_who_left_cannot_return(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0 })).await;
    let guest = fixture.join_and_confirm().await;
    fixture.advance_seconds(100);
    fixture.purge().await;
    assert_eq!(fixture.leave(&guest).await, Removed::Absent);
    assert_ended(&fixture, &guest).await;
}

pub(super) async fn rule_08_tombstone_outlasts_earlier_tickets(stores: &StoreFixture) {
    for (hold_ttl, active_ttl) in [(700, 60), (60, 700)] {
        let fixture = stores.open(json!({ "quota": 9, "hold_ttl": hold_ttl, "active_ttl": active_ttl })).await;
        let guest = fixture.join_and_confirm().await;
        fixture.leave(&guest).await;
        for _ in 0..7 {
            fixture.advance_micros(100_000_000 - 1);
            fixture.purge().await;
            assert_eq!(fixture.keepalive(&guest).await.kind, VisitKind::Absent);
        }
        assert_eq!(fixture.state(&guest).await, Some(SessionLocation::Ended));
        fixture.advance_micros(7);
        assert_eq!(fixture.state(&guest).await, None, "the tombstone is no longer needed");
        assert_eq!(fixture.keepalive(&guest).await.kind, VisitKind::Absent);
    }
}

pub(super) async fn rule_08_ending_a_session_again_extends_its_tombstone(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0 })).await;
    let guest = fixture.join_and_confirm().await;
    fixture.end(&guest).await;
    fixture.advance_seconds(500);
    fixture.end(&guest).await;
    fixture.advance_seconds(599);
    fixture.purge().await;
    assert_eq!(fixture.state(&guest).await, Some(SessionLocation::Ended));
    fixture.advance_seconds(1);
    assert_eq!(fixture.store().purge(&fixture.queue, 9).await.unwrap().tombstones, 1);
}

/// The ticket of the first visit is valid for `claim_ttl` only, and so is the tombstone of a visitor who leaves with it.
pub(super) async fn rule_08_leaving_does_not_undo_an_end(stores: &StoreFixture) {
    for ends in [true, false] {
        let fixture = stores.open(json!({ "quota": 0 })).await;
        let first = fixture.join().await;
        let mut guest = first.clone();
        fixture.advance_micros(1);
        fixture.visit(&mut guest).await;
        if ends {
            fixture.end(&guest).await;
        } else {
            fixture.leave(&guest).await;
        }
        fixture.advance_seconds(1);
        assert_eq!(fixture.leave(&first).await, Removed::Absent);
        fixture.advance_seconds(31);
        fixture.purge().await;
        assert_eq!(fixture.state(&guest).await, Some(SessionLocation::Ended));
        assert_eq!(fixture.keepalive(&guest).await.kind, VisitKind::Absent);
    }
}

pub(super) async fn rule_08_closed_page_keeps_its_position_and_does_not_block(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let mut guests = fixture.arrivals(4).await;
    assert_eq!(fixture.away(&guests[1]).await, Removed::Waiting);
    assert_eq!(fixture.away(&guests[1]).await, Removed::Absent);
    assert_eq!((fixture.state(&guests[1]).await, fixture.position(&guests[2]).await), (None, Some(1)));
    fixture.leave(&guests[0]).await;
    assert!(fixture.is_in(&guests[2]).await);
    assert_eq!(fixture.visit(&mut guests[1]).await.kind, VisitKind::Restored);
    assert_eq!((fixture.position(&guests[1]).await, fixture.position(&guests[3]).await), (Some(1), Some(2)));
    let expected =
        Counters { joined: 4, confirmed: 4, returned: 1, admitted: 2, left: 1, away: 1, ..Counters::default() };
    assert_eq!(fixture.stats().await.counters, expected);
}

pub(super) async fn rule_08_away_does_not_affect_active_sessions(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let guest = fixture.join_and_confirm().await;
    let before = fixture.expires_in(&guest).await;
    assert_eq!(fixture.away(&guest).await, Removed::Absent);
    assert!(fixture.is_in(&guest).await);
    assert_eq!((fixture.expires_in(&guest).await, fixture.stats().await.counters.away), (before, 0));
}

pub(super) async fn rule_08_ticket_of_another_epoch_removes_no_session(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let old = fixture.arrivals(2).await;
    fixture.store().reset(&fixture.queue).await.unwrap();
    for session in [old[0].session, old[1].session] {
        fixture.visit_as(session).await;
    }
    assert_eq!(fixture.leave(&old[0]).await, Removed::Absent);
    assert_eq!(fixture.away(&old[1]).await, Removed::Absent);
    assert_eq!(fixture.counts().await, (1, 1));
}

pub(super) async fn rule_08_ending_an_unknown_session_blocks_its_id(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let session = SessionId::random();
    assert_eq!(fixture.store().end(&fixture.queue, session).await.unwrap(), Removed::Absent);
    let found = fixture.store().find(&fixture.queue, session).await.unwrap().unwrap();
    assert_eq!((found.state, found.expires_at), (SessionLocation::Ended, Micros(fixture.now().0 + 600_000_000)));
    assert_eq!(fixture.visit_as(session).await.session, None);
}
