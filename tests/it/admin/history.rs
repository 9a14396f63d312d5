//! A queue's numbers, minute by minute.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use vestibule_core::line::{ADDRESS_LIMITS_FROM, Visit};
use vestibule_core::{Clock as _, KeyList, ManualClock, Micros, PutMode, QueueId, SessionId, Store, TicketSigner};
use vestibule_records::history::{History, Sample, Step, rates, record_samples};
use vestibule_records::{EphemeralKey, EphemeralKind, LoggedQueue, RecordStore};
use vestibule_store_memory::{MemoryRecords, MemoryStore};
use vestibule_store_redis::{RedisOptions, RedisStore};
use vestibule_tests::Redis;

use crate::conformance::limits::client_of;
use crate::line_fixture::{random_queue_id, settings_of};
use crate::suite::on_each;

/// Begin of a five-minute step.
const START: Micros = Micros(1_700_000_100_000_000);

struct StoreFixture {
    store: Arc<dyn Store>,
    records: Arc<dyn RecordStore>,
    clock: Arc<ManualClock>,
    queue: QueueId,
}

impl StoreFixture {
    async fn memory() -> Self {
        let clock = Arc::new(ManualClock::at(START));
        let store = Arc::new(MemoryStore::new(clock.clone()));
        Self::of(store, Arc::new(MemoryRecords::new(clock.clone())), clock).await
    }

    async fn redis(redis: &Redis) -> Self {
        let clock = Arc::new(ManualClock::at(START));
        let options =
            RedisOptions { timeout: Duration::from_secs(10), clock: Some(clock.clone()), ..RedisOptions::default() };
        let store = Arc::new(RedisStore::connect(&redis.url(), options).unwrap());
        Self::of(store.clone(), store, clock).await
    }

    async fn of(store: Arc<dyn Store>, records: Arc<dyn RecordStore>, clock: Arc<ManualClock>) -> Self {
        let queue = random_queue_id();
        store.put_settings(&settings_of(&queue, &json!({ "quota": 2 })), PutMode::Always).await.unwrap();
        Self { store, records, clock, queue }
    }

    async fn join(&self, count: usize) {
        for _ in 0..count {
            let visit = Visit::joining(SessionId::random());
            self.store.visit(&self.queue, visit).await.unwrap();
        }
    }

    async fn notice(&self) -> usize {
        record_samples(&*self.store, &*self.records).await.unwrap()
    }

    fn logged(&self) -> LoggedQueue {
        LoggedQueue { tenant: "acme".parse().unwrap(), queue: self.queue.clone() }
    }

    /// The steps from this instant on, with what was recorded in them.
    async fn steps(&self, step: Step, from: Micros) -> Vec<(u64, Option<Sample>)> {
        History::since(&*self.records, step, from).await.unwrap().samples(&self.logged()).await.unwrap()
    }

    async fn samples(&self, step: Step, from: Micros) -> Vec<Sample> {
        self.steps(step, from).await.into_iter().filter_map(|(_, sample)| sample).collect()
    }

    fn advance_seconds(&self, seconds: u64) {
        self.clock.advance(seconds * 1_000_000);
    }
}

on_each! {
    {
        memory: &super::StoreFixture::memory().await,
        redis: &super::StoreFixture::redis(&vestibule_tests::Redis::start().await).await,
    }
    {
        concurrent_writers_record_a_minute_once,
        samples_contain_differences,
        unreliable_client_addresses_are_noted_until_reliable,
        queue_without_visitors_has_one_point,
        first_arrivals_of_a_new_queue_are_counted,
        empty_minutes_and_missing_ones_differ,
        brief_visitors_are_in_the_minute_in_which_they_came,
        history_keeps_minutes_a_day_and_five_minutes_a_month,
        rates_cover_the_last_minutes,
    }
}

async fn concurrent_writers_record_a_minute_once(stores: &StoreFixture) {
    stores.join(3).await;
    let written = futures_util::future::join_all((0..8).map(|_| stores.notice())).await;
    assert_eq!(written.iter().sum::<usize>(), 2, "a minute and five minutes, by one of the eight: {written:?}");
    stores.advance_seconds(59);
    assert_eq!(stores.notice().await, 0);
    stores.advance_seconds(1);
    stores.join(1).await;
    assert_eq!(stores.notice().await, 1, "the five minutes last");
    assert_eq!(stores.samples(Step::Minute, START).await.len(), 2);
    assert_eq!(stores.samples(Step::FiveMinutes, START).await.len(), 1);
}

async fn unreliable_client_addresses_are_noted_until_reliable(stores: &StoreFixture) {
    let since = stores.store.stats(&stores.queue).await.unwrap().state_since.0;
    let key = EphemeralKey::new(EphemeralKind::ClientAddress, format!("{}-{since}", stores.queue));
    let noted = async || stores.records.get_ephemeral(&key).await.unwrap();
    stores.join(20).await;
    stores.notice().await;
    assert_eq!(noted().await.as_deref(), Some("unusable"), "no join has an address");
    for _ in 0..3 {
        stores.advance_seconds(600);
        stores.notice().await;
        assert_eq!(noted().await.as_deref(), Some("unusable"), "nobody came, so nothing is known");
    }
    let signer = TicketSigner::new(&KeyList::of_bytes("k1", [1; 32])).unwrap();
    for number in 0..ADDRESS_LIMITS_FROM {
        let client = client_of(&signer, &stores.queue, &format!("203.0.{number}.1"));
        let visit = Visit { client, ..Visit::joining(SessionId::random()) };
        stores.store.visit(&stores.queue, visit).await.unwrap();
    }
    stores.advance_seconds(60);
    stores.notice().await;
    assert_eq!(noted().await, None);
}

async fn samples_contain_differences(stores: &StoreFixture) {
    stores.join(5).await;
    stores.notice().await;
    stores.advance_seconds(20);
    stores.join(4).await;
    stores.advance_seconds(40);
    stores.notice().await;
    let first = Sample {
        at: START.seconds(),
        waiting: 3,
        active: 2,
        quota: 2,
        joined: Some(5),
        admitted: Some(2),
        pre_tickets: Some(0),
        rejected: Some(0),
        challenged: Some(0),
    };
    let samples = stores.samples(Step::Minute, START).await;
    assert_eq!(samples[0], first);
    assert_eq!((samples[1].at, samples[1].joined), (START.seconds() + 60, Some(4)));
    let later = stores.samples(Step::Minute, START.add_seconds(1)).await;
    assert_eq!(later, samples[1..], "what is left out is still what the next is counted from");
}

async fn queue_without_visitors_has_one_point(stores: &StoreFixture) {
    assert_eq!(stores.notice().await, 2, "a minute and five minutes, which later ones are counted from");
    for _ in 0..5 {
        stores.advance_seconds(60);
        assert_eq!(stores.notice().await, 0);
    }
    let samples = stores.samples(Step::Minute, START).await;
    let seen: Vec<_> = samples.iter().map(|sample| (sample.active, sample.joined)).collect();
    assert_eq!(seen, [(0, Some(0)); 6]);
}

async fn first_arrivals_of_a_new_queue_are_counted(stores: &StoreFixture) {
    stores.notice().await;
    stores.advance_seconds(600);
    stores.join(5).await;
    stores.notice().await;
    for step in Step::ALL {
        let samples = stores.samples(step, START).await;
        let last = samples.last().unwrap();
        assert_eq!((last.waiting, last.joined, last.admitted), (3, Some(5), Some(2)), "{step:?}");
    }
}

async fn empty_minutes_and_missing_ones_differ(stores: &StoreFixture) {
    let session = SessionId::random();
    stores.store.visit(&stores.queue, Visit::joining(session)).await.unwrap();
    stores.notice().await;
    stores.store.end(&stores.queue, session).await.unwrap();
    // Nothing is recorded in the third and fourth minute.
    for minutes in [1, 3] {
        stores.advance_seconds(minutes * 60);
        stores.notice().await;
    }
    stores.advance_seconds(60);
    stores.join(1).await;
    stores.notice().await;
    let shown = async |step: Step, from: Micros| {
        let steps = stores.steps(step, from).await;
        steps
            .iter()
            .map(|(at, sample)| (at - START.seconds(), sample.map(|it| (it.active, it.quota))))
            .collect::<Vec<_>>()
    };
    let none = Some((0, 2));
    let expected = [(0, Some((1, 2))), (60, none), (120, None), (180, None), (240, none), (300, Some((1, 2)))];
    assert_eq!(shown(Step::Minute, START).await, expected);
    assert_eq!(shown(Step::Minute, START.add_seconds(61)).await, expected[2..], "from the next minute on");
    assert_eq!(shown(Step::FiveMinutes, START).await, [(0, Some((1, 2))), (300, Some((1, 2)))]);
}

async fn brief_visitors_are_in_the_minute_in_which_they_came(stores: &StoreFixture) {
    for visitors in [2, 3, 0, 1] {
        for _ in 0..visitors {
            let session = SessionId::random();
            stores.store.visit(&stores.queue, Visit::joining(session)).await.unwrap();
            stores.store.end(&stores.queue, session).await.unwrap();
        }
        stores.notice().await;
        stores.advance_seconds(60);
    }
    let samples = stores.samples(Step::Minute, START).await;
    let joined: Vec<_> = samples.iter().map(|sample| (sample.active, sample.joined)).collect();
    assert_eq!(joined, [(0, Some(2)), (0, Some(3)), (0, Some(0)), (0, Some(1))]);
}

async fn history_keeps_minutes_a_day_and_five_minutes_a_month(stores: &StoreFixture) {
    for _ in 0..1600 {
        stores.join(1).await;
        stores.notice().await;
        stores.advance_seconds(60);
    }
    let minutes = stores.samples(Step::Minute, Micros(0)).await;
    assert!((1440..1540).contains(&minutes.len()), "{}", minutes.len());
    assert_eq!(minutes.last().unwrap().at, START.seconds() + 1599 * 60);
    assert!(minutes[1..].iter().all(|sample| sample.joined == Some(1)));
    let fives = stores.samples(Step::FiveMinutes, Micros(0)).await;
    assert_eq!(fives.len(), 320, "a month is far from over");
    assert!(fives[1..].iter().all(|sample| sample.joined == Some(5)));
}

async fn rates_cover_the_last_minutes(stores: &StoreFixture) {
    let now = async || stores.store.stats(&stores.queue).await.unwrap();
    stores.join(1).await;
    assert_eq!(rates(&*stores.records, &stores.logged(), &now().await).await.unwrap(), None, "nothing to compare with");
    stores.notice().await;
    stores.advance_seconds(15);
    stores.join(3).await;
    let found = rates(&*stores.records, &stores.logged(), &now().await).await.unwrap().unwrap();
    assert!((found.joined - 12.0).abs() < 1e-9 && (found.admitted - 4.0).abs() < 1e-9, "{found:?}");
    stores.advance_seconds(3600);
    assert_eq!(rates(&*stores.records, &stores.logged(), &now().await).await.unwrap(), None, "that was too long ago");
    assert_eq!(stores.clock.now(), START.add_seconds(3615));
}
