//! The conformance suite of `RecordStore`: one function per behavior, run against every implementation.

use std::sync::Arc;
use std::time::Duration;

use vestibule_core::{Clock as _, ManualClock, Micros};
use vestibule_records::{
    DOCUMENTS_MAX, DocumentChange, DocumentKind, DocumentOutcome, ENTRIES_MAX, EntryId, EphemeralKey, EphemeralKind,
    LogName, LoggedQueue, RecordStore,
};
use vestibule_store_memory::MemoryRecords;
use vestibule_store_redis::{RedisOptions, RedisStore};
use vestibule_tests::Cluster;

use crate::suite::on_each;

/// When the tests' time begins.
const START: Micros = Micros(1_700_000_000_000_000);

/// A setup of records, and the clock it goes by.
struct StoreFixture {
    records: Arc<dyn RecordStore>,
    clock: Arc<ManualClock>,
}

impl StoreFixture {
    fn memory() -> Self {
        let clock = Arc::new(ManualClock::at(START));
        Self { records: Arc::new(MemoryRecords::new(clock.clone())), clock }
    }

    fn redis(url: &str) -> Self {
        let clock = Arc::new(ManualClock::at(START));
        let options =
            RedisOptions { timeout: Duration::from_secs(10), clock: Some(clock.clone()), ..RedisOptions::default() };
        Self { records: Arc::new(RedisStore::connect(url, options).unwrap()), clock }
    }

    fn advance_seconds(&self, seconds: u64) {
        self.clock.advance(seconds * 1_000_000);
    }

    async fn append(&self, stream: &LogName, texts: impl IntoIterator<Item = u64>) -> Vec<EntryId> {
        let mut ids = Vec::new();
        for text in texts {
            ids.push(self.records.append(stream, &text.to_string()).await.unwrap());
        }
        ids
    }

    async fn texts(&self, stream: &LogName, before: Option<EntryId>, limit: usize) -> Vec<u64> {
        let entries = self.records.entries(stream, before, limit).await.unwrap();
        entries.iter().map(|entry| entry.text.parse().unwrap()).collect()
    }
}

// The names of records are the same for everybody, so every test has a server of its own.
macro_rules! suite {
    ($($behavior:ident,)+) => {
        on_each! {
            {
                memory: &super::StoreFixture::memory(),
                redis: &super::StoreFixture::redis(&vestibule_tests::Redis::start().await.url()),
            }
            { $($behavior,)+ }
        }

        #[tokio::test]
        async fn cluster() {
            let cluster = Cluster::start().await;
            $(
                println!(stringify!($behavior));
                cluster.flush().await;
                $behavior(&StoreFixture::redis(&cluster.url())).await;
            )+
        }
    };
}

suite! {
    document_is_read_as_written,
    revision_prevents_lost_updates,
    one_concurrent_write_wins,
    records_are_listed_by_id_and_kind,
    number_of_documents_is_limited,
    writes_renew_the_revision_of_their_kind,
    last_required_document_is_kept,
    counter_is_decremented,
    log_is_read_newest_first,
    capped_log_drops_its_oldest_entries,
    unused_log_expires,
    log_entries_of_one_instant_have_unique_ids,
    old_entries_are_dropped,
    ephemeral_key_expires,
    one_concurrent_set_if_absent_succeeds,
    absent_ephemeral_key_is_not_replaced,
    counter_expires_with_its_first_ttl,
    ephemeral_key_is_taken_once,
}

const OPERATORS: DocumentKind = DocumentKind::Operators;

async fn document_is_read_as_written(stores: &StoreFixture) {
    let text = "{\"name\": \"Zo\u{eb}\"}\n 1 2  ";
    assert_eq!(stores.records.get_document(OPERATORS, "zoe").await.unwrap(), None);
    assert_eq!(stores.records.put_document(OPERATORS, "zoe", text, 0).await.unwrap(), DocumentOutcome::Stored(1));
    let found = stores.records.get_document(OPERATORS, "zoe").await.unwrap().unwrap();
    assert_eq!((found.revision, found.text.as_str()), (1, text));
    assert!(stores.records.remove_document(OPERATORS, "zoe").await.unwrap());
    assert!(!stores.records.remove_document(OPERATORS, "zoe").await.unwrap());
    assert_eq!(stores.records.get_document(OPERATORS, "zoe").await.unwrap(), None);
}

async fn revision_prevents_lost_updates(stores: &StoreFixture) {
    let put = async |over| stores.records.put_document(OPERATORS, "zoe", "x", over).await.unwrap();
    assert_eq!(put(1).await, DocumentOutcome::Conflict(0), "there is none to write over");
    assert_eq!(put(0).await, DocumentOutcome::Stored(1));
    assert_eq!(put(0).await, DocumentOutcome::Conflict(1), "there is one already");
    assert_eq!(put(1).await, DocumentOutcome::Stored(2));
    assert_eq!(put(1).await, DocumentOutcome::Conflict(2));
}

async fn one_concurrent_write_wins(stores: &StoreFixture) {
    let writers = (0..20).map(|_| stores.records.put_document(OPERATORS, "zoe", "x", 0));
    let outcomes = futures_util::future::join_all(writers).await;
    let won = outcomes.iter().filter(|outcome| matches!(outcome, Ok(DocumentOutcome::Stored(1)))).count();
    assert_eq!(won, 1, "{outcomes:?}");
}

async fn records_are_listed_by_id_and_kind(stores: &StoreFixture) {
    for id in ["b", "a", "c"] {
        stores.records.put_document(OPERATORS, id, id, 0).await.unwrap();
    }
    stores.records.put_document(DocumentKind::Tokens, "d", "d", 0).await.unwrap();
    let listed = stores.records.list_documents(OPERATORS).await.unwrap();
    let ids: Vec<_> = listed.iter().map(|(id, record)| (id.as_str(), record.text.as_str())).collect();
    assert_eq!(ids, [("a", "a"), ("b", "b"), ("c", "c")]);
    assert_eq!(stores.records.list_documents(DocumentKind::Tokens).await.unwrap().len(), 1);
}

async fn writes_renew_the_revision_of_their_kind(stores: &StoreFixture) {
    let revision = async || stores.records.documents_revision(OPERATORS).await.unwrap();
    let mut seen = vec![revision().await];
    let change = |text, over| DocumentChange { text, over, needs_other: None };
    for (text, over) in [(Some("x"), 0), (Some("y"), 1), (None, 2)] {
        stores.records.change_document(OPERATORS, "zoe", change(text, over)).await.unwrap();
        seen.push(revision().await);
    }
    stores.records.put_document(OPERATORS, "zoe", "x", 0).await.unwrap();
    seen.push(revision().await);
    assert!(stores.records.remove_document(OPERATORS, "zoe").await.unwrap());
    seen.push(revision().await);
    assert_eq!(seen[0], 0);
    assert!(seen.is_sorted_by(|one, other| one < other), "{seen:?}");
    stores.records.put_document(OPERATORS, "zoe", "x", 7).await.unwrap();
    stores.records.put_document(DocumentKind::Tokens, "zoe", "x", 0).await.unwrap();
    assert_eq!(revision().await, seen[5], "nothing of this kind was written");
    assert!(stores.records.list_documents(OPERATORS).await.unwrap().is_empty());
}

async fn number_of_documents_is_limited(stores: &StoreFixture) {
    for id in 0..DOCUMENTS_MAX {
        stores.records.put_document(OPERATORS, &id.to_string(), "x", 0).await.unwrap();
    }
    assert_eq!(stores.records.put_document(OPERATORS, "one more", "x", 0).await.unwrap(), DocumentOutcome::Full);
    assert_eq!(stores.records.put_document(OPERATORS, "7", "y", 1).await.unwrap(), DocumentOutcome::Stored(2));
    assert_eq!(
        stores.records.put_document(DocumentKind::Tokens, "x", "x", 0).await.unwrap(),
        DocumentOutcome::Stored(1)
    );
}

async fn last_required_document_is_kept(stores: &StoreFixture) {
    for (id, text) in [("a", "root"), ("b", "root"), ("c", "user")] {
        stores.records.put_document(OPERATORS, id, text, 0).await.unwrap();
    }
    stores.records.put_document(DocumentKind::Tokens, "d", "root", 0).await.unwrap();
    let change = async |id: &str, text, over| {
        let change = DocumentChange { text, over, needs_other: Some("root") };
        stores.records.change_document(OPERATORS, id, change).await.unwrap()
    };
    assert_eq!(change("a", None, 2).await, DocumentOutcome::Conflict(1));
    assert_eq!(change("a", Some("user"), 1).await, DocumentOutcome::Stored(2));
    assert_eq!(change("b", None, 1).await, DocumentOutcome::NoOther);
    assert_eq!(change("b", Some("user"), 1).await, DocumentOutcome::NoOther);
    assert_eq!(change("c", None, 1).await, DocumentOutcome::Stored(0));
    assert_eq!(stores.records.get_document(OPERATORS, "c").await.unwrap(), None);
    assert_eq!(stores.records.put_document(OPERATORS, "e", "", 0).await.unwrap(), DocumentOutcome::Stored(1));
    assert_eq!(stores.records.get_document(OPERATORS, "e").await.unwrap().unwrap().text, "");
}

async fn counter_is_decremented(stores: &StoreFixture) {
    let key = key(EphemeralKind::Failures);
    stores.records.decrement(&key).await.unwrap();
    assert_eq!(stores.records.get_ephemeral(&key).await.unwrap(), None, "decrement does not create a counter");
    stores.records.increment(&key, 60).await.unwrap();
    stores.advance_seconds(30);
    stores.records.increment(&key, 60).await.unwrap();
    stores.records.decrement(&key).await.unwrap();
    assert_eq!(stores.records.increment(&key, 60).await.unwrap(), 2);
    stores.advance_seconds(30);
    assert_eq!(stores.records.increment(&key, 60).await.unwrap(), 1, "its expiry is unchanged");
}

fn tour() -> LoggedQueue {
    LoggedQueue { tenant: "acme".parse().unwrap(), queue: "acme-tour".parse().unwrap() }
}

async fn log_is_read_newest_first(stores: &StoreFixture) {
    let stream = LogName::Minutes(tour());
    assert_eq!(stores.texts(&stream, None, 10).await, [0_u64; 0]);
    let ids = stores.append(&stream, 0..5).await;
    assert_eq!(stores.texts(&stream, None, 3).await, [4, 3, 2]);
    assert_eq!(stores.texts(&stream, Some(ids[2]), 3).await, [1, 0]);
    assert_eq!(stores.texts(&stream, Some(ids[0]), 3).await, [0_u64; 0]);
    assert_eq!(stores.texts(&LogName::FiveMinutes(tour()), None, 3).await, [0_u64; 0]);
}

async fn capped_log_drops_its_oldest_entries(stores: &StoreFixture) {
    let stream = LogName::Minutes(tour());
    let most = stream.max_entries() as u64;
    stores.append(&stream, 0..most + 300).await;
    let newest = stores.records.entries(&stream, None, ENTRIES_MAX + 1).await.unwrap();
    assert_eq!(newest.len(), ENTRIES_MAX, "one read is limited");
    let rest = stores.records.entries(&stream, newest.last().map(|entry| entry.id), ENTRIES_MAX).await.unwrap();
    let kept = newest.len() + rest.len();
    // Redis drops a whole node of its stream at a time, which is a hundred entries.
    assert!((most as usize..most as usize + 100).contains(&kept), "{kept}");
    assert_eq!(newest[0].text, (most + 299).to_string());
}

async fn unused_log_expires(stores: &StoreFixture) {
    let stream = LogName::Minutes(tour());
    stores.append(&stream, 0..2).await;
    stores.append(&LogName::Audit, 0..2).await;
    stores.advance_seconds(86_399);
    assert_eq!(stores.texts(&stream, None, 10).await, [1, 0]);
    stores.advance_seconds(1);
    assert_eq!(stores.texts(&stream, None, 10).await, [0_u64; 0]);
    stores.append(&stream, [7]).await;
    assert_eq!(stores.texts(&stream, None, 10).await, [7], "it starts again");
    assert_eq!(stores.texts(&LogName::Audit, None, 10).await, [1, 0], "this one stays");
}

async fn log_entries_of_one_instant_have_unique_ids(stores: &StoreFixture) {
    let first = stores.append(&LogName::Audit, 0..2).await;
    assert_eq!(first[0], EntryId { at_ms: START.0 / 1000, number: 0 });
    assert_eq!(first[1], EntryId { at_ms: START.0 / 1000, number: 1 });
    stores.advance_seconds(1);
    assert_eq!(stores.append(&LogName::Audit, [2]).await, [EntryId { at_ms: START.0 / 1000 + 1000, number: 0 }]);
    assert_eq!(stores.records.now().await.unwrap(), stores.clock.now());
}

async fn old_entries_are_dropped(stores: &StoreFixture) {
    let stream = LogName::TenantAudit("acme".parse().unwrap());
    stores.append(&stream, 0..300).await;
    stores.advance_seconds(100);
    let kept_from = stores.clock.now();
    stores.append(&stream, 300..302).await;
    stores.append(&LogName::Audit, [7]).await;
    stores.records.trim(&stream, kept_from).await.unwrap();
    let left = stores.texts(&stream, None, 1000).await;
    assert!(left.starts_with(&[301, 300]) && left.len() <= 102, "Redis drops whole nodes of a hundred: {}", left.len());
    assert_eq!(stores.texts(&LogName::Audit, None, 10).await, [7]);
    stores.records.trim(&LogName::AccountAudit, kept_from).await.unwrap();
}

fn key(kind: EphemeralKind) -> EphemeralKey {
    EphemeralKey::new(kind, "0f0f")
}

async fn ephemeral_key_expires(stores: &StoreFixture) {
    let key = key(EphemeralKind::SignIn);
    assert_eq!(stores.records.get_ephemeral(&key).await.unwrap(), None);
    stores.records.set_ephemeral(&key, "zoe 1", 60).await.unwrap();
    stores.advance_seconds(59);
    assert_eq!(stores.records.get_ephemeral(&key).await.unwrap().as_deref(), Some("zoe 1"));
    stores.records.set_ephemeral(&key, "zoe 2", 60).await.unwrap();
    stores.advance_seconds(59);
    assert_eq!(stores.records.get_ephemeral(&key).await.unwrap().as_deref(), Some("zoe 2"), "a write starts a new TTL");
    stores.advance_seconds(1);
    assert_eq!(stores.records.get_ephemeral(&key).await.unwrap(), None);
    assert_eq!(stores.records.take_ephemeral(&key).await.unwrap(), None);
}

async fn one_concurrent_set_if_absent_succeeds(stores: &StoreFixture) {
    let key = key(EphemeralKind::Minute);
    let results =
        futures_util::future::join_all((0..20).map(|_| stores.records.set_ephemeral_if_absent(&key, "me", 60))).await;
    assert_eq!(results.iter().filter(|result| matches!(result, Ok(true))).count(), 1, "{results:?}");
    assert_eq!(stores.records.get_ephemeral(&key).await.unwrap().as_deref(), Some("me"));
    stores.advance_seconds(60);
    assert!(
        stores.records.set_ephemeral_if_absent(&key, "me", 60).await.unwrap(),
        "it can be set again after it has expired"
    );
}

async fn absent_ephemeral_key_is_not_replaced(stores: &StoreFixture) {
    let key = key(EphemeralKind::SignIn);
    assert!(!stores.records.set_ephemeral_if_present(&key, "zoe", 60).await.unwrap());
    assert_eq!(stores.records.get_ephemeral(&key).await.unwrap(), None);
    stores.records.set_ephemeral(&key, "zoe 1", 60).await.unwrap();
    stores.advance_seconds(59);
    assert!(stores.records.set_ephemeral_if_present(&key, "zoe 2", 60).await.unwrap());
    stores.advance_seconds(59);
    assert_eq!(stores.records.get_ephemeral(&key).await.unwrap().as_deref(), Some("zoe 2"), "with a new TTL");
    stores.advance_seconds(1);
    assert!(!stores.records.set_ephemeral_if_present(&key, "zoe 3", 60).await.unwrap(), "it has expired");
}

async fn counter_expires_with_its_first_ttl(stores: &StoreFixture) {
    let key = key(EphemeralKind::Failures);
    assert_eq!(stores.records.increment(&key, 60).await.unwrap(), 1);
    stores.advance_seconds(59);
    assert_eq!(stores.records.increment(&key, 60).await.unwrap(), 2);
    stores.advance_seconds(1);
    assert_eq!(stores.records.increment(&key, 60).await.unwrap(), 1, "the TTL starts with the first increment");
}

async fn ephemeral_key_is_taken_once(stores: &StoreFixture) {
    let key = key(EphemeralKind::Confirmation);
    stores.records.set_ephemeral(&key, "reset", 60).await.unwrap();
    let takers = futures_util::future::join_all((0..20).map(|_| stores.records.take_ephemeral(&key))).await;
    let took: Vec<_> = takers.into_iter().filter_map(Result::unwrap).collect();
    assert_eq!(took, ["reset"]);
}
