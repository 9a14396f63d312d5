//! Rule 7: the ticket holds the place.

use serde_json::json;
use vestibule_core::PutMode;
use vestibule_core::line::{Counters, Mode, Place, Presentation};

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

/// What lets in the second in line, who does not hear of it.
#[derive(Debug, Clone, Copy)]
enum Opens {
    Leave,
    End,
    Away,
    Visit,
    Purge,
    Release,
    Admit,
    Settings,
}

impl Opens {
    const ALL: [Self; 8] =
        [Self::Leave, Self::End, Self::Away, Self::Visit, Self::Purge, Self::Release, Self::Admit, Self::Settings];

    async fn opens(self, room: &Room<'_>, guests: &mut [Guest]) {
        if matches!(self, Self::Away | Self::Visit | Self::Purge) {
            room.pass(40);
        }
        match self {
            Self::Leave => drop(room.leave(&guests[0]).await),
            Self::End => drop(room.end(&guests[0]).await),
            Self::Away => drop(room.away(&guests[2]).await),
            Self::Visit => drop(room.visit(&mut guests[2]).await),
            Self::Purge => room.purge().await,
            Self::Release => drop(room.release(1).await),
            Self::Admit => drop(room.store().admit(&room.queue, guests[1].session).await.unwrap()),
            Self::Settings => room.change(|settings| settings.line.quota = 2).await,
        }
    }
}

pub(super) async fn rule_07_who_was_let_in_and_has_not_heard_of_it_returns_to_a_place_in_a_lost_state(bench: &Bench) {
    for opens in Opens::ALL {
        let room = bench.open(json!({ "quota": 1, "active_ttl": 40 })).await;
        let mut guests = room.arrivals(4).await;
        opens.opens(&room, &mut guests).await;
        let let_in_at = room.now();
        assert!(room.is_in(&guests[1]).await, "{opens:?}");
        room.pass(2);
        room.lose(PutMode::Restore).await;
        let newcomer = room.arrive().await;
        room.visit_all(&mut guests[3..]).await;
        let answer = room.visit(&mut guests[1]).await;
        assert_eq!(answer.presentation, Presentation::Returned, "{opens:?}");
        assert_eq!(answer.place.and_then(|place| place.admitted_at), Some(let_in_at), "{opens:?}");
        assert_eq!(room.expires_in(&guests[1]).await, 40_000_000, "the place is claimed");
        assert_eq!(room.visit(&mut guests[1]).await.presentation, Presentation::Present);
        assert_eq!(room.line().await, [guests[3].session, newcomer.session], "{opens:?}");
        let counters = room.stats().await.counters;
        assert_eq!((counters.returned, counters.admitted), (2, 0), "it is no new admission");
    }
}

/// Somebody who waits, behind one who is in, and the same with the word of a process that they were let in by now.
async fn vouched_for(room: &Room<'_>) -> (Guest, Guest) {
    room.arrive().await;
    let guest = room.arrive().await;
    room.pass(2);
    let ticket = guest.ticket.clone().vouched(room.now());
    room.pass(3);
    (guest.clone(), Guest { ticket, ..guest })
}

pub(super) async fn rule_07_a_whole_state_knows_itself_who_was_let_in(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1 })).await;
    let (guest, vouched) = vouched_for(&room).await;
    room.away(&guest).await;
    assert_eq!(room.keepalive(&vouched).await.place.unwrap().rank, 1, "absent");
    assert_eq!(room.keepalive(&vouched).await.place.unwrap().rank, 1, "came back to the line after that");
    room.lose(PutMode::Restore).await;
    room.pass(4);
    let after = Guest { ticket: vouched.ticket.clone().vouched(room.now()), ..vouched.clone() };
    room.pass(1);
    assert_eq!(room.keepalive(&after).await.place.unwrap().rank, 1, "this state knows what was done in it");
    assert!(room.keepalive(&vouched).await.place.unwrap().admitted_at.is_some());
    room.end(&vouched).await;
    assert_eq!(room.keepalive(&vouched).await.presentation, Presentation::Absent, "a tombstone stands above the word");
}

pub(super) async fn rule_07_the_word_for_who_was_let_in_holds_for_claim_ttl(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1, "claim_ttl": 30, "waiting_ttl": 60, "hold_ttl": 60 })).await;
    let (_, vouched) = vouched_for(&room).await;
    room.lose(PutMode::Restore).await;
    room.pass_micros(27_000_000 - 1);
    assert!(room.keepalive(&vouched).await.place.unwrap().admitted_at.is_some());
    room.lose(PutMode::Restore).await;
    room.pass_micros(1);
    assert_eq!(room.keepalive(&vouched).await.place.unwrap().rank, 1, "the place would have lapsed by now");

    let room = bench.open(json!({ "quota": 1, "max_session": 10 })).await;
    let (_, vouched) = vouched_for(&room).await;
    room.lose(PutMode::Restore).await;
    room.pass(7);
    assert_eq!(room.keepalive(&vouched).await.place.unwrap().rank, 1, "no place lasts longer than max_session");
}

pub(super) async fn rule_07_who_returned_to_the_line_without_the_word_is_let_in_by_it(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1 })).await;
    let (guest, vouched) = vouched_for(&room).await;
    room.lose(PutMode::Restore).await;
    assert_eq!(room.keepalive(&guest).await.place.unwrap().rank, 1, "another process knows nothing of it");
    let answer = room.keepalive(&vouched).await;
    assert_eq!((answer.presentation, answer.waiting, answer.active), (Presentation::Returned, 0, 1));
    assert_eq!(answer.place.unwrap().admitted_at, vouched.ticket.let_in_at());
    assert_eq!(room.keepalive(&guest).await.active, 1, "once");
    assert_eq!(room.stats().await.counters.returned, 1);
}

/// The ticket of somebody who was let in at this instant, by a state that is lost by now.
async fn admitted_by_what_is_lost(room: &Room<'_>, guest: &Guest) -> Guest {
    let mut answer = room.keepalive(guest).await;
    room.pass(2);
    answer.now = room.now();
    answer.place = answer.place.map(|place| Place { admitted_at: Some(room.now()), ..place });
    let ticket = room.bench.ticket(&room.queue, &answer).unwrap();
    room.pass(3);
    Guest { ticket, ..guest.clone() }
}

pub(super) async fn rule_07_a_state_that_went_back_gives_back_the_places_that_it_forgot(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1 })).await;
    let (_, vouched) = vouched_for(&room).await;
    let (told, behind) = (room.arrive().await, room.arrive().await);
    let told = admitted_by_what_is_lost(&room, &told).await;
    for guest in [vouched, told] {
        let answer = room.keepalive(&guest).await;
        let let_in_at = guest.ticket.admitted_at().or(guest.ticket.let_in_at());
        assert_eq!(answer.presentation, Presentation::Returned);
        assert_eq!(
            answer.place.and_then(|place| place.admitted_at),
            let_in_at,
            "who left meanwhile still counts as in"
        );
    }
    assert_eq!(room.rank(&behind).await, Some(1));
    assert_eq!(room.counts().await, (1, 3));
}

pub(super) async fn rule_07_who_came_back_to_the_line_from_a_lapsed_place_waits_whatever_old_tickets_say(
    bench: &Bench,
) {
    let settings = json!({ "quota": 1, "active_ttl": 100, "claim_ttl": 70, "waiting_ttl": 60 });
    let room = bench.open(settings).await;
    let mut guests = room.arrivals(2).await;
    let old = guests[0].clone();
    assert!(old.ticket.admitted_at().is_some());
    room.pass(50);
    room.visit(&mut guests[1]).await;
    room.change(|settings| settings.line.active_ttl = 20).await;
    room.visit(&mut guests[0]).await;
    room.pass(20);
    room.visit(&mut guests[1]).await;
    assert!(room.is_in(&guests[1]).await);
    room.change(|settings| settings.line.active_ttl = 100).await;
    for guest in [&guests[0], &old] {
        assert_eq!(room.keepalive(guest).await.place.unwrap().rank, 1);
    }
    room.change(|settings| settings.line.waiting_ttl = 200).await;
    assert_eq!(room.keepalive(&old).await.place.unwrap().rank, 1, "a longer time changes nothing in hindsight");
}

pub(super) async fn rule_08_nobody_vouches_for_who_ended(bench: &Bench) {
    for leaves in [false, true] {
        let room = bench.open(json!({ "quota": 1 })).await;
        let guests = room.arrivals(2).await;
        room.leave(&guests[0]).await;
        assert!(room.is_in(&guests[1]).await);
        if leaves {
            room.leave(&guests[1]).await
        } else {
            room.end(&guests[1]).await
        };
        room.pass(1);
        room.lose(PutMode::Restore).await;
        let answer = room.keepalive(&guests[1]).await;
        assert!(answer.place.is_none_or(|place| place.admitted_at.is_none()), "lost is the tombstone, and the place");
    }
}

pub(super) async fn rule_11_nobody_vouches_beyond_an_epoch(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1 })).await;
    let guests = room.arrivals(2).await;
    room.leave(&guests[0]).await;
    room.pass(1);
    room.store().reset(&room.queue).await.unwrap();
    room.lose(PutMode::Restore).await;
    assert_eq!(room.keepalive(&guests[1]).await.presentation, Presentation::Absent);
}
