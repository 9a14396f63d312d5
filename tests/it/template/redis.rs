//! What the functions may do in Valkey, and where they find it.

use serde_json::json;
use vestibule_core::LastPurge;
use vestibule_core::settings::Tenant;
use vestibule_records::{
    DocumentKind, DocumentOutcome, EphemeralKey, EphemeralKind, LogName, LoggedQueue, RecordStore as _,
};
use vestibule_store_redis::{RedisOptions, RedisStore};
use vestibule_tests::{Cluster, Redis, Value};

use super::stack::Stack;
use crate::line_fixture::StoreFixture;

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
fn password_rotation_accepts_old_and_new() {
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
async fn use_all_of(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1, "admissions_per_minute": 60 })).await;
    let mut guests = fixture.arrivals(6).await;
    fixture.visit_all(&mut guests).await;
    fixture.keepalive(&guests[1]).await;
    fixture.away(&guests[5]).await;
    fixture.leave(&guests[4]).await;
    fixture.end(&guests[3]).await;
    fixture.release(1).await;
    assert_eq!(fixture.line().await, [guests[2].session]);
    assert!(fixture.is_in(&guests[1]).await);
    fixture.change(|settings| settings.line.quota = 2).await;
    fixture.advance_seconds(700);
    fixture.purge().await;
    assert_eq!(fixture.counts().await, (0, 0));
    let store = fixture.store();
    store.put_tenant(&Tenant::from_value(&json!({ "id": "acme", "name": "Acme" })).unwrap()).await.unwrap();
    assert_eq!(store.tenants().await.unwrap().len(), 1);
    store.set_last_purge(&LastPurge::default()).await.unwrap();
    store.last_purge().await.unwrap().expect("a record");
    store.reset(&fixture.queue).await.unwrap();
    store.ping().await.unwrap();
    store.remove_queue(&fixture.queue).await.unwrap();
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
    let queue = LoggedQueue { tenant: "acme".parse().unwrap(), queue: "acme-tour".parse().unwrap() };
    for stream in [LogName::Audit, LogName::Minutes(queue.clone()), LogName::EventSnapshots(queue)] {
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
async fn valkey_user_allows_all_store_commands() {
    let redis = Redis::start().await;
    restrict(&redis).await;
    use_all_of(&StoreFixture::at(&address_of(&redis.url()))).await;
    keep_all_records(&address_of(&redis.url())).await;
    assert_eq!(redis.command(&["ACL", "LOG"]).await, Value::Array(vec![]), "nothing was refused");
}

#[tokio::test]
async fn valkey_user_allows_all_cluster_commands() {
    let cluster = Cluster::start().await;
    for node in cluster.nodes() {
        restrict(node).await;
    }
    use_all_of(&StoreFixture::at(&address_of(&cluster.url()))).await;
    keep_all_records(&address_of(&cluster.url())).await;
    for node in cluster.nodes() {
        assert_eq!(node.command(&["ACL", "LOG"]).await, Value::Array(vec![]), "nothing was refused");
    }
}

#[tokio::test]
async fn valkey_user_cannot_flush_or_read_other_keys() {
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
