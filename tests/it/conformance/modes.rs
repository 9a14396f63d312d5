//! Rules 9 to 11: modes, releases and resets.

use serde_json::json;
use vestibule_core::PutMode;
use vestibule_core::SessionId;
use vestibule_core::line::{Counters, Mode, Presentation, RELEASE_BATCH, Waits};

use crate::room::{Bench, sessions};

pub(super) async fn rule_09_open_admits_while_there_are_places(bench: &Bench) {
    let room = bench.open(json!({ "quota": 2, "mode": "open" })).await;
    let answers = [room.visit_as(SessionId::random()).await, room.visit_as(SessionId::random()).await];
    for answer in answers {
        assert_eq!((answer.mode, answer.presentation), (Mode::Open, Presentation::Joined));
        assert_eq!(answer.place.unwrap().admitted_at, Some(room.now()));
    }
    assert_eq!(room.visit_as(SessionId::random()).await.place.unwrap().rank, 1);
}

pub(super) async fn rule_09_bypass_stores_nothing(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1 })).await;
    let guests = room.arrivals(2).await;
    room.change(|settings| settings.line.mode = Mode::Bypass).await;
    let before = room.stats().await;
    for answer in [room.visit_as(SessionId::random()).await, room.keepalive(&guests[1]).await] {
        assert_eq!((answer.mode, answer.place), (Mode::Bypass, None));
        assert_eq!(answer.presentation, Presentation::Absent);
    }
    assert_eq!(room.stats().await, before);
}

pub(super) async fn rule_09_after_a_bypass_the_line_stands_as_before(bench: &Bench) {
    let room = bench.open(json!({ "quota": 0 })).await;
    let guests = room.arrivals(3).await;
    room.change(|settings| settings.line.mode = Mode::Bypass).await;
    room.pass(20);
    room.change(|settings| settings.line.mode = Mode::Open).await;
    assert_eq!(room.line().await, sessions(&guests));
}

pub(super) async fn rule_09_paused_lets_people_join_and_nobody_in(bench: &Bench) {
    let room = bench.open(json!({ "quota": 2 })).await;
    let inside = room.arrive().await;
    room.change(|settings| settings.line.mode = Mode::Paused).await;
    let waiting = room.arrivals(3).await;
    assert_eq!(room.counts().await, (3, 1));
    room.leave(&inside).await;
    assert_eq!(room.counts().await, (3, 0));
    room.change(|settings| settings.line.mode = Mode::Open).await;
    assert_eq!(room.line().await, [waiting[2].session]);
}

pub(super) async fn rule_09_closed_lets_nobody_join_and_who_is_in_stays(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1 })).await;
    let mut guests = room.arrivals(2).await;
    room.change(|settings| settings.line.mode = Mode::Closed).await;
    let answer = room.visit_as(SessionId::random()).await;
    assert_eq!((answer.mode, answer.presentation, answer.place), (Mode::Closed, Presentation::Absent, None));
    room.pass(50);
    room.visit_all(&mut guests).await;
    assert!(room.is_in(&guests[0]).await);
    assert_eq!(room.expires_in(&guests[0]).await, 600_000_000);
    room.leave(&guests[0]).await;
    assert_eq!(room.counts().await, (1, 0), "nobody is let in, and the line stands");
}

pub(super) async fn rule_10_a_release_ignores_quota_rate_and_pause(bench: &Bench) {
    let room = bench.open(json!({ "quota": 0, "admissions_per_minute": 1, "mode": "paused" })).await;
    let guests = room.arrivals(6).await;
    assert_eq!(room.release(4).await, 4);
    assert_eq!(room.line().await, sessions(&guests[4..]));
    assert_eq!(room.expires_in(&guests[0]).await, 30_000_000, "they are away and have to show up");
    assert_eq!(room.release(9).await, 2);
    assert_eq!(room.release(1).await, 0);
    assert_eq!(room.stats().await.counters, Counters { joined: 6, released: 6, ..Counters::default() });
}

pub(super) async fn rule_10_a_release_costs_the_rate_nothing(bench: &Bench) {
    let room = bench.open(json!({ "quota": 99, "admissions_per_minute": 60, "mode": "paused" })).await;
    room.arrivals(4).await;
    assert_eq!(room.release(2).await, 2);
    room.change(|settings| settings.line.mode = Mode::Open).await;
    assert_eq!(room.counts().await, (1, 3));
}

pub(super) async fn rule_10_a_release_skips_the_lapsed(bench: &Bench) {
    let room = bench.open(json!({ "quota": 0 })).await;
    room.joiners(50).await;
    let mut present = room.arrivals(3).await;
    room.pass(29);
    room.visit_all(&mut present).await;
    room.pass(1);
    assert_eq!(room.release(2).await, 2);
    assert_eq!(room.line().await, [present[2].session]);
    let expected = Counters { joined: 53, released: 2, expired_in_line: 50, ..Counters::default() };
    assert_eq!(room.stats().await.counters, expected);
}

pub(super) async fn rule_10_one_release_admits_at_most_500(bench: &Bench) {
    let room = bench.open(json!({ "quota": 0 })).await;
    room.joiners(RELEASE_BATCH + 3).await;
    assert_eq!(room.release(u64::MAX).await, RELEASE_BATCH as u64);
    assert_eq!(room.counts().await, (3, RELEASE_BATCH as u64));
}

pub(super) async fn rule_10_after_a_release_the_quota_holds_again(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1 })).await;
    let guests = room.arrivals(5).await;
    assert_eq!(room.release(2).await, 2);
    assert_eq!(room.counts().await, (2, 3));
    for (leaver, counts) in [(0, (2, 2)), (1, (2, 1)), (2, (1, 1))] {
        room.leave(&guests[leaver]).await;
        assert_eq!(room.counts().await, counts);
    }
}

pub(super) async fn rule_11_a_reset_empties_the_line_and_voids_older_tickets(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1 })).await;
    let mut guests = room.arrivals(3).await;
    let gone = room.arrive().await;
    room.leave(&gone).await;
    room.pass(5);
    let epoch = room.store().reset(&room.queue).await.unwrap();
    let stats = room.stats().await;
    assert_eq!((stats.waiting, stats.active, stats.rules.epoch), (0, 0, epoch));
    assert_eq!((stats.counters, stats.waits, stats.began), (Counters::default(), Waits::default(), room.now()));
    assert_eq!(room.state(&gone).await, None, "tombstones are of no use any more");
    for (index, guest) in guests.iter_mut().enumerate().rev() {
        let session = guest.session;
        assert_eq!(room.keepalive(guest).await.presentation, Presentation::Absent);
        assert_eq!(room.visit(guest).await.presentation, Presentation::Joined, "{index}");
        assert_ne!(guest.session, session);
        assert_eq!(guest.ticket.epoch(), epoch);
    }
    assert!(room.is_in(&guests[2]).await, "the first to come to the new line");
}

pub(super) async fn rule_11_every_reset_is_another_epoch(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1 })).await;
    let first = room.store().reset(&room.queue).await.unwrap();
    assert_eq!(first, room.now().seconds());
    assert_eq!(room.store().reset(&room.queue).await.unwrap(), first + 1, "within the same second too");
    let settings = room.settings().await;
    assert_eq!((settings.line.epoch, settings.line.revision), (first + 1, 3));
}

pub(super) async fn rule_11_settings_with_another_epoch_begin_a_new_line(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1 })).await;
    let guests = room.arrivals(2).await;
    room.change(|settings| settings.line.quota = 9).await;
    assert_eq!(room.counts().await, (0, 2));
    room.change(|settings| settings.line.epoch = 7).await;
    assert_eq!(room.counts().await, (0, 0));
    let answer = room.keepalive(&guests[0]).await;
    assert_eq!((answer.epoch, answer.presentation), (7, Presentation::Absent));
}

pub(super) async fn rule_11_a_reset_keeps_its_epoch_through_a_lost_state(bench: &Bench) {
    let room = bench.open(json!({ "quota": 0 })).await;
    let old = room.arrive().await;
    room.store().reset(&room.queue).await.unwrap();
    let new = room.arrive().await;
    room.lose(PutMode::Restore).await;
    assert_eq!(room.keepalive(&old).await.presentation, Presentation::Absent);
    assert_eq!(room.keepalive(&new).await.presentation, Presentation::Returned);
}
