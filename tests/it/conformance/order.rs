//! Rules 1 to 4, 21 and 22: order, admission, quota, rate and steps, maximum length.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::future::join_all;
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::json;
use vestibule_core::line::{ADVANCE_BATCH, Mode, PageStart, REAP_BATCH, SessionList, Visit, VisitKind};
use vestibule_core::{MICROS_PER_SECOND, SessionId};

use crate::line_fixture::{LineFixture, StoreFixture, TestVisitor, sessions};

pub(super) async fn rule_01_arrivals_are_strictly_increasing(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0 })).await;
    let start = fixture.now();
    let arrivals: Vec<u64> = fixture.join_many(5).await.iter().map(|guest| guest.arrival.since(start)).collect();
    assert_eq!(arrivals, [0, 1, 2, 3, 4], "all at one instant");
    fixture.advance_micros(2);
    assert_eq!(fixture.join().await.arrival.since(start), 5, "the clock is behind the last arrival");
    fixture.advance_micros(100);
    assert_eq!(fixture.join().await.arrival.since(start), 102, "the clock is ahead of it");
}

pub(super) async fn rule_01_simultaneous_arrivals_keep_request_order(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0 })).await;
    let guests = fixture.join_many(40).await;
    assert_eq!(fixture.line().await, sessions(&guests));
    for (index, guest) in guests.iter().enumerate() {
        assert_eq!(fixture.position(guest).await, Some(index as u64 + 1));
    }
}

pub(super) async fn rule_01_concurrent_arrivals_are_unique(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 10 })).await;
    let visits = (0..60).map(|_| {
        let (store, queue) = (Arc::clone(&stores.store), fixture.queue.clone());
        let visit = Visit::joining(SessionId::random());
        tokio::spawn(async move { store.visit(&queue, visit).await.unwrap() })
    });
    let answers: Vec<_> = join_all(visits).await.into_iter().map(Result::unwrap).collect();
    let ranks: HashSet<u64> = answers.iter().map(|answer| answer.session.unwrap().position).collect();
    assert_eq!(ranks, (0..=50).collect::<HashSet<_>>(), "ten are active, and positions are unique");
    let arrivals: HashSet<_> = answers.iter().map(|answer| answer.session.unwrap().arrival).collect();
    assert_eq!(arrivals.len(), 60);
}

pub(super) async fn repeated_first_visit_is_the_same_session(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    for (rank, how) in [(0, "admitted"), (1, "in line")] {
        let session = SessionId::random();
        let first = fixture.visit_as(session).await;
        fixture.advance_micros(10);
        let again = fixture.visit_as(session).await;
        assert_eq!(again.session, first.session, "{how}");
        assert_eq!((again.session.unwrap().position, again.kind), (rank, VisitKind::Renewed), "{how}");
    }
    assert_eq!((fixture.counts().await, fixture.stats().await.counters.joined), ((1, 1), 2));
}

pub(super) async fn void_ticket_makes_one_new_session_in_all_tabs(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0, "hold_ttl": 60 })).await;
    let mut tab = fixture.join().await;
    let mut others = [tab.clone(), tab.clone(), tab.clone()];
    fixture.advance_seconds(61);
    assert_eq!(fixture.visit(&mut tab).await.kind, VisitKind::Joined);
    for other in &mut others {
        assert_eq!(fixture.visit(other).await.kind, VisitKind::Renewed);
        assert_eq!(other.session, tab.session);
    }
    assert_eq!(fixture.line().await, [tab.session]);
}

pub(super) async fn rule_02_lowest_arrival_is_admitted_first(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let mut guests = fixture.arrivals(6).await;
    while let Some((first, others)) = guests.split_first() {
        assert!(fixture.is_in(first).await);
        for (index, other) in others.iter().enumerate() {
            assert_eq!(fixture.position(other).await, Some(index as u64 + 1));
        }
        fixture.leave(first).await;
        guests.remove(0);
    }
}

pub(super) async fn rule_02_newcomer_never_takes_a_freed_slot(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1, "active_ttl": 40 })).await;
    let (first, mut second) = (fixture.join_and_confirm().await, fixture.join_and_confirm().await);
    fixture.advance_seconds(30);
    fixture.visit(&mut second).await;
    fixture.advance_seconds(15);
    let newcomer = fixture.join().await;
    assert_eq!(fixture.state(&first).await, None, "it expired");
    assert!(fixture.is_in(&second).await);
    assert_eq!(fixture.position(&newcomer).await, Some(1));
}

pub(super) async fn rule_02_newcomer_waits_behind_rate_limited_sessions(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 100, "admissions_per_minute": 60 })).await;
    let guests = fixture.join_many(3).await;
    assert_eq!(fixture.counts().await, (2, 1), "slots are free, but the rate allows no admission");
    fixture.advance_seconds(1);
    let newcomer = fixture.join().await;
    assert!(fixture.is_in(&guests[1]).await);
    assert_eq!((fixture.position(&guests[2]).await, fixture.position(&newcomer).await), (Some(1), Some(2)));
}

/// One active session in the only slot, one waiting session with a recent visit. The active session
/// expires if `expires` is set.
async fn one_in_one_waiting(fixture: &LineFixture<'_>, expires: bool) -> (TestVisitor, TestVisitor) {
    let (inside, mut next) = (fixture.join_and_confirm().await, fixture.join_and_confirm().await);
    if expires {
        for seconds in [35, 30] {
            fixture.advance_seconds(seconds);
            fixture.visit(&mut next).await;
        }
        fixture.advance_seconds(25);
    }
    (inside, next)
}

pub(super) async fn rule_02_freeing_a_slot_admits_the_next_session(stores: &StoreFixture) {
    for operation in ["visit", "keepalive", "away", "leave", "end", "purge", "release"] {
        let expires = !matches!(operation, "leave" | "end");
        let fixture = stores.open(json!({ "quota": 1, "active_ttl": 80 })).await;
        let (inside, next) = one_in_one_waiting(&fixture, expires).await;
        assert_eq!(fixture.counts().await, (1, 1), "{operation}");
        match operation {
            "visit" => _ = fixture.join().await,
            "keepalive" => _ = fixture.keepalive(&next).await,
            "away" => _ = fixture.away(&inside).await,
            "leave" => _ = fixture.leave(&inside).await,
            "end" => _ = fixture.end(&inside).await,
            "purge" => fixture.purge().await,
            _ => _ = fixture.release(0).await,
        }
        assert!(fixture.is_in(&next).await, "{operation}");
    }
}

pub(super) async fn rule_02_one_operation_admits_at_most_128(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0 })).await;
    fixture.join_many(300).await;
    let batch = ADVANCE_BATCH as u64;
    fixture.change(|settings| settings.line.quota = 1000).await;
    assert_eq!(fixture.counts().await, (300 - batch, batch));
    let newcomer = fixture.join().await;
    assert_eq!(fixture.counts().await, (301 - 2 * batch, 2 * batch));
    assert_eq!(fixture.position(&newcomer).await, Some(301 - 2 * batch));
    fixture.join().await;
    assert_eq!(fixture.counts().await, (0, 302));
}

pub(super) async fn rule_02_expired_sessions_at_the_head_do_not_block(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0 })).await;
    fixture.join_many(REAP_BATCH * 2 + 10).await;
    let mut behind = fixture.join_and_confirm().await;
    fixture.advance_seconds(29);
    fixture.visit(&mut behind).await;
    fixture.advance_seconds(2);
    fixture.change(|settings| settings.line.quota = 1).await;
    assert!(fixture.is_in(&behind).await, "closed tabs at the head do not block");
    assert_eq!(fixture.counts().await, (0, 1));
}

pub(super) async fn rule_02_one_operation_fills_a_hundred_free_slots(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0 })).await;
    let guests = fixture.join_many(101).await;
    fixture.change(|settings| settings.line.quota = 100).await;
    assert_eq!(fixture.line().await, [guests[100].session]);
}

pub(super) async fn rule_03_quota_is_never_exceeded(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 7 })).await;
    for index in 1..=20_u64 {
        fixture.join_and_confirm().await;
        assert_eq!(fixture.counts().await, (index.saturating_sub(7), index.min(7)));
    }
}

pub(super) async fn rule_03_lower_quota_stops_admissions_without_eviction(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 3 })).await;
    let guests = fixture.arrivals(5).await;
    fixture.change(|settings| settings.line.quota = 1).await;
    assert_eq!(fixture.counts().await, (2, 3));
    for (leaver, counts) in [(0, (2, 2)), (1, (2, 1)), (2, (1, 1))] {
        fixture.leave(&guests[leaver]).await;
        assert_eq!(fixture.counts().await, counts);
    }
    assert!(fixture.is_in(&guests[3]).await);
}

pub(super) async fn rule_03_higher_quota_admits_immediately(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let guests = fixture.arrivals(5).await;
    fixture.change(|settings| settings.line.quota = 4).await;
    assert!(fixture.is_in(&guests[3]).await);
    assert_eq!(fixture.line().await, [guests[4].session]);
}

/// A queue with slots for all, where no session expires for an hour.
async fn patient(stores: &StoreFixture, per_minute: u64) -> LineFixture<'_> {
    patient_in_steps(stores, per_minute, None).await
}

async fn patient_in_steps(stores: &StoreFixture, per_minute: u64, every: Option<u64>) -> LineFixture<'_> {
    let ttls = json!({ "quota": 100_000, "admissions_per_minute": per_minute, "admissions_every": every,
        "waiting_ttl": 3600, "claim_ttl": 3600, "active_ttl": 86_400, "hold_ttl": 3600, "mode": "paused" });
    stores.open(ttls).await
}

async fn open_door(fixture: &LineFixture<'_>) {
    fixture.change(|settings| settings.line.mode = Mode::Open).await;
}

/// Number of sessions admitted by an operation that neither frees nor takes a slot.
async fn admitted_now(fixture: &LineFixture<'_>) -> u64 {
    fixture.store().purge(&fixture.queue, 0).await.unwrap().admitted
}

pub(super) async fn rule_04_burst_is_limited_to_one_second_of_the_rate(stores: &StoreFixture) {
    let fixture = patient(stores, 600).await;
    fixture.join_many(100).await;
    open_door(&fixture).await;
    assert_eq!(fixture.counts().await.1, 10, "the bucket is full");
    assert_eq!(admitted_now(&fixture).await, 0);
    fixture.advance_micros(99_999);
    assert_eq!(admitted_now(&fixture).await, 0);
    fixture.advance_micros(1);
    assert_eq!(admitted_now(&fixture).await, 1, "a tenth of a second buys one");
    fixture.advance_seconds(1700);
    assert_eq!(admitted_now(&fixture).await, 10, "a long quiet time is worth one second");
}

pub(super) async fn rule_04_slow_rate_admits_one_at_a_time(stores: &StoreFixture) {
    let fixture = patient(stores, 2).await;
    fixture.join_many(5).await;
    open_door(&fixture).await;
    let mut admitted = vec![fixture.counts().await.1];
    for _ in 0..9 {
        fixture.advance_seconds(10);
        admitted.push(admitted_now(&fixture).await);
    }
    assert_eq!(admitted, [1, 0, 0, 1, 0, 0, 1, 0, 0, 1]);
}

pub(super) async fn rule_04_no_burst_at_minute_boundaries(stores: &StoreFixture) {
    let fixture = patient(stores, 120).await;
    fixture.join_many(400).await;
    open_door(&fixture).await;
    let mut admitted = vec![fixture.counts().await.1];
    for _ in 0..150 {
        fixture.advance_micros(MICROS_PER_SECOND);
        admitted.push(admitted_now(&fixture).await);
    }
    assert_eq!(admitted, [2; 151]);
}

pub(super) async fn rule_04_changed_rate_applies_to_the_next_request(stores: &StoreFixture) {
    let fixture = patient(stores, 1).await;
    fixture.join_many(100).await;
    open_door(&fixture).await;
    assert_eq!(fixture.counts().await.1, 1);
    fixture.change(|settings| settings.line.admissions_per_minute = Some(600)).await;
    fixture.advance_seconds(1);
    assert_eq!(admitted_now(&fixture).await, 10);
    fixture.change(|settings| settings.line.admissions_per_minute = None).await;
    assert_eq!(fixture.counts().await, (0, 100));
}

/// Number of sessions admitted by as many operations as it takes.
async fn all_admitted_now(fixture: &LineFixture<'_>) -> u64 {
    let mut admitted = 0;
    loop {
        match admitted_now(fixture).await {
            0 => return admitted,
            more => admitted += more,
        }
    }
}

/// Multiples of a step that the test passes.
const MULTIPLES: u64 = 3;

pub(super) async fn rule_21_steps_admit_at_whole_multiples(stores: &StoreFixture) {
    let mut rng = SmallRng::seed_from_u64(21);
    for (every, earned) in [(15, 75), (600, 3000)] {
        let fixture = patient_in_steps(stores, 300, Some(every)).await;
        join_all((0..earned * (MULTIPLES + 2)).map(|_| fixture.join())).await;
        open_door(&fixture).await;
        all_admitted_now(&fixture).await;
        assert_eq!(fixture.counts().await.1, earned, "the bucket is full");
        let step = every * MICROS_PER_SECOND;
        for multiple in 1..=MULTIPLES {
            let left = step - fixture.now().0 % step;
            let mut early: Vec<u64> = (0..5).map(|_| rng.random_range(0..left)).chain([left - 1]).collect();
            early.sort_unstable();
            let start = fixture.now();
            for time in early {
                fixture.advance_micros(start.0 + time - fixture.now().0);
                assert_eq!(admitted_now(&fixture).await, 0, "{every} s: {time} us later");
            }
            // The first operation comes at the multiple, or some time after it.
            fixture.advance_micros(1 + if multiple == 2 { rng.random_range(0..step) } else { 0 });
            assert_eq!(all_admitted_now(&fixture).await, earned, "{every} s, multiple {multiple}");
        }
    }
}

pub(super) async fn rule_21_steps_can_be_set_and_removed(stores: &StoreFixture) {
    let fixture = patient(stores, 300).await;
    fixture.join_many(200).await;
    fixture.advance_micros(60 * MICROS_PER_SECOND - fixture.now().0 % (60 * MICROS_PER_SECOND));
    open_door(&fixture).await;
    assert_eq!(fixture.counts().await.1, 5, "evenly: one second of the rate");
    fixture.advance_seconds(45);
    assert_eq!(admitted_now(&fixture).await, 5);
    fixture.change(|settings| settings.line.admissions_every = Some(60)).await;
    fixture.advance_seconds(14);
    assert_eq!(admitted_now(&fixture).await, 0);
    fixture.advance_seconds(1);
    assert_eq!(admitted_now(&fixture).await, 75, "the step that began late earns 15 seconds");
    fixture.change(|settings| settings.line.admissions_every = None).await;
    assert_eq!(admitted_now(&fixture).await, 0);
    fixture.advance_micros(200_000);
    assert_eq!(admitted_now(&fixture).await, 1, "evenly again");
}

pub(super) async fn rule_21_fractions_of_a_step_are_kept(stores: &StoreFixture) {
    let fixture = patient_in_steps(stores, 20, Some(5)).await;
    fixture.join_many(60).await;
    fixture.advance_micros(5 * MICROS_PER_SECOND - fixture.now().0 % (5 * MICROS_PER_SECOND));
    open_door(&fixture).await;
    assert_eq!(fixture.counts().await.1, 2, "a step and what steps before it left");
    let mut admitted = 0;
    for _ in 0..24 {
        fixture.advance_seconds(5);
        let group = admitted_now(&fixture).await;
        assert!((1..=2).contains(&group), "one and two thirds");
        admitted += group;
    }
    assert_eq!(admitted, 40, "in two minutes");
}

pub(super) async fn rule_22_full_line_admits_no_newcomer_to_it(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1, "max_waiting": 2 })).await;
    let mut guests = fixture.arrivals(3).await;
    assert_eq!(fixture.counts().await, (2, 1));
    for _ in 0..3 {
        let answer = fixture.visit_as(SessionId::random()).await;
        assert_eq!((answer.kind, answer.session, answer.waiting, answer.active), (VisitKind::Full, None, 2, 1));
    }
    assert_eq!(fixture.ask(None, None).await.kind, VisitKind::Full, "visitors who may not join get the same answer");
    assert_eq!((fixture.counts().await, fixture.stats().await.counters.joined), ((2, 1), 3), "nothing is stored");
    assert_eq!(fixture.visit_as(guests[2].session).await.kind, VisitKind::Renewed, "a present session is none");
    fixture.leave(&guests[0]).await;
    assert_eq!(fixture.visit(&mut guests[2]).await.kind, VisitKind::Renewed);
    assert_eq!(fixture.visit_as(SessionId::random()).await.kind, VisitKind::Joined, "there is room again");
}

pub(super) async fn rule_22_returning_tickets_join_a_full_line(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1, "max_waiting": 2 })).await;
    let mut guests = fixture.arrivals(3).await;
    fixture.away(&guests[1]).await;
    let newcomer = fixture.join_and_confirm().await;
    assert_eq!(fixture.visit(&mut guests[1]).await.kind, VisitKind::Restored);
    assert_eq!(fixture.line().await, [&guests[1], &guests[2], &newcomer].map(|guest| guest.session));
    fixture.change(|settings| settings.line.max_waiting = Some(1)).await;
    assert_eq!(fixture.counts().await, (3, 1), "a lower limit removes nobody");
    assert_eq!(fixture.visit(&mut guests[2]).await.kind, VisitKind::Renewed);
    fixture.change(|settings| settings.line.mode = Mode::Paused).await;
    assert_eq!(fixture.visit_as(SessionId::random()).await.kind, VisitKind::Full);
    fixture.change(|settings| settings.line.mode = Mode::Closed).await;
    assert_eq!(fixture.visit_as(SessionId::random()).await.kind, VisitKind::Absent, "closed comes first");
}

pub(super) async fn rule_22_concurrent_joins_never_exceed_the_limit(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1, "max_waiting": 100 })).await;
    let answers = join_all((0..1000).map(|_| fixture.visit_as(SessionId::random()))).await;
    let count = |kind| answers.iter().filter(|answer| answer.kind == kind).count();
    assert_eq!((count(VisitKind::Joined), count(VisitKind::Full)), (101, 899));
    assert_eq!(fixture.counts().await, (100, 1));
}

pub(super) async fn rule_17_checkpoints_are_exact_and_change_nothing(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let view = async || fixture.store().line(&fixture.queue).await.unwrap();
    assert_eq!(view().await.checkpoints, []);
    for joins in [1, 2, 14, 43] {
        fixture.join_many(joins).await;
        fixture.advance_seconds(1);
    }
    let (before, view, line) = (fixture.stats().await, view().await, fixture.line().await);
    assert_eq!((line.len(), &view.stats, &before), (59, &before, &fixture.stats().await));
    let ranks: Vec<u64> = view.checkpoints.iter().map(|it| it.rank).collect();
    assert_eq!(ranks, (1..=16).chain([24, 36, 54, 59]).collect::<Vec<_>>());
    let page = fixture.page(SessionList::Waiting, PageStart::default(), 100).await;
    for checkpoint in &view.checkpoints {
        let entry = page.entries[checkpoint.rank as usize - 1];
        assert_eq!(checkpoint.arrival, entry.at, "rank {}", checkpoint.rank);
    }
    fixture.advance_seconds(60);
    assert_eq!(fixture.store().line(&fixture.queue).await.unwrap().stats.waiting, 59, "nobody is removed");
}
