//! Guarantees of the store beyond the rules: one command per visit, exact key names, no lost data.

use std::time::Duration;

use serde_json::json;
use vestibule_core::line::{Visit, VisitKind};
use vestibule_core::settings::Tenant;
use vestibule_core::store::{OperationsStore as _, SettingsStore as _, VisitStore as _};
use vestibule_core::{LastPurge, Micros, PutMode, PutOutcome, StoreError};
use vestibule_records::{LogName, RecordStore as _};
use vestibule_store_redis::{RedisOptions, RedisStore};

use super::server::Server;
use super::tools::{Clocked, START, Tickets, joining, queue, session, settings};

#[tokio::test]
async fn lost_queue_is_restored_and_returners_come_first() {
    let (room, tickets) = (Clocked::with(&json!({ "quota": 0, "epoch": 9 })).await, Tickets::new());
    let held = tickets.of(&room.visit(joining(1)).await);
    room.server.command("FLUSHALL");
    let lost = room.store.visit(&queue(), joining(2)).await;
    assert!(matches!(lost, Err(StoreError::UnknownQueue(id)) if id == queue()));

    let restored = settings(&json!({ "quota": 5, "epoch": 9, "revision": 12 }));
    room.pass_seconds(1);
    let outcome = room.store.put_settings(&restored, PutMode::Restore).await.unwrap();
    assert_eq!(outcome, PutOutcome::Stored(12));
    let newcomer = room.visit(joining(2)).await;
    assert!(newcomer.recovering && newcomer.session.unwrap().admitted_at.is_none());
    let back = room.visit(Visit::keeping(held)).await;
    assert_eq!(back.session.unwrap().position, 1);
    assert_eq!(room.store.put_settings(&restored, PutMode::Restore).await.unwrap(), PutOutcome::Conflict(12));
    room.pass_seconds(60);
    assert_eq!(room.store.purge(&queue(), 0).await.unwrap().admitted, 0, "both have expired by then");
}

#[tokio::test]
async fn lost_state_key_counts_as_a_lost_state() {
    let room = Clocked::with(&json!({ "quota": 5 })).await;
    room.server.command("DEL vestibule:{acme-tour}:state");
    let stats = room.store.stats(&queue()).await.unwrap();
    assert!(stats.recovering && stats.state_since == START);
    room.pass_seconds(1);
    let answer = room.visit(joining(1)).await;
    assert!(answer.recovering && answer.session.unwrap().admitted_at.is_none());
    assert_eq!(room.store.stats(&queue()).await.unwrap().state_since.0, START.0 + 1_000_000);
}

#[tokio::test]
async fn single_lost_key_starts_recovery() {
    for key in ["line", "active", "pool"] {
        let (room, tickets) = (Clocked::with(&json!({ "quota": 1 })).await, Tickets::new());
        let come = async |number| {
            let joined = tickets.of(&room.visit(joining(number)).await);
            tickets.of(&room.visit(Visit::keeping(joined)).await)
        };
        let (active, waiting) = (come(1).await, come(2).await);
        room.server.command(&format!("DEL vestibule:{{acme-tour}}:{key}"));
        room.pass_seconds(1);
        let newcomer = room.visit(joining(3)).await;
        assert!(newcomer.recovering && newcomer.session.unwrap().admitted_at.is_none(), "{key}");
        assert_eq!(room.visit(Visit::keeping(waiting)).await.session.unwrap().position, 1, "{key}");
        assert!(room.visit(Visit::keeping(active)).await.session.unwrap().admitted_at.is_some(), "{key}");
        let stats = room.store.stats(&queue()).await.unwrap();
        assert_eq!((stats.active, stats.waiting, stats.reserved), (1, 2, 0), "{key}");
    }
}

/// A gate that still holds the settings restores a queue that the store does not know.
#[tokio::test]
async fn removed_queue_stays_removed_under_visits() {
    let room = Clocked::with(&json!({})).await;
    for round in 0..60 {
        room.store.put_settings(&settings(&json!({})), PutMode::Always).await.unwrap();
        let visits = (0..16).map(async |number| {
            for _ in 0..3 {
                if let Err(StoreError::UnknownQueue(_)) = room.store.visit(&queue(), joining(number)).await {
                    room.store.put_settings(&settings(&json!({})), PutMode::Restore).await.unwrap();
                }
            }
        });
        let removed = async {
            tokio::time::sleep(Duration::from_micros(100 * round)).await;
            room.store.remove_queue(&queue()).await.unwrap();
        };
        tokio::join!(futures_util::future::join_all(visits), removed);
        assert_eq!(room.store.queues().await.unwrap(), [(queue(), 0)], "round {round}");
        assert!(room.store.settings(&queue()).await.unwrap().is_none());
        assert_eq!(room.server.command("DBSIZE"), "2", "the index and a marker are left");
    }
    room.store.put_settings(&settings(&json!({})), PutMode::Always).await.unwrap();
    assert!(room.store.settings(&queue()).await.unwrap().is_some(), "it can be created again");
}

#[tokio::test]
async fn field_of_a_newer_version_is_ignored_and_kept() {
    let room = Clocked::with(&json!({ "quota": 1 })).await;
    let add = "redis.call('HSET',KEYS[1],'rules',cmsgpack.pack(r));return 1";
    let with = format!("EVAL \"local r=cmsgpack.unpack(redis.call('HGET',KEYS[1],'rules'));r.opens_at=17;{add}\" 1");
    room.server.command(&format!("{with} vestibule:{{acme-tour}}:settings"));
    assert!(room.visit(joining(1)).await.session.unwrap().admitted_at.is_some());
    room.store.put_settings(&settings(&json!({ "quota": 2 })), PutMode::Always).await.unwrap();
    assert_eq!(room.store.stats(&queue()).await.unwrap().rules.quota, 2);
    let rules = "cmsgpack.unpack(redis.call('HGET',KEYS[1],'rules'))";
    let kept = format!("EVAL \"return {rules}.opens_at\" 1 vestibule:{{acme-tour}}:settings");
    assert_eq!(room.server.command(&kept), "17");
}

#[tokio::test]
async fn settings_return_the_current_epoch_and_revision() {
    let room = Clocked::with(&json!({ "quota": 3, "name": "Été à Nîmes", "revision": 4 })).await;
    let epoch = room.store.reset(&queue()).await.unwrap();
    let found = room.store.settings(&queue()).await.unwrap().unwrap();
    assert_eq!((found.line.epoch, found.line.revision), (epoch, 5));
    assert_eq!(found.name, "Été à Nîmes");
    assert_eq!(room.store.queues().await.unwrap(), [(queue(), 5)]);

    room.store.remove_queue(&queue()).await.unwrap();
    assert!(room.store.settings(&queue()).await.unwrap().is_none());
    assert_eq!(room.store.queues().await.unwrap(), [(queue(), 0)]);
    assert_eq!(room.server.command("DBSIZE"), "2", "the index and a marker are left");
}

#[tokio::test]
async fn queue_index_skips_invalid_entries() {
    let room = Clocked::with(&json!({})).await;
    room.server.command("HSET vestibule:queues NoQueue 1 other 7");
    let all = room.store.queues().await.unwrap();
    assert_eq!(all, [(queue(), 1), ("other".parse().unwrap(), 7)]);
}

#[tokio::test]
async fn tenants_are_listed_by_id() {
    let room = Clocked::start().await;
    let tenant = |id: &str| Tenant {
        id: id.parse().unwrap(),
        name: id.to_owned(),
        color: None,
        logo: None,
        domains: None,
        origins: None,
        max_job_queues: None,
    };
    for id in ["north", "acme", "north"] {
        room.store.put_tenant(&tenant(id)).await.unwrap();
    }
    assert_eq!(room.store.tenants().await.unwrap(), [tenant("acme"), tenant("north")]);
}

#[tokio::test]
async fn one_visit_is_one_command() {
    let (room, tickets) = (Clocked::with(&json!({ "quota": 1 })).await, Tickets::new());
    room.visit(joining(1)).await;
    let ticket = tickets.of(&room.visit(joining(2)).await);
    room.server.command("CONFIG RESETSTAT");
    room.visit(joining(3)).await;
    room.visit(Visit::keeping(ticket)).await;
    let calls = room.server.calls();
    assert_eq!(calls.get("fcall"), Some(&2), "{calls:?}");
    let from_clients = ["eval", "evalsha", "function|load", "ping", "get", "hgetall"];
    assert!(from_clients.iter().all(|name| !calls.contains_key(*name)), "{calls:?}");
}

#[tokio::test]
async fn last_purge_takes_one_command_per_read_and_write() {
    let server = Server::start().await;
    let options = RedisOptions { timeout: Duration::from_secs(5), ..RedisOptions::default() };
    let store = RedisStore::connect(&server.url(), options).unwrap();
    assert_eq!(store.last_purge().await.unwrap(), None, "there was none");
    let record = LastPurge { at: Micros(1), took_ms: 5, queues: 2, unfinished: true, ..LastPurge::default() };
    store.set_last_purge(&record).await.unwrap();
    server.command("CONFIG RESETSTAT");
    store.set_last_purge(&record).await.unwrap();
    let kept = store.last_purge().await.unwrap().unwrap();
    assert_eq!(LastPurge { at: record.at, ..kept }, record);
    assert!(kept.at > START, "the server's own clock counts: {:?}", kept.at);
    let calls = server.calls();
    assert_eq!((calls.get("fcall"), calls.get("hmget")), (Some(&1), Some(&1)), "{calls:?}");
    assert!(!calls.contains_key("function|load"), "{calls:?}");
}

#[tokio::test]
async fn poll_without_changes_writes_nothing() {
    let (room, tickets) = (Clocked::with(&json!({ "quota": 0 })).await, Tickets::new());
    let first = room.visit(joining(2)).await;
    room.pass_seconds(20);
    let ticket = tickets.of(&room.visit(Visit::keeping(tickets.of(&first))).await);
    room.pass_seconds(20);
    // Once in a while a visit notes that the state is in use.
    room.visit(Visit::keeping(ticket.clone())).await;
    let changes = |info: &str| info.lines().find(|line| line.starts_with("rdb_changes")).unwrap().to_owned();
    let before = changes(&room.server.command("INFO persistence"));
    let answer = room.visit(Visit::keeping(ticket)).await;
    assert_eq!(answer.session.unwrap().position, 1);
    assert_eq!(changes(&room.server.command("INFO persistence")), before);
}

#[tokio::test]
async fn missing_library_is_loaded() {
    let room = Clocked::with(&json!({})).await;
    room.visit(joining(1)).await;
    room.server.command("FUNCTION FLUSH");
    assert_eq!(room.visit(joining(1)).await.kind, VisitKind::Renewed);
    room.server.command("CONFIG RESETSTAT");
    room.visit(joining(1)).await;
    assert_eq!(room.server.calls().get("fcall"), Some(&1));
}

#[tokio::test]
async fn queue_stores_sessions_as_14_bytes_under_its_keys() {
    let room = Clocked::with(&json!({ "quota": 0 })).await;
    room.visit(joining(0x6162_6364)).await;
    let tail = "\u{7}".repeat(10);
    assert_eq!(room.server.command("ZCARD vestibule:{acme-tour}:line"), "1");
    let score = |key: &str| room.server.command(&format!("ZSCORE vestibule:{{acme-tour}}:{key} \"abcd{tail}\""));
    assert_eq!(score("line"), START.0.to_string());
    assert_eq!(score("pool"), (START.0 + 30_000_000).to_string());
    room.store.end(&queue(), session(0x6162_6364)).await.unwrap();
    assert_eq!(score("ended"), START.0.to_string(), "when it ended");
}

#[tokio::test]
async fn key_of_another_type_is_reported_as_corrupt() {
    let room = Clocked::with(&json!({})).await;
    room.server.command("SET vestibule:{acme-tour}:line nonsense");
    assert!(matches!(room.store.visit(&queue(), joining(1)).await, Err(StoreError::Corrupt(_))));
    room.server.command("HSET vestibule:{acme-tour}:settings rules nonsense");
    assert!(matches!(room.store.stats(&queue()).await, Err(StoreError::Corrupt(_))));
    assert!(matches!(room.store.settings(&queue()).await, Err(StoreError::Corrupt(_))));
}

#[tokio::test]
async fn removed_queue_is_forgotten_after_its_marker() {
    let room = Clocked::with(&json!({ "quota": 1 })).await;
    room.store.forget_removed_queue(&queue()).await.unwrap();
    assert_eq!(room.store.queues().await.unwrap(), [(queue(), 1)], "it is there");
    room.store.remove_queue(&queue()).await.unwrap();
    room.store.forget_removed_queue(&queue()).await.unwrap();
    assert_eq!(room.store.queues().await.unwrap(), [(queue(), 0)], "a process may still have its settings");
    room.server.command("DEL vestibule:{acme-tour}:settings");
    room.store.forget_removed_queue(&queue()).await.unwrap();
    assert_eq!(room.store.queues().await.unwrap(), []);
}

#[tokio::test]
async fn trimmed_log_keeps_no_older_entry_and_no_empty_key() {
    let room = Clocked::start().await;
    for _ in 0..3 {
        room.store.append(&LogName::Audit, "{}").await.unwrap();
        room.pass_seconds(1);
    }
    room.store.trim(&LogName::Audit, START.add_seconds(2)).await.unwrap();
    assert_eq!(room.store.entries(&LogName::Audit, None, 9).await.unwrap().len(), 1);
    room.store.trim(&LogName::Audit, START.add_seconds(3)).await.unwrap();
    assert_eq!(room.server.command("EXISTS vestibule:audit"), "0");
}
