//! What the functions may do in Valkey, and where they find it.

use serde_json::json;
use vestibule_core::LastPurge;
use vestibule_core::settings::Tenant;
use vestibule_records::{DocumentKind, DocumentOutcome, EphemeralKey, EphemeralKind, LogName, RecordStore as _};
use vestibule_store_redis::{RedisOptions, RedisStore};
use vestibule_tests::{Cluster, Redis, Value};

use super::stack::Stack;
use crate::room::Bench;

#[tokio::test]
async fn the_functions_know_valkey_s_address_in_either_mode() {
    let address =
        |parameters: &[(&str, &str)]| Stack::deploy(parameters).environment("Gate")["VESTIBULE_REDIS_URL"].clone();
    let single = address(&[]);
    let clustered = address(&[("ClusterMode", "on")]);
    assert!(single.starts_with("rediss://default:") && single.ends_with("@redis.primaryendpoint.address:6379"));
    assert!(clustered.starts_with("rediss-cluster://default:"));
    assert!(clustered.ends_with("@redis.configurationendpoint.address:6379"));
    for address in [single, clustered] {
        assert!(RedisStore::connect(&address, RedisOptions::default()).is_ok());
    }
}

#[test]
fn while_passwords_change_valkey_takes_the_one_of_every_function_that_still_runs() {
    let password = |stack: &Stack| {
        let url = stack.environment("Purge")["VESTIBULE_REDIS_URL"].clone();
        url.strip_prefix("rediss://default:").unwrap().split('@').next().unwrap().to_owned()
    };
    let taken = |stack: &Stack| {
        let passwords = stack.properties("RedisUser")["AuthenticationMode"]["Passwords"].clone();
        let passwords = passwords.as_array().unwrap().iter();
        passwords.map(|password| stack.resolved(password.as_str().unwrap())).collect::<Vec<_>>()
    };
    let mut before = Stack::deploy(&[]);
    for step in ["A+B", "B+A", "B", "B+A", "A+B", "A"] {
        let after = before.update(&[("KeysInUse", step)]);
        assert!((1..=2).contains(&taken(&after).len()));
        assert!(taken(&after).contains(&password(&after)), "{step}: the new functions");
        assert!(taken(&after).contains(&password(&before)), "{step}: those that still run");
        assert!(taken(&before).contains(&password(&after)), "{step}: the new ones before the user is changed");
        before = after;
    }
}

/// Gives a Redis a user that may do what the template says.
async fn restrict(redis: &Redis) {
    let access = Stack::deploy(&[]).properties("RedisUser")["AccessString"].as_str().unwrap().to_owned();
    let mut words = vec!["ACL", "SETUSER", "functions", ">secret"];
    words.extend(access.split_whitespace());
    assert_eq!(redis.command(&words).await.text(), "OK");
}

/// The address for that user.
fn address_of(url: &str) -> String {
    url.replace("://", "://functions:secret@")
}

/// Everything that a store does.
async fn use_all_of(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1, "admissions_per_minute": 60 })).await;
    let mut guests = room.arrivals(6).await;
    room.visit_all(&mut guests).await;
    room.keepalive(&guests[1]).await;
    room.away(&guests[5]).await;
    room.leave(&guests[4]).await;
    room.end(&guests[3]).await;
    room.release(1).await;
    assert_eq!(room.line().await, [guests[2].session]);
    assert!(room.is_in(&guests[1]).await);
    room.change(|settings| settings.line.quota = 2).await;
    room.pass(700);
    room.purge().await;
    assert_eq!(room.counts().await, (0, 0));
    let store = room.store();
    store.put_tenant(&Tenant::from_value(&json!({ "id": "acme", "name": "Acme" })).unwrap()).await.unwrap();
    assert_eq!(store.tenants().await.unwrap().len(), 1);
    store.set_last_purge(&LastPurge::default()).await.unwrap();
    store.last_purge().await.unwrap().expect("a record");
    store.reset(&room.queue).await.unwrap();
    store.ping().await.unwrap();
    store.remove_queue(&room.queue).await.unwrap();
    assert_eq!(store.queues().await.unwrap().len(), 1);
}

/// Everything that is kept beside the lines.
async fn keep_all_records(url: &str) {
    let records = RedisStore::connect(url, RedisOptions::default()).unwrap();
    let kind = DocumentKind::Operators;
    assert_eq!(records.put_document(kind, "anna", "{}", 0).await.unwrap(), DocumentOutcome::Stored(1));
    assert!(records.get_document(kind, "anna").await.unwrap().is_some());
    assert_eq!(records.list_documents(kind).await.unwrap().len(), 1);
    assert!(records.remove_document(kind, "anna").await.unwrap());
    for stream in [LogName::Audit, LogName::Minutes("acme-tour".parse().unwrap())] {
        records.append(&stream, "{}").await.unwrap();
        assert_eq!(records.entries(&stream, None, 10).await.unwrap().len(), 1);
    }
    let key = |id: &str| EphemeralKey::new(EphemeralKind::SignIn, id);
    records.set_ephemeral(&key("a"), "anna", 60).await.unwrap();
    assert_eq!(records.get_ephemeral(&key("a")).await.unwrap().as_deref(), Some("anna"));
    assert_eq!(records.take_ephemeral(&key("a")).await.unwrap().as_deref(), Some("anna"));
    assert!(records.set_ephemeral_if_absent(&key("b"), "ben", 60).await.unwrap());
    assert_eq!(records.increment(&key("c"), 60).await.unwrap(), 1);
    records.now().await.unwrap();
}

#[tokio::test]
async fn the_store_may_do_all_that_it_does() {
    let redis = Redis::start().await;
    restrict(&redis).await;
    use_all_of(&Bench::at(&address_of(&redis.url()))).await;
    keep_all_records(&address_of(&redis.url())).await;
    assert_eq!(redis.command(&["ACL", "LOG"]).await, Value::Array(vec![]), "nothing was refused");
}

#[tokio::test]
async fn the_store_may_do_all_that_it_does_in_a_cluster() {
    let cluster = Cluster::start().await;
    for node in cluster.nodes() {
        restrict(node).await;
    }
    use_all_of(&Bench::at(&address_of(&cluster.url()))).await;
    keep_all_records(&address_of(&cluster.url())).await;
    for node in cluster.nodes() {
        assert_eq!(node.command(&["ACL", "LOG"]).await, Value::Array(vec![]), "nothing was refused");
    }
}

#[tokio::test]
async fn whoever_has_the_password_can_neither_empty_valkey_nor_read_other_keys() {
    let redis = Redis::start().await;
    restrict(&redis).await;
    for words in [
        &["FLUSHALL"][..],
        &["FLUSHDB"],
        &["CONFIG", "GET", "*"],
        &["KEYS", "*"],
        &["MONITOR"],
        &["SHUTDOWN"],
        &["ACL", "LIST"],
        &["EVAL", "return 1", "0"],
        &["FUNCTION", "FLUSH"],
        &["GET", "another:key"],
        &["DEBUG", "SLEEP", "1"],
    ] {
        let dry = [&["ACL", "DRYRUN", "functions"], words].concat();
        let answer = redis.command(&dry).await;
        assert!(answer.text().contains("has no permissions"), "{words:?}: {answer:?}");
    }
}
