use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use tokio::time::{advance, sleep};
use vestibule_core::line::{Visit, VisitKind};
use vestibule_core::settings::{Mode, UnreadableQueue};
use vestibule_core::store::{PutMode, SettingsStore as _, StoreError, VisitStore as _};
use vestibule_core::{MICROS_PER_SECOND, ManualClock, Micros, SessionId, Timestamp};
use vestibule_store_memory::MemoryStore;

use super::*;
use crate::fake_settings_store::{FakeSettingsStore, LATENCY, host, id, settings};
use crate::stored_settings;

fn directory_of(store: &Arc<FakeSettingsStore>) -> Arc<Directory> {
    Arc::new(Directory::new(store.clone(), Vec::new(), Vec::new()))
}

#[tokio::test(start_paused = true)]
async fn many_queues_are_loaded_at_once_but_not_all() {
    let store = FakeSettingsStore::with_queues(500).await;
    let directory = directory_of(&store);
    directory.refresh().await.unwrap();
    assert_eq!(directory.queues().len(), 500);
    assert!(directory.queues().iter().all(|queue| queue.tenant.is_some()));
    assert_eq!(store.reads(), (1, 500));
    assert_eq!(store.most_at_once.load(Ordering::Relaxed), 64);
}

#[tokio::test(start_paused = true)]
async fn only_changed_queues_are_reloaded() {
    let store = FakeSettingsStore::with_queues(5).await;
    let directory = directory_of(&store);
    directory.refresh().await.unwrap();
    store.put_settings(&settings(2), PutMode::Always).await.unwrap();
    store.remove_queue(&id(3)).await.unwrap();
    directory.refresh().await.unwrap();
    assert_eq!(store.reads(), (2, 6));
    assert_eq!(directory.queue(&id(2)).unwrap().settings.line.revision, 2);
    assert!(directory.queue(&id(3)).is_none() && directory.queue(&id(4)).is_some());
}

#[tokio::test(start_paused = true)]
async fn a_refresh_loads_changed_tenants() {
    let store = FakeSettingsStore::with_queues(2).await;
    let directory = directory_of(&store);
    directory.refresh().await.unwrap();
    let mut tenant = store.tenants().await.unwrap().remove(0);
    tenant.origins = Some(Vec::new());
    store.put_tenant(&tenant).await.unwrap();
    directory.refresh().await.unwrap();
    assert!(directory.queues().iter().all(|queue| queue.tenant.as_deref() == Some(&tenant)));
    assert_eq!(store.reads(), (2, 2), "no queue is loaded again");
}

#[tokio::test(start_paused = true)]
async fn a_corrupt_queue_does_not_hide_others() {
    let store = FakeSettingsStore::with_queues(100).await;
    let directory = directory_of(&store);
    store.break_queue(17, true);
    assert!(matches!(directory.refresh().await, Err(StoreError::Unavailable(_))));
    assert_eq!(directory.queues().len(), 99);
    assert!(!directory.index_loaded(), "the hosts of the missing queue are unknown");
    assert_eq!(directory.of_host(&host(16)).await.len(), 1);

    store.break_queue(17, false);
    directory.refresh().await.unwrap();
    assert_eq!((directory.queues().len(), directory.index_loaded()), (100, true));
    assert_eq!(store.reads(), (2, 101), "the others are not loaded again");
}

#[tokio::test(start_paused = true)]
async fn a_corrupt_queue_is_not_treated_as_missing() {
    let store = FakeSettingsStore::with_queues(2).await;
    store.corrupt.store(true, Ordering::Relaxed);
    store.break_queue(1, true);
    let directory = directory_of(&store);
    assert_eq!(directory.of_host(&host(0)).await.len(), 1);
    assert!(directory.of_host(&host(1)).await.is_empty());
    assert!(!directory.index_loaded(), "its hosts are not known");

    store.break_queue(1, false);
    advance(UNREAD_AFTER).await;
    assert_eq!(directory.of_host(&host(1)).await.len(), 1);
    store.break_queue(1, true);
    store.put_settings(&settings(1), PutMode::Always).await.unwrap();
    assert!(directory.refresh().await.is_err() && directory.index_loaded(), "the cached settings stay");
    assert!(directory.refresh_readable().await.is_ok(), "the others were read");
}

#[tokio::test(start_paused = true)]
async fn a_change_under_load_is_loaded_once() {
    let store = FakeSettingsStore::with_queues(1).await;
    let directory = directory_of(&store);
    directory.refresh().await.unwrap();
    store.put_settings(&settings(0), PutMode::Always).await.unwrap();
    for broken in [true, false] {
        store.break_queue(0, broken);
        let (_, before) = store.reads();
        let mut visits = tokio::task::JoinSet::new();
        for _ in 0..256 {
            let directory = directory.clone();
            visits.spawn(async move { directory.reload(&id(0)).await.is_ok() });
        }
        let ok = visits.join_all().await.into_iter().filter(|ok| *ok).count();
        assert_eq!((store.reads().1 - before, ok), (1, if broken { 255 } else { 256 }));
    }
    assert_eq!(directory.queue(&id(0)).unwrap().settings.line.revision, 2);
}

#[tokio::test(start_paused = true)]
async fn plan_does_not_overwrite_a_later_change() {
    let store = FakeSettingsStore::with_queues(2).await;
    let directory = directory_of(&store);
    let mut document = Document {
        tenants: store.tenants().await.unwrap(),
        queues: vec![settings(0), settings(1)],
        ..Document::default()
    };
    document.queues.iter_mut().for_each(|queue| queue.line.quota = 5);
    let options = PlanOptions::default();
    let stored = stored_settings(&*store, &document, options.unlisted).await.unwrap();
    let plan = Plan::of(&stored, document, &options);
    let mut changed = settings(1);
    changed.line.quota = 9;
    store.put_settings(&changed, PutMode::Always).await.unwrap();
    assert_eq!(directory.execute(&stored, &plan).await.unwrap().queues, [id(1)]);
    let quota = async |number| store.settings(&id(number)).await.unwrap().unwrap().line.quota;
    assert_eq!((quota(0).await, quota(1).await), (5, 9));
    assert_eq!(directory.queue(&id(1)).unwrap().settings.line.quota, 9, "the cache has the later change");
}

#[tokio::test(start_paused = true)]
async fn queues_are_not_written_after_a_conflict_of_tenants() {
    let store = FakeSettingsStore::with_queues(1).await;
    let directory = directory_of(&store);
    let mut document =
        Document { tenants: store.tenants().await.unwrap(), queues: vec![settings(0)], ..Document::default() };
    document.tenants[0].name = "Acme Inc.".to_owned();
    document.queues[0].line.quota = 5;
    let options = PlanOptions::default();
    let stored = stored_settings(&*store, &document, options.unlisted).await.unwrap();
    let plan = Plan::of(&stored, document.clone(), &options);
    document.tenants[0].name = "Acme Ltd.".to_owned();
    store.put_tenant(&document.tenants[0]).await.unwrap();
    let expected = NotWritten { tenants: vec![document.tenants[0].id.clone()], queues: Vec::new() };
    assert_eq!(directory.execute(&stored, &plan).await.unwrap(), expected);
    assert_eq!(store.settings(&id(0)).await.unwrap().unwrap().line.quota, 1);
}

#[tokio::test(start_paused = true)]
async fn queue_that_was_removed_elsewhere_is_not_served() {
    let store = FakeSettingsStore::with_queues(2).await;
    store.remove_queue(&id(1)).await.unwrap();
    let document = Document {
        tenants: store.tenants().await.unwrap(),
        queues: vec![settings(0), settings(1)],
        ..Document::default()
    };
    let directory = Arc::new(Directory::new(store.clone(), document.tenants.clone(), document.queues.clone()));
    let options = PlanOptions { last_applied: Some(&document), ..PlanOptions::default() };
    let stored = stored_settings(&*store, &document, options.unlisted).await.unwrap();
    let plan = Plan::of(&stored, document.clone(), &options);
    directory.execute(&stored, &plan).await.unwrap();
    assert!(directory.queue(&id(0)).is_some() && directory.queue(&id(1)).is_none());
}

#[tokio::test(start_paused = true)]
async fn unreadable_queue_of_others_does_not_stop_a_plan() {
    let store = FakeSettingsStore::with_queues(2).await;
    store.corrupt.store(true, Ordering::Relaxed);
    store.break_queue(1, true);
    let with = |number| Document { tenants: Vec::new(), queues: vec![settings(number)], ..Document::default() };
    let stored = stored_settings(&*store, &with(0), Unlisted::Keep).await.unwrap();
    let unreadable = [UnreadableQueue { id: id(1), revision: 1, reason: "this one is broken".to_owned() }];
    assert_eq!((stored.queues.len(), &stored.unreadable[..]), (1, &unreadable[..]));
    let listed = stored_settings(&*store, &with(1), Unlisted::RemoveOnly(&[])).await.unwrap();
    assert_eq!((listed.queues.len(), &listed.unreadable[..]), (0, &unreadable[..]));
    assert!(readable_settings(&*store, &with(0), Unlisted::Keep).await.is_ok());
    assert!(readable_settings(&*store, &with(1), Unlisted::Keep).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn index_is_loaded_after_start_or_first_read() {
    let store = FakeSettingsStore::with_queues(1).await;
    store.set_unavailable(true);
    let directory = directory_of(&store);
    assert!(directory.refresh().await.is_err() && !directory.index_loaded());
    store.set_unavailable(false);
    directory.refresh().await.unwrap();
    assert!(directory.index_loaded());
    store.set_unavailable(true);
    assert!(directory.refresh().await.is_err() && directory.index_loaded(), "the cached index stays");
    assert!(directory.refresh_readable().await.is_err(), "nothing was read");

    assert!(Directory::new(store.clone(), Vec::new(), vec![settings(9)]).index_loaded());
    let empty = directory_of(&FakeSettingsStore::with_queues(0).await);
    empty.refresh().await.unwrap();
    assert!(empty.index_loaded(), "an empty index is loaded, too");
}

#[tokio::test(start_paused = true)]
async fn concurrent_requests_share_a_refresh() {
    let store = FakeSettingsStore::with_queues(3).await;
    let directory = directory_of(&store);
    let requests: Vec<_> = (0..50)
        .map(|number| {
            let directory = directory.clone();
            tokio::spawn(async move {
                sleep(Duration::from_millis(number)).await;
                directory.of_host(&host(1)).await.len()
            })
        })
        .collect();
    for request in requests {
        assert_eq!(request.await.unwrap(), 1, "each request finds the queue");
    }
    assert_eq!(store.reads(), (1, 3));
}

#[tokio::test(start_paused = true)]
async fn a_canceled_request_does_not_cancel_the_refresh() {
    let store = FakeSettingsStore::with_queues(3).await;
    let directory = directory_of(&store);
    let _ = tokio::time::timeout(LATENCY / 2, directory.of_host(&host(1))).await;
    assert_eq!(directory.of_host(&host(1)).await.len(), 1);
    assert_eq!(store.reads(), (1, 3));
}

#[tokio::test(start_paused = true)]
async fn refreshes_are_rate_limited_in_an_outage() {
    let store = FakeSettingsStore::with_queues(1).await;
    store.set_unavailable(true);
    let directory = directory_of(&store);
    for _ in 0..100 {
        assert!(directory.of_host(&host(0)).await.is_empty());
    }
    assert_eq!(store.reads().0, 1);
    advance(UNREAD_AFTER).await;
    for _ in 0..100 {
        assert!(directory.of_host(&host(0)).await.is_empty());
    }
    assert_eq!(store.reads().0, 2, "the next refresh is soon, because no queue is known");
    store.set_unavailable(false);
    advance(UNREAD_AFTER).await;
    assert_eq!(directory.of_host(&host(0)).await.len(), 1);

    store.set_unavailable(true);
    advance(UNREAD_AFTER).await;
    assert!(directory.of_host("unknown.example.com").await.is_empty());
    assert_eq!(store.reads().0, 3, "an unknown host does not cause another refresh soon");
    advance(UNKNOWN_HOST_AFTER).await;
    assert!(directory.of_host("unknown.example.com").await.is_empty());
    assert_eq!(store.reads().0, 4);
}

#[tokio::test(start_paused = true)]
async fn an_old_snapshot_is_refreshed_in_the_background() {
    let store = FakeSettingsStore::with_queues(1).await;
    let directory = directory_of(&store);
    assert_eq!(directory.of_host(&host(0)).await.len(), 1);
    store.put_settings(&settings(0), PutMode::Always).await.unwrap();
    advance(REFRESH_AFTER).await;
    for _ in 0..10 {
        assert_eq!(
            directory.of_host(&host(0)).await[0].settings.line.revision,
            1,
            "the request does not wait for the refresh"
        );
    }
    sleep(10 * LATENCY).await;
    assert_eq!(directory.of_host(&host(0)).await[0].settings.line.revision, 2);
    assert_eq!(store.reads().0, 2);
}

/// A store and two processes, of which only the second one knows the last change (quota 5).
async fn stale_and_current() -> (Arc<FakeSettingsStore>, Arc<Directory>, Arc<Directory>) {
    let store = FakeSettingsStore::with_queues(1).await;
    let (stale, current) = (directory_of(&store), directory_of(&store));
    stale.refresh().await.unwrap();
    let mut changed = settings(0);
    changed.line.quota = 5;
    store.put_settings(&changed, PutMode::Always).await.unwrap();
    current.refresh().await.unwrap();
    (store, stale, current)
}

#[tokio::test(start_paused = true)]
async fn newer_settings_replace_those_restored_after_a_loss() {
    for by_index in [false, true] {
        let (store, stale, current) = stale_and_current().await;
        store.lose();
        assert!(stale.restore_lost_queue(&stale.queue(&id(0)).unwrap()).await.unwrap());
        assert_eq!(store.settings(&id(0)).await.unwrap().unwrap().line.quota, 1);
        if by_index {
            current.refresh().await.unwrap();
        } else {
            current.reload(&id(0)).await.unwrap();
        }
        let stored = store.settings(&id(0)).await.unwrap().unwrap();
        assert_eq!((stored.line.quota, stored.line.revision), (5, 2));
        assert_eq!(current.queue(&id(0)).unwrap().settings.line.quota, 5);
        stale.reload(&id(0)).await.unwrap();
        assert_eq!(stale.queue(&id(0)).unwrap().settings.line.quota, 5, "and here as well");
    }
}

#[tokio::test(start_paused = true)]
async fn settings_of_a_removed_queue_do_not_replace_new_ones() {
    let (store, _, current) = stale_and_current().await;
    let mut again = settings(0);
    again.line.quota = 7;
    store.remove_queue(&id(0)).await.unwrap();
    store.put_settings(&again, PutMode::Always).await.unwrap();
    current.reload(&id(0)).await.unwrap();
    assert_eq!(store.settings(&id(0)).await.unwrap().unwrap().line.quota, 7, "the queue was created again");
    assert_eq!(current.queue(&id(0)).unwrap().settings.line.quota, 7);
}

#[tokio::test(start_paused = true)]
async fn restored_queue_overwrites_no_tenant() {
    let (store, stale, _) = stale_and_current().await;
    store.lose();
    let queue = stale.queue(&id(0)).unwrap();
    stale.restore_lost_queue(&queue).await.unwrap();
    let restored = store.tenants().await.unwrap().remove(0);
    assert_eq!(queue.tenant.as_deref(), Some(&restored));
    let changed = Tenant { origins: Some(Vec::new()), ..restored };
    store.put_tenant(&changed).await.unwrap();
    stale.restore_lost_queue(&queue).await.unwrap();
    assert_eq!(store.tenants().await.unwrap(), [changed]);
}

#[tokio::test]
async fn unused_queue_with_lobby_tickets_stays() {
    let starts_at: Timestamp = "2027-03-04T10:00:00Z".parse().unwrap();
    let clock = Arc::new(ManualClock::at(Micros(starts_at.micros().0 - 60 * MICROS_PER_SECOND)));
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let document = json!({
        "id": "tour", "tenant": "acme", "hosts": ["*"], "quota": 1, "handover": { "kind": "check" }, "mode": "scheduled",
        "events": [{
            "id": "sale", "lobby_at": "2027-03-04T09:00:00Z", "starts_at": starts_at.to_string(), "ends_at": "2027-03-04T12:00:00Z",
            "order": "draw", "key": "s1", "salt": "a",
        }],
    });
    let settings = Settings::from_value(&document).unwrap();
    let id = settings.id.clone();
    store.put_settings(&settings, PutMode::Always).await.unwrap();
    let answer = store.visit(&id, Visit::joining(SessionId::random())).await.unwrap();
    assert_eq!(answer.kind, VisitKind::Lobby);
    let directory = Directory::new(store.clone(), Vec::new(), vec![settings]);
    let ids = [id.clone()];
    assert_eq!(directory.remove_unused(&*store, &ids).await.unwrap(), ids);
    assert!(directory.queue(&id).is_some());
    // In another mode lobby tickets stay valid, and the statistics do not count them.
    let mut paused = store.settings(&id).await.unwrap().unwrap();
    paused.line.mode = Mode::Paused;
    store.put_settings(&paused, PutMode::Always).await.unwrap();
    assert_eq!(directory.remove_unused(&*store, &ids).await.unwrap(), ids);
    clock.advance(86_400 * MICROS_PER_SECOND);
    assert!(directory.remove_unused(&*store, &ids).await.unwrap().is_empty(), "the event is over");
}

#[test]
fn queues_of_tenants_with_the_most_exact_host_count() {
    let queue = |(id, tenant, hosts): (&str, &str, &[&str])| {
        let handover = json!({ "kind": "check" });
        let document = json!({ "id": id, "tenant": tenant, "hosts": hosts, "quota": 1, "handover": handover });
        Settings::from_value(&document).unwrap()
    };
    let queues = [
        ("any", "platform", &["*"][..]),
        ("wild", "acme", &["*.plat.test"]),
        ("tickets", "acme", &["tickets.plat.test", "*.plat.test"]),
        ("near", "blue", &["*.shop.plat.test"]),
        ("shop", "blue", &["shop.plat.test"]),
        ("shared-a", "acme", &["shared.test"]),
        ("shared-b", "blue", &["shared.test"]),
    ];
    let queues = queues.map(queue);
    for (host, expected) in [
        ("tickets.plat.test", &["tickets", "wild"][..]),
        ("x.plat.test", &["tickets", "wild"]),
        ("shop.plat.test", &["shop"]),
        ("a.shop.plat.test", &["near"]),
        ("shared.test", &["shared-a", "shared-b"]),
        ("plat.test", &["any"]),
    ] {
        let found = queues_of_host(&queues, host);
        let found: Vec<&str> = found.iter().map(|queue| queue.settings.id.as_str()).collect();
        assert_eq!(found, expected, "{host}");
    }
}
