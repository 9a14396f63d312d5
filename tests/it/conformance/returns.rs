//! Rule 7: the ticket holds the place.

use serde_json::json;
use vestibule_core::PutMode;
use vestibule_core::line::{Counters, Mode, Presentation};

use crate::room::{Bench, Guest, Room, sessions};

pub(super) async fn rule_07_a_ticket_returns_to_its_original_arrival(bench: &Bench) {
    let room = bench.open(json!({ "quota": 0 })).await;
    let mut guests = room.arrivals(3).await;
    let original = guests[0].arrival;
    room.pass(50);
    room.visit_all(&mut guests[1..]).await;
    room.pass(20);
    room.purge().await;
    assert_eq!(room.rank(&guests[1]).await, Some(1), "the absent block nobody");
    let answer = room.visit(&mut guests[0]).await;
    assert_eq!((answer.presentation, answer.place.unwrap().rank), (Presentation::Returned, 1));
    assert_eq!(guests[0].arrival, original);
    assert_eq!(room.line().await, sessions(&guests));
    let expected = Counters { joined: 3, confirmed: 3, returned: 1, expired_in_line: 1, ..Counters::default() };
    assert_eq!(room.stats().await.counters, expected);
}

pub(super) async fn rule_07_a_keepalive_returns_as_well(bench: &Bench) {
    let room = bench.open(json!({ "quota": 0 })).await;
    let guest = room.arrive().await;
    room.pass(100);
    assert_eq!(room.keepalive(&guest).await.presentation, Presentation::Returned);
    assert_eq!(room.line().await, [guest.session]);
}

pub(super) async fn rule_07_a_ticket_holds_its_place_for_hold_ttl_from_its_last_signature(bench: &Bench) {
    let room = bench.open(json!({ "quota": 0 })).await;
    let mut guest = room.arrive().await;
    let session = guest.session;
    let old = guest.clone();
    for _ in 0..3 {
        room.pass_micros(600_000_000 - 1);
        assert_eq!(room.visit(&mut guest).await.presentation, Presentation::Returned);
    }
    room.pass(600);
    room.purge().await;
    assert_eq!(room.keepalive(&guest).await.presentation, Presentation::Absent, "a keepalive joins nobody");
    assert_eq!(room.keepalive(&old).await.presentation, Presentation::Absent);
    assert_eq!(room.visit(&mut guest).await.presentation, Presentation::Joined);
    assert_ne!(guest.session, session);
}

pub(super) async fn rule_07_who_slept_through_the_turn_comes_back_to_the_head(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1 })).await;
    let mut guests = room.arrivals(4).await;
    room.pass(20);
    room.visit_all(&mut guests).await;
    room.leave(&guests[0]).await;
    assert!(room.is_in(&guests[1]).await);
    room.pass(40);
    room.visit_all(&mut guests[2..]).await;
    assert!(room.is_in(&guests[2]).await, "the sleeper's place went on");
    let answer = room.visit(&mut guests[1]).await;
    assert_eq!((answer.presentation, answer.place.unwrap().rank), (Presentation::Returned, 1));
    room.leave(&guests[2]).await;
    assert!(room.is_in(&guests[1]).await);
}

/// Somebody who was let in, and then lapsed there.
async fn admitted_and_gone(room: &Room<'_>) -> Guest {
    let mut guest = room.arrive().await;
    room.pass(550);
    room.visit(&mut guest).await;
    room.pass_micros(600_000_000 - 1);
    room.lose(PutMode::Always).await;
    guest
}

pub(super) async fn rule_07_an_admitted_ticket_returns_to_places(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1 })).await;
    let mut guest = admitted_and_gone(&room).await;
    let admitted_at = guest.ticket.admitted_at();
    let answer = room.visit(&mut guest).await;
    assert_eq!(answer.presentation, Presentation::Returned);
    assert_eq!(answer.place.unwrap().admitted_at, admitted_at, "the session goes on");
    assert_eq!(room.expires_in(&guest).await, 600_000_000);
    let counters = room.stats().await.counters;
    assert_eq!((counters.returned, counters.admitted), (1, 0), "it is no new admission");
}

pub(super) async fn rule_07_an_admitted_ticket_is_good_for_active_ttl(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1, "hold_ttl": 6000 })).await;
    let mut guest = admitted_and_gone(&room).await;
    room.pass_micros(1);
    assert_eq!(room.keepalive(&guest).await.presentation, Presentation::Absent);
    assert_eq!(room.visit(&mut guest).await.presentation, Presentation::Joined);
}

pub(super) async fn rule_07_an_admitted_ticket_that_finds_all_places_taken_goes_to_the_head_of_the_line(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1, "active_ttl": 40 })).await;
    let mut guest = room.arrive().await;
    let arrival = guest.arrival;
    let others = room.arrivals(3).await;
    room.pass(38);
    room.visit(&mut guest).await;
    let mut others = others;
    room.visit_all(&mut others).await;
    room.pass(39);
    room.purge().await;
    assert!(room.is_in(&guest).await);
    room.pass(1);
    room.visit(&mut others[0]).await;
    assert!(room.is_in(&others[0]).await, "the place is the next one's now");
    let gone = room.keepalive(&guest).await;
    assert_eq!(gone.presentation, Presentation::Absent, "signed 40 s ago is too long ago");

    room.change(|settings| settings.line.active_ttl = 100).await;
    let answer = room.visit(&mut guest).await;
    assert_eq!((answer.presentation, answer.active), (Presentation::Returned, 1), "nobody is let in on top");
    assert_eq!(answer.place.map(|place| (place.rank, place.arrival, place.admitted_at)), Some((1, arrival, None)));
    room.leave(&others[0]).await;
    assert!(room.is_in(&guest).await);
}

pub(super) async fn rule_07_an_old_ticket_of_a_session_that_is_in_is_that_session(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1 })).await;
    let (first, mut second) = (room.arrive().await, room.arrive().await);
    let old = second.clone();
    room.leave(&first).await;
    room.visit(&mut second).await;
    let answer = room.keepalive(&old).await;
    assert_eq!((answer.presentation, answer.active), (Presentation::Present, 1));
    assert!(answer.place.unwrap().admitted_at.is_some());
}

pub(super) async fn rule_07_after_a_lost_state_the_order_is_kept(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1 })).await;
    let mut guests = room.arrivals(5).await;
    room.pass(5);
    room.visit_all(&mut guests).await;
    room.lose(PutMode::Restore).await;
    assert!(room.stats().await.recovering);
    let newcomer = room.arrive().await;
    assert_eq!(room.rank(&newcomer).await, Some(1), "nobody new is let in");
    let mut shuffled: Vec<Guest> = [3, 1, 0, 4, 2].map(|index| guests[index].clone()).to_vec();
    room.visit_all(&mut shuffled).await;
    assert!(room.is_in(&guests[0]).await, "who was in is in");
    let order: Vec<_> = guests[1..].iter().chain([&newcomer]).map(|guest| guest.session).collect();
    assert_eq!(room.line().await, order);
}

pub(super) async fn rule_07_a_lost_state_admits_nobody_new_for_one_waiting_ttl(bench: &Bench) {
    let room = bench.open(json!({ "quota": 5 })).await;
    let mut guest = room.arrive().await;
    room.lose(PutMode::Restore).await;
    let began = room.now();
    let mut newcomer = room.arrive().await;
    assert_eq!(room.stats().await.began, began);
    room.pass_micros(20_000_000);
    assert!(room.visit(&mut newcomer).await.recovering);
    room.visit(&mut guest).await;
    room.pass_micros(40_000_000 - 2);
    assert!(room.visit(&mut newcomer).await.recovering);
    assert_eq!(room.counts().await, (1, 1));
    room.pass_micros(1);
    let answer = room.visit(&mut newcomer).await;
    assert!(!answer.recovering && room.is_in(&newcomer).await);
}

pub(super) async fn rule_07_a_ticket_older_than_the_state_shows_that_the_state_was_lost(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1 })).await;
    let mut guests = room.arrivals(3).await;
    room.pass(1);
    room.lose(PutMode::Always).await;
    assert!(!room.stats().await.recovering, "nobody knows yet");
    room.pass(1);
    assert!(room.visit(&mut guests[2]).await.recovering);
    assert_eq!(room.rank(&guests[2]).await, Some(1), "a free place is in sight, and two older ones are on their way");
    room.visit_all(&mut guests[..2]).await;
    assert!(room.is_in(&guests[0]).await);
    room.pass(59);
    room.leave(&guests[0]).await;
    assert!(room.is_in(&guests[1]).await);
}

pub(super) async fn rule_07_a_void_ticket_older_than_the_state_shows_nothing(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1 })).await;
    let guest = room.arrive().await;
    room.pass(1);
    room.store().reset(&room.queue).await.unwrap();
    room.pass(1);
    assert!(!room.keepalive(&guest).await.recovering, "it is of another epoch");
    let mut newcomer = room.arrive().await;
    room.pass(1);
    assert!(!room.visit(&mut newcomer).await.recovering, "its ticket is younger than the state");
}

pub(super) async fn rule_07_a_ticket_that_comes_after_the_first_waiting_ttl_stops_nobody(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1 })).await;
    let mut guest = room.arrive().await;
    room.pass(1);
    room.lose(PutMode::Always).await;
    room.pass(60);
    assert!(!room.visit(&mut guest).await.recovering);
    assert!(room.is_in(&guest).await);
}

pub(super) async fn rule_07_all_who_were_in_return_to_a_lost_state_even_above_the_quota(bench: &Bench) {
    let room = bench.open(json!({ "quota": 4 })).await;
    let mut guests = room.arrivals(5).await;
    room.visit_all(&mut guests).await;
    room.change(|settings| settings.line.quota = 2).await;
    room.lose(PutMode::Restore).await;
    room.visit_all(&mut guests).await;
    assert_eq!(room.counts().await, (1, 4), "a lowered quota evicts nobody, a lost state neither");
    room.pass(60);
    room.visit_all(&mut guests).await;
    assert_eq!(room.counts().await, (1, 4));
}

pub(super) async fn rule_07_a_newcomer_to_a_lost_state_comes_after_all_who_returned(bench: &Bench) {
    let room = bench.open(json!({ "quota": 0 })).await;
    let mut guests = room.joiners(50).await;
    room.lose(PutMode::Restore).await;
    room.visit(&mut guests[49]).await;
    let newcomer = room.join().await;
    assert!(newcomer.arrival > guests[49].arrival, "though the clock is behind the arrivals given out before");
    room.visit_all(&mut guests[..49]).await;
    assert_eq!(room.rank(&newcomer).await, Some(51));
}

pub(super) async fn rule_07_a_returner_waits_for_the_turn_while_the_queue_is_paused(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1 })).await;
    let mut guest = room.arrive().await;
    room.lose(PutMode::Always).await;
    room.change(|settings| settings.line.mode = Mode::Paused).await;
    room.visit(&mut guest).await;
    assert!(room.is_in(&guest).await, "who was in is in");
}
