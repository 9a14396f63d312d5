//! Data next to the line: settings, tenants, counters, and read operations.

use serde_json::json;
use vestibule_core::line::{
    Counters, Mode, PACE_WINDOW, PAGE_MAX, Pace, PageStart, SessionList, SessionLocation, SessionPage, Visit,
    VisitKind, WAIT_BUCKETS,
};
use vestibule_core::settings::{Settings, Tenant};
use vestibule_core::{
    Clock, LastPurge, MICROS_PER_SECOND, Micros, PutMode, PutOutcome, QueueId, SessionId, StoreError, TenantId,
};

use crate::line_fixture::{StoreFixture, random_queue_id, sessions, settings_of};

pub(super) async fn settings_are_read_as_written(stores: &StoreFixture) {
    let queue = random_queue_id();
    assert!(stores.store.settings(&queue).await.unwrap().is_none());
    let written = settings_of(
        &queue,
        &json!({
            "name": "Größe & \"Tour\"", "hosts": ["a.example.com", "*.example.com"], "mode": "paused",
            "quota": 10_000_000, "admissions_per_minute": 6_000_000, "max_session": 2_592_000, "epoch": 1_000_000_000_000_000_u64,
            "rules": [{ "path": "/shop/**", "method": ["GET"], "action": "queue" }],
            "theme": "summer", "queue_status": 503, "store_failure": "closed", "cookie_domain": "example.com",
        }),
    );
    stores.store.put_settings(&written, PutMode::Always).await.unwrap();
    let read = stores.store.settings(&queue).await.unwrap().unwrap();
    assert_eq!(read.to_value(), written.to_value());
    assert_eq!(stores.store.stats(&queue).await.unwrap().rules, written.line);
}

pub(super) async fn revision_prevents_lost_updates(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let put = async |quota, mode| {
        let mut settings = fixture.settings().await;
        settings.line.quota = quota;
        fixture.store().put_settings(&settings, mode).await.unwrap()
    };
    assert_eq!(put(2, PutMode::IfRevision(1)).await, PutOutcome::Stored(2));
    assert_eq!(put(3, PutMode::IfRevision(1)).await, PutOutcome::Conflict(2));
    assert_eq!(put(4, PutMode::Restore).await, PutOutcome::Conflict(2), "it is there");
    assert_eq!(fixture.settings().await.line.quota, 2);
    assert_eq!(put(5, PutMode::Always).await, PutOutcome::Stored(3));
    let settings = fixture.settings().await;
    assert_eq!((settings.line.quota, settings.line.revision), (5, 3));
}

pub(super) async fn changed_settings_apply_to_the_next_request(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let mut guest = fixture.join_and_confirm().await;
    assert_eq!(fixture.visit(&mut guest).await.revision, 1);
    fixture.change(|settings| settings.line.quota = 6).await;
    fixture.store().purge(&fixture.queue, 0).await.unwrap();
    let answer = fixture.visit(&mut guest).await;
    assert_eq!((answer.revision, answer.quota), (2, 6));
    assert_eq!(fixture.stats().await.rules, fixture.settings().await.line);
}

pub(super) async fn restored_queue_keeps_its_epoch_and_revision(stores: &StoreFixture) {
    let settings = settings_of(&random_queue_id(), &json!({ "epoch": 5, "revision": 8 }));
    let outcome = stores.store.put_settings(&settings, PutMode::Restore).await.unwrap();
    assert_eq!(outcome, PutOutcome::Stored(8));
    let stats = stores.store.stats(&settings.id).await.unwrap();
    assert_eq!((stats.rules.epoch, stats.rules.revision, stats.recovering), (5, 8, true));
}

/// A process that did not notice the removal would otherwise take its settings for those of the new queue.
pub(super) async fn queue_continues_after_the_revision_of_a_removed_one(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    fixture.change(|settings| settings.line.quota = 2).await;
    let store = fixture.store();
    store.remove_queue(&fixture.queue).await.unwrap();
    let settings = settings_of(&fixture.queue, &json!({ "quota": 3 }));
    assert_eq!(settings.line.revision, 1);
    assert_eq!(store.put_settings(&settings, PutMode::Always).await.unwrap(), PutOutcome::Stored(3));
    assert_eq!(fixture.settings().await.line.revision, 3);
    assert!(store.queues().await.unwrap().contains(&(fixture.queue.clone(), 3)));
    assert_eq!(fixture.visit_as(SessionId::random()).await.revision, 3);
}

async fn assert_unknown(stores: &StoreFixture, queue: &QueueId) {
    let (store, visit) = (&stores.store, Visit::joining(SessionId::random()));
    let settings = settings_of(queue, &json!({}));
    let errors = [
        store.visit(queue, visit).await.unwrap_err(),
        store.end(queue, SessionId::random()).await.unwrap_err(),
        store.release(queue, 1).await.unwrap_err(),
        store.purge(queue, 1).await.unwrap_err(),
        store.stats(queue).await.unwrap_err(),
        store.find(queue, SessionId::random()).await.unwrap_err(),
        store.page(queue, SessionList::Waiting, PageStart::default(), 1).await.unwrap_err(),
        store.reset(queue).await.unwrap_err(),
        store.put_settings(&settings, PutMode::IfRevision(1)).await.unwrap_err(),
    ];
    for (index, error) in errors.iter().enumerate() {
        assert!(matches!(error, StoreError::UnknownQueue(id) if id == queue), "{index}: {error}");
    }
    assert!(store.settings(queue).await.unwrap().is_none());
}

pub(super) async fn unknown_queue_error_names_the_queue(stores: &StoreFixture) {
    let fixture = stores.open(json!({})).await;
    let guest = fixture.join_and_confirm().await;
    let queue = random_queue_id();
    assert_unknown(stores, &queue).await;
    for error in [
        stores.store.leave(&queue, guest.ticket.clone()).await.unwrap_err(),
        stores.store.away(&queue, guest.ticket.clone()).await.unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::UnknownQueue(id) if id == queue));
    }
}

pub(super) async fn removed_queue_leaves_no_data(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let guests = fixture.arrivals(3).await;
    fixture.leave(&guests[2]).await;
    fixture.store().remove_queue(&fixture.queue).await.unwrap();
    assert_unknown(stores, &fixture.queue).await;
    fixture.store().remove_queue(&fixture.queue).await.unwrap();
    let listed = stores.store.queues().await.unwrap();
    assert!(listed.contains(&(fixture.queue.clone(), 0)), "listed as removed, not as lost");

    fixture.store().put_settings(&settings_of(&fixture.queue, &json!({})), PutMode::Always).await.unwrap();
    assert!(stores.store.queues().await.unwrap().contains(&(fixture.queue.clone(), 2)));
    assert_eq!((fixture.counts().await, fixture.stats().await.counters), ((0, 0), Counters::default()));
    assert_eq!((fixture.state(&guests[0]).await, fixture.state(&guests[2]).await), (None, None));
}

pub(super) async fn queues_are_listed_by_id_with_their_revision(stores: &StoreFixture) {
    let rooms = [stores.open(json!({})).await, stores.open(json!({})).await, stores.open(json!({})).await];
    rooms[1].change(|settings| settings.line.quota = 3).await;
    let listed = stores.store.queues().await.unwrap();
    assert!(listed.is_sorted());
    for (index, fixture) in rooms.iter().enumerate() {
        let revision = if index == 1 { 2 } else { 1 };
        assert!(listed.contains(&(fixture.queue.clone(), revision)), "{index}: {listed:?}");
    }
}

pub(super) async fn queues_are_isolated(stores: &StoreFixture) {
    let (one, other) = (stores.open(json!({ "quota": 1 })).await, stores.open(json!({ "quota": 1 })).await);
    let guest = one.join_and_confirm().await;
    assert_eq!((one.counts().await, other.counts().await), ((0, 1), (0, 0)));
    assert_eq!(other.state(&guest).await, None);
    other.store().reset(&other.queue).await.unwrap();
    assert!(one.is_in(&guest).await);
}

pub(super) async fn tenants_are_stored_by_id(stores: &StoreFixture) {
    let unique = SessionId::random();
    let tenant = |letter: char, name: &str| Tenant {
        id: format!("{letter}-{unique}").parse().unwrap(),
        name: name.to_owned(),
        color: Some("#0a7d5a".to_owned()),
        logo: None,
        domains: Some(vec!["acme.example".to_owned()]),
        origins: Some(vec!["https://*.acme.example".parse().unwrap()]),
        max_job_queues: Some(7),
    };
    for written in [tenant('b', "Bolt"), tenant('a', "Acme"), tenant('b', "Bölt & Sons")] {
        stores.store.put_tenant(&written).await.unwrap();
    }
    let mut found = stores.store.tenants().await.unwrap();
    assert!(found.is_sorted_by_key(|tenant| tenant.id.clone()));
    found.retain(|tenant| tenant.id.as_str().ends_with(&unique.to_string()));
    assert_eq!(found, [tenant('a', "Acme"), tenant('b', "Bölt & Sons")]);
}

pub(super) async fn changed_tenant_is_not_replaced(stores: &StoreFixture) {
    let id: TenantId = format!("t-{}", SessionId::random()).parse().unwrap();
    let named = |name: &str| Tenant {
        id: id.clone(),
        name: name.to_owned(),
        color: None,
        logo: None,
        domains: None,
        origins: None,
        max_job_queues: None,
    };
    let [first, second, third] = [named("First"), named("Second"), named("Third")];
    let found = async || stores.store.tenants().await.unwrap().into_iter().find(|tenant| tenant.id == id);
    let replace = async |before, after| stores.store.replace_tenant(before, after).await.unwrap();
    assert!(!replace(Some(&first), &second).await, "it does not exist");
    assert_eq!(found().await, None);
    assert!(replace(None, &first).await);
    assert!(!replace(None, &second).await, "it exists");
    assert!(replace(Some(&first), &second).await);
    assert!(replace(Some(&first), &second).await, "a retry finds what it has written");
    assert!(!replace(Some(&first), &third).await, "it has changed");
    assert_eq!(found().await, Some(second.clone()));
    stores.store.remove_tenant(&id).await.unwrap();
    assert!(!replace(Some(&second), &third).await, "it was removed");
    assert_eq!(found().await, None);
}

pub(super) async fn removed_tenant_leaves_its_queues(stores: &StoreFixture) {
    let id: TenantId = format!("t-{}", SessionId::random()).parse().unwrap();
    let tenant = Tenant {
        id: id.clone(),
        name: "Acme".to_owned(),
        color: None,
        logo: None,
        domains: None,
        origins: None,
        max_job_queues: None,
    };
    stores.store.put_tenant(&tenant).await.unwrap();
    let fixture = stores.open(json!({ "tenant": id })).await;
    let listed = async || stores.store.tenants().await.unwrap().into_iter().any(|tenant| tenant.id == id);
    assert!(listed().await);
    for _ in 0..2 {
        stores.store.remove_tenant(&id).await.unwrap();
        assert!(!listed().await);
    }
    assert_eq!(fixture.settings().await.tenant, id);
}

pub(super) async fn sessions_are_found_in_every_state(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let guests = fixture.arrivals(4).await;
    fixture.leave(&guests[1]).await;
    let states = [
        Some(SessionLocation::Active { admitted_at: guests[0].arrival }),
        Some(SessionLocation::Ended),
        Some(SessionLocation::Waiting { arrival: guests[2].arrival, position: 1 }),
        Some(SessionLocation::Waiting { arrival: guests[3].arrival, position: 2 }),
    ];
    for (guest, state) in guests.iter().zip(states) {
        assert_eq!(fixture.state(guest).await, state);
    }
    assert_eq!(fixture.store().find(&fixture.queue, SessionId::random()).await.unwrap(), None);
}

pub(super) async fn next_page_continues_after_the_previous_one(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0 })).await;
    let page = |at, limit| fixture.page(SessionList::Waiting, PageStart { at, skip: 0 }, limit);
    assert_eq!(page(Micros(0), 9).await, SessionPage::default());
    let guests = fixture.join_many(PAGE_MAX + 7).await;
    let first = page(Micros(0), 3).await;
    assert_eq!(listed(&first), sessions(&guests[..3]));
    assert_eq!(first.next, Some(PageStart { at: guests[3].arrival, skip: 0 }));
    assert_eq!(first.entries[0].expires_at, fixture.now().add_seconds(30));
    let most = page(guests[3].arrival, usize::MAX).await;
    let next = PageStart { at: guests[PAGE_MAX + 3].arrival, skip: 0 };
    assert_eq!((most.entries.len(), most.next), (PAGE_MAX, Some(next)));
    let last = page(next.at, 4).await;
    assert_eq!((last.entries.len(), last.next), (4, None));
}

pub(super) async fn active_sessions_are_listed_by_admission(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 2 })).await;
    let guests = fixture.arrivals(7).await;
    fixture.advance_seconds(1);
    fixture.change(|settings| settings.line.quota = 6).await;
    fixture.store().purge(&fixture.queue, 0).await.unwrap();
    let admitted = fixture.now();
    let (mut start, mut found) = (PageStart::default(), Vec::new());
    loop {
        let page = fixture.page(SessionList::Active, start, 3).await;
        found.extend(page.entries);
        let Some(next) = page.next else { break };
        assert_eq!(next, PageStart { at: admitted, skip: 1 }, "four have the same time");
        start = next;
    }
    let mut same: Vec<_> = sessions(&guests[2..6]);
    same.sort_unstable();
    let expected = [sessions(&guests[..2]), same].concat();
    assert_eq!(found.iter().map(|entry| entry.session).collect::<Vec<_>>(), expected);
    assert_eq!((found[0].at, found[5].at), (guests[0].arrival, admitted));
    assert_eq!(found[5].expires_at, admitted.add_seconds(30), "until it is claimed");
}

pub(super) async fn ended_sessions_are_listed_until_forgotten(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1, "hold_ttl": 600, "active_ttl": 600, "recheck_after": 5 })).await;
    let guests = fixture.arrivals(3).await;
    fixture.leave(&guests[0]).await;
    let active = || fixture.page(SessionList::Active, PageStart::default(), 9);
    let ended = || fixture.page(SessionList::Ended, PageStart::default(), 9);
    assert_eq!(active().await, SessionPage::default(), "its slot is held for its last credential");
    fixture.advance_seconds(1);
    fixture.leave(&guests[2]).await;
    let both = ended().await;
    assert_eq!(listed(&both), sessions(&[guests[0].clone(), guests[2].clone()]));
    assert_eq!(both.entries[1].expires_at, both.entries[1].at);
    fixture.advance_seconds(700);
    assert_eq!(ended().await, SessionPage::default());
}

fn listed(page: &SessionPage) -> Vec<SessionId> {
    page.entries.iter().map(|entry| entry.session).collect()
}

pub(super) async fn reads_do_not_change_the_state(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let guests = fixture.arrivals(3).await;
    fixture.advance_seconds(1000);
    let before = (fixture.stats().await, fixture.entries().await);
    assert_eq!(before.0.waiting + before.0.active, 3, "expired sessions stay until they are removed");
    assert!(fixture.state(&guests[0]).await.is_some());
    assert_eq!((fixture.stats().await, fixture.entries().await), before);
}

pub(super) async fn oldest_arrival_is_that_of_the_head(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let guests = fixture.arrivals(3).await;
    assert_eq!(fixture.stats().await.oldest_arrival, Some(guests[1].arrival));
    fixture.leave(&guests[1]).await;
    assert_eq!(fixture.stats().await.oldest_arrival, Some(guests[2].arrival));
    fixture.leave(&guests[2]).await;
    assert_eq!(fixture.stats().await.oldest_arrival, None);
}

pub(super) async fn waits_are_counted_in_histogram_buckets(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1, "waiting_ttl": 3600, "claim_ttl": 3600, "hold_ttl": 3600 })).await;
    let mut last = fixture.join().await;
    let mut sum_us = 0;
    for seconds in [1, 2, 30, 31, 3000] {
        let mut next = fixture.join().await;
        fixture.advance_micros(seconds * 1_000_000 - fixture.now().since(next.arrival));
        fixture.visit(&mut next).await;
        sum_us += fixture.now().since(next.arrival);
        fixture.leave(&last).await;
        last = next;
    }
    let waits = fixture.stats().await.waits;
    let bucket = |bound| waits.buckets[WAIT_BUCKETS.iter().position(|it| *it == bound).unwrap()];
    assert_eq!([1, 5, 30, 60, 3600].map(bucket), [2, 1, 1, 1, 1], "the first did not wait");
    assert_eq!((waits.buckets.iter().sum::<u64>(), waits.sum_us), (6, sum_us));
    assert_eq!(sum_us / 1_000_000, 3063, "some arrivals are one microsecond ahead of the clock");
}

pub(super) async fn pace_counts_admissions_of_waiting_sessions(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 2 })).await;
    let guests = fixture.arrivals(5).await;
    let formed = fixture.stats().await.pace;
    assert_eq!((formed.current, formed.since), (0, guests[2].arrival), "counting starts when a line forms");
    fixture.leave(&guests[0]).await;
    fixture.leave(&guests[1]).await;
    assert_eq!(fixture.stats().await.pace.current, 2);
    fixture.change(|settings: &mut Settings| settings.name = "Acme".to_owned()).await;
    assert_eq!(fixture.stats().await.pace.current, 2, "a name does not affect the pace");
    fixture.change(|settings: &mut Settings| settings.line.quota = 1).await;
    let lowered = fixture.stats().await.pace;
    assert_eq!((lowered.current, lowered.since), (1, formed.since), "one slot fewer slows the pace in proportion");
    fixture.advance_seconds(1);
    fixture.change(|settings: &mut Settings| settings.line.admissions_per_minute = Some(60)).await;
    assert_eq!(fixture.stats().await.pace, lowered, "all slots are taken, so a rate is no limit");
    fixture.change(|settings: &mut Settings| settings.line.admissions_per_minute = None).await;
    assert_eq!(fixture.stats().await.pace, lowered);
    fixture.join_many(20).await;
    for (quota, per_minute) in [(10, 60), (10, 61)] {
        fixture.advance_seconds(1);
        let change = |settings: &mut Settings| {
            (settings.line.quota, settings.line.admissions_per_minute) = (quota, Some(per_minute));
        };
        fixture.change(change).await;
        let limited = fixture.stats().await.pace;
        assert_eq!((limited.current, limited.since), (0, fixture.now()), "slots are free, so the rate limits");
    }
}

pub(super) async fn pace_starts_when_all_slots_are_taken(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 200, "mode": "paused" })).await;
    let guests = fixture.join_many(300).await;
    assert_eq!(fixture.stats().await.pace, Pace::default(), "no session is admitted");
    fixture.change(|settings: &mut Settings| settings.line.mode = Mode::Open).await;
    assert_eq!(
        (fixture.counts().await, fixture.stats().await.pace),
        ((172, 128), Pace::default()),
        "slots are still being filled"
    );
    fixture.advance_seconds(1);
    fixture.keepalive(&guests[299]).await;
    let full = fixture.stats().await.pace;
    assert_eq!((fixture.counts().await, full.current, full.since), ((100, 200), 0, fixture.now()));
    fixture.leave(&guests[0]).await;
    assert_eq!(fixture.stats().await.pace.current, 1);
}

pub(super) async fn pace_counts_departures_and_returns(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let mut guests = fixture.arrivals(6).await;
    let gone = async || fixture.stats().await.pace.departures;
    fixture.away(&guests[5]).await;
    fixture.leave(&guests[4]).await;
    fixture.end(&guests[3]).await;
    assert_eq!(gone().await, 3);
    fixture.visit(&mut guests[5]).await;
    assert_eq!(gone().await, 2);
    fixture.leave(&guests[0]).await;
    assert_eq!(gone().await, 2, "the admitted session was not waiting");
    fixture.join_many(2).await;
    fixture.advance_seconds(30);
    fixture.visit(&mut guests[2]).await;
    assert_eq!(fixture.stats().await.counters.expired_waiting, 2);
    assert_eq!(gone().await, 2, "unconfirmed sessions do not count");
    fixture.advance_seconds(60);
    fixture.purge().await;
    assert_eq!(gone().await, 3, "the waiting session expires, the other was admitted");
}

pub(super) async fn pace_excludes_joins_and_lost_sessions(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let mut active = fixture.join_and_confirm().await;
    let mut waiting = fixture.arrivals(2).await;
    let departures = async || fixture.stats().await.pace.departures;
    let early = fixture.first_visit();
    fixture.advance_seconds(1);
    fixture.redeem(fixture.first_visit()).await;
    fixture.redeem(early).await;
    assert_eq!(fixture.line().await[2], early.session(), "it joined out of order");
    assert_eq!(departures().await, 0, "joins are no returns");
    fixture.lose(PutMode::Restore).await;
    fixture.visit(&mut active).await;
    fixture.visit(&mut waiting[0]).await;
    fixture.advance_seconds(60);
    fixture.visit(&mut waiting[0]).await;
    assert!(fixture.stats().await.pace.since.0 > 0);
    fixture.visit(&mut waiting[1]).await;
    assert_eq!((fixture.counts().await, departures().await), ((2, 1), 0), "the lost one had not left");
    fixture.away(&waiting[1]).await;
    assert_eq!(departures().await, 1);
    fixture.visit(&mut waiting[1]).await;
    assert_eq!(departures().await, 0);
}

pub(super) async fn first_returned_ticket_confirms_a_session(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let confirmed = async || fixture.stats().await.counters.confirmed;
    let (mut inside, mut waiting, mut late) = (fixture.join().await, fixture.join().await, fixture.join().await);
    let first = late.clone();
    fixture.visit_as(inside.session).await;
    assert_eq!(confirmed().await, 0, "an id without a ticket does not confirm");
    for count in 1..=2 {
        fixture.advance_micros(1);
        fixture.visit(&mut inside).await;
        assert_eq!(confirmed().await, 1, "{count}");
    }
    fixture.keepalive(&waiting).await;
    fixture.visit(&mut waiting).await;
    assert_eq!(confirmed().await, 2);
    fixture.away(&late).await;
    fixture.advance_seconds(10);
    assert_eq!(fixture.visit(&mut late).await.kind, VisitKind::Restored);
    assert_eq!(confirmed().await, 3, "a session that was away has a ticket too");
    fixture.away(&late).await;
    fixture.advance_micros(1);
    fixture.visit(&mut late).await;
    assert_eq!(confirmed().await, 3);
    fixture.keepalive(&first).await;
    assert_eq!(confirmed().await, 3, "nor does the first ticket count again");
    let (robot, person) = (fixture.join().await, fixture.join().await);
    fixture.release(9).await;
    assert_eq!(confirmed().await, 3, "admitted without a visit");
    fixture.keepalive(&person).await;
    assert_eq!(confirmed().await, 4, "admitted before confirmation");
    fixture.advance_seconds(31);
    fixture.purge().await;
    assert_eq!(fixture.state(&robot).await, None);
}

pub(super) async fn pace_drops_data_older_than_two_windows(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1, "waiting_ttl": 3600, "claim_ttl": 3600, "hold_ttl": 3600 })).await;
    let guests = fixture.join_many(5).await;
    let start = fixture.stats().await.pace.window;
    let mut counts = Vec::new();
    for (guest, seconds) in guests.iter().zip([0, PACE_WINDOW, 2 * PACE_WINDOW, 4 * PACE_WINDOW]) {
        fixture.advance_micros(start.add_seconds(seconds).since(fixture.now()));
        fixture.leave(guest).await;
        let pace = fixture.stats().await.pace;
        counts.push((pace.window.since(start) / 1_000_000 / PACE_WINDOW, pace.current, pace.previous));
    }
    assert_eq!(counts, [(0, 1, 0), (1, 1, 1), (2, 1, 1), (4, 1, 0)]);
}

pub(super) async fn counters_add_up(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 3, "active_ttl": 100 })).await;
    let mut guests = fixture.arrivals(12).await;
    fixture.away(&guests[5]).await;
    fixture.leave(&guests[0]).await;
    fixture.end(&guests[6]).await;
    fixture.release(2).await;
    fixture.advance_seconds(50);
    fixture.visit_all(&mut guests[4..]).await;
    fixture.advance_seconds(59);
    fixture.purge().await;
    let stats = fixture.stats().await;
    let it = stats.counters;
    let gone = it.expired_waiting + it.expired_active + it.left + it.ended + it.away;
    assert_eq!(it.joined + it.returned, stats.waiting + stats.active + gone, "{it:?}");
    assert_eq!(it.admitted + it.released, stats.waits.buckets.iter().sum::<u64>());
    assert!([it.returned, it.left, it.ended, it.away, it.expired_active].iter().all(|count| *count > 0));
}

pub(super) async fn last_purge_has_the_time_of_the_store(stores: &StoreFixture) {
    let first = LastPurge { at: Micros(1), took_ms: 17, queues: 200, expired: 1_000_000, ..LastPurge::default() };
    stores.store.set_last_purge(&first).await.unwrap();
    let now = stores.clock.now();
    assert_eq!(stores.store.last_purge().await.unwrap(), Some(LastPurge { at: now, ..first }));

    stores.clock.advance(60 * MICROS_PER_SECOND);
    let second = LastPurge { failed: 3, tombstones: 4, admitted: 5, unfinished: true, ..LastPurge::default() };
    stores.store.set_last_purge(&second).await.unwrap();
    let (now, last) = (stores.clock.now(), stores.store.last_purge().await.unwrap());
    assert_eq!(last, Some(LastPurge { at: now, ..second }), "nothing is left of the previous record");
}

pub(super) async fn the_store_answers(stores: &StoreFixture) {
    stores.store.ping().await.unwrap();
}
