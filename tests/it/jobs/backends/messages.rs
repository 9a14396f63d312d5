//! Jobs that messages bring: what Redis says about a message.

use std::sync::Arc;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};
use vestibule_core::jobs::{
    Canceled, Detail, Enqueued, Extension, JOB_REAP_BATCH, JobBackend as _, JobQueueSettings, JobState, LeasedJob,
    NewJob, Outcome, Settled, Settlement,
};
use vestibule_core::{Clock as _, ManualClock, Micros};
use vestibule_store_redis::{JobRegistry, MessageId, RedisOptions, Registered, Start};
use vestibule_tests::Redis;

use super::fixture::{START, failure, job, random_id, settings_of};

struct Fixture {
    registry: JobRegistry,
    clock: Arc<ManualClock>,
    settings: JobQueueSettings,
}

impl Fixture {
    async fn fifo(changes: &Value) -> Self {
        let clock = Arc::new(ManualClock::at(START));
        let timeout = Duration::from_secs(10);
        let options = RedisOptions { timeout, clock: Some(clock.clone()), ..RedisOptions::default() };
        let registry = JobRegistry::connect(&Redis::shared().await.url(), options).unwrap();
        Self { registry, clock, settings: settings_of(&format!("{}.fifo", random_id()), changes) }
    }

    /// Registers a job that no other one equals. Returns its message.
    async fn register(&self, number: u64, group: &str) -> MessageId {
        let new = job(number, Some(group));
        let registered = self.registry.register(&self.settings, std::slice::from_ref(&new)).await.unwrap()[0];
        assert_eq!(registered.answer, Enqueued::Accepted);
        registered.message.unwrap()
    }

    /// Registers this many jobs, each in a group of its own.
    async fn register_many(&self, count: u64) -> Vec<MessageId> {
        let mut messages = Vec::new();
        for number in 0..count {
            messages.push(self.register(number, &format!("g{number}")).await);
        }
        messages
    }

    async fn start(&self, message: MessageId) -> Start {
        self.registry.start(&self.settings, &[message]).await.unwrap().remove(0)
    }

    async fn started(&self, message: MessageId) -> LeasedJob {
        match self.start(message).await {
            Start::Started(job) => job,
            other => panic!("{other:?}"),
        }
    }

    async fn settle(&self, job: &LeasedJob, outcome: Outcome) {
        let settlement = Settlement { lease: job.lease, outcome };
        self.registry.jobs().settle(&self.settings, vec![settlement]).await.unwrap();
    }

    async fn withdraw(&self, message: MessageId) -> Vec<bool> {
        self.registry.withdraw(&self.settings, &[message.job]).await.unwrap()
    }

    async fn acknowledge(&self, job: &LeasedJob) {
        self.settle(job, Outcome::Acknowledged(None)).await;
    }

    async fn restore(&self, new: &NewJob, message: MessageId, may_be_started: bool) -> Start {
        self.registry.restore(&self.settings, new, message, self.clock.now(), may_be_started).await.unwrap();
        self.start(message).await
    }
}

/// A message of the job of this number, in a job queue that was never removed.
fn message_of(job_number: u64, number: u64) -> MessageId {
    MessageId { job: job(job_number, None).id, generation: 0, number }
}

const fn seconds(seconds: u64) -> Start {
    Start::Waits(Duration::from_secs(seconds))
}

/// Two processes enqueue at the same time, and their messages are sent in the other order.
#[tokio::test]
async fn late_message_takes_a_new_sequence_number() {
    let fixture = Fixture::fifo(&json!({})).await;
    let (first, second) = (fixture.register(1, "a").await, fixture.register(2, "a").await);
    let job = fixture.started(second).await;
    assert_eq!(fixture.start(first).await, seconds(1), "its group runs");
    fixture.acknowledge(&job).await;
    let later = fixture.started(first).await;
    assert!(later.sequence > job.sequence, "the order within the group");
}

/// A process stops between registering a job and sending its message.
#[tokio::test]
async fn job_without_a_message_does_not_block_its_group() {
    let fixture = Fixture::fifo(&json!({})).await;
    let (lost, next) = (fixture.register(1, "a").await, fixture.register(2, "a").await);
    let job = fixture.started(next).await;
    fixture.acknowledge(&job).await;
    let again = fixture.registry.register(&fixture.settings, &[job_again(1)]).await.unwrap()[0];
    assert_eq!((again.answer, again.message), (Enqueued::Duplicate(lost.job), Some(lost)), "it is sent again");
    fixture.started(lost).await;
    let again = fixture.registry.register(&fixture.settings, &[job_again(1)]).await.unwrap()[0];
    assert_eq!((again.answer, again.message), (Enqueued::Duplicate(lost.job), None), "its message has arrived");
}

fn job_again(number: u64) -> NewJob {
    NewJob { payload: job(number, None).payload, ..job(number + 100, Some("a")) }
}

#[tokio::test]
async fn messages_of_deleted_jobs_are_finished() {
    let fixture = Fixture::fifo(&json!({ "max_attempts": 1 })).await;
    let message = fixture.register(1, "a").await;
    let canceled = fixture.registry.jobs().store().cancel(&fixture.settings, &[message.job]).await.unwrap();
    assert_eq!((canceled, fixture.start(message).await), (vec![Canceled::Canceled], Start::Finished));
    let again = fixture.register(1, "a").await;
    assert_eq!(fixture.start(message).await, Start::Finished, "the message of the canceled job");
    let job = fixture.started(again).await;
    assert_eq!(fixture.start(again).await, seconds(30), "a second delivery waits for the lease");
    fixture.settle(&job, Outcome::Failed(failure())).await;
    assert_eq!(fixture.start(again).await, Start::NeedsPayload);
    fixture.registry.keep_payload(&fixture.settings, again.job, &job_again(1).payload).await.unwrap();
    assert_eq!(fixture.start(again).await, Start::Finished);
    fixture.registry.jobs().store().delete_dead(&fixture.settings, &[again.job]).await.unwrap();
    assert_eq!(fixture.start(again).await, Start::Finished);
}

/// A message is deleted late: its process stopped, or SQS was unavailable.
#[tokio::test]
async fn message_of_a_job_whose_result_has_expired_is_finished() {
    let fixture = Fixture::fifo(&json!({ "result_ttl": 60 })).await;
    let messages = fixture.register_many(2).await;
    for message in &messages {
        let job = fixture.started(*message).await;
        fixture.acknowledge(&job).await;
    }
    fixture.registry.messages_deleted(&fixture.settings, &messages[1..]).await.unwrap();
    assert_eq!(fixture.start(messages[1]).await, Start::Finished);
    fixture.clock.advance(61_000_000);
    let views =
        fixture.registry.jobs().store().get(&fixture.settings, &[messages[0].job], Detail::Status).await.unwrap();
    assert_eq!(views, [None]);
    assert_eq!(fixture.start(messages[0]).await, Start::Finished);
    assert_eq!(fixture.start(messages[1]).await, Start::Lost, "nothing is remembered about deleted messages");
}

#[tokio::test]
async fn message_that_was_sent_twice_is_expected_twice() {
    let fixture = Fixture::fifo(&json!({ "result_ttl": 60 })).await;
    let message = fixture.register(1, "a").await;
    let again = fixture.registry.register(&fixture.settings, &[job_again(1)]).await.unwrap()[0];
    assert_eq!(again.message, Some(message));
    let job = fixture.started(message).await;
    fixture.acknowledge(&job).await;
    fixture.registry.messages_deleted(&fixture.settings, &[message]).await.unwrap();
    fixture.clock.advance(61_000_000);
    assert_eq!(fixture.start(message).await, Start::Finished);
}

#[tokio::test]
async fn messages_of_a_removed_job_queue_are_finished() {
    let fixture = Fixture::fifo(&json!({})).await;
    let mut earlier = Vec::new();
    for _ in 0..3 {
        let message = fixture.register(1, "a").await;
        let job = fixture.started(message).await;
        fixture.acknowledge(&job).await;
        assert!(fixture.registry.jobs().store().remove(&fixture.settings).await.unwrap());
        let refused = fixture.registry.register(&fixture.settings, &[super::fixture::job(2, Some("a"))]).await.unwrap();
        assert_eq!(refused, [Registered { answer: Enqueued::Removed, message: None }]);
        fixture.registry.jobs().store().create(&fixture.settings).await.unwrap();
        earlier.push(message);
    }
    for message in &earlier {
        assert_eq!(fixture.start(*message).await, Start::Finished);
        assert_eq!(fixture.restore(&job(1, Some("a")), *message, false).await, Start::Finished);
    }
    let message = fixture.register(1, "a").await;
    assert_eq!(fixture.start(earlier[2]).await, Start::Finished, "the same job in a later job queue");
    fixture.started(message).await;
    // Redis loses all that, and its messages register the jobs again.
    let fixture = Fixture::fifo(&json!({})).await;
    assert!(matches!(fixture.restore(&job(1, Some("a")), message, false).await, Start::Started(_)));
    assert_eq!(fixture.start(earlier[2]).await, Start::Finished);
}

/// The key of the records was evicted or deleted.
#[tokio::test]
async fn messages_bring_jobs_whose_records_are_lost() {
    let fixture = Fixture::fifo(&json!({})).await;
    let (first, second) = (fixture.register(1, "a").await, fixture.register(2, "a").await);
    let running = fixture.started(first).await;
    let key = format!("vestibule:{{jobs:{}:{}}}:jobs", fixture.settings.tenant, fixture.settings.id);
    assert_eq!(Redis::shared().await.command(&["DEL", &key]).await.integer(), 1);
    assert_eq!(fixture.start(second).await, Start::Lost);
    assert!(matches!(fixture.restore(&job(2, Some("a")), second, false).await, Start::Started(_)));
    assert_eq!(fixture.restore(&job(1, Some("a")), first, true).await, seconds(1), "its group runs");
    let settlement = Settlement { lease: running.lease, outcome: Outcome::Acknowledged(None) };
    let settled = fixture.registry.jobs().settle(&fixture.settings, vec![settlement]).await.unwrap();
    assert_eq!(settled, [Settled::NotLeased], "the lease is lost, too");
}

#[tokio::test]
async fn message_of_an_expired_job_is_finished() {
    let fixture = Fixture::fifo(&json!({ "retention": 60 })).await;
    let messages = fixture.register_many(2 * JOB_REAP_BATCH as u64 + 2).await;
    fixture.clock.advance(60_000_000);
    for message in messages.iter().rev() {
        assert_eq!(fixture.start(*message).await, Start::NeedsPayload, "a dead letter keeps its payload");
    }
    let stats = fixture.registry.jobs().store().stats(&fixture.settings).await.unwrap();
    assert_eq!((stats.waiting, stats.running, stats.dead), (0, 0, messages.len() as u64));
}

/// The producer of the first job may have stopped before it sent the message. Whichever message comes first brings the payload.
#[tokio::test]
async fn duplicate_with_another_content_sends_no_message() {
    let fixture = Fixture::fifo(&json!({})).await;
    for settings in [fixture.settings.clone(), settings_of(&random_id(), &json!({}))] {
        let group = settings.id.is_fifo().then_some("a");
        let of = |number| NewJob { id: job(1, None).id, ..job(number, group) };
        let of = |number| NewJob { deduplication_id: group.map(|_| "x".parse().unwrap()), ..of(number) };
        let register = async |number| fixture.registry.register(&settings, &[of(number)]).await.unwrap()[0];
        let first = register(1).await;
        assert_eq!(first.answer, Enqueued::Accepted);
        let (other, equal) = (register(2).await, register(1).await);
        assert_eq!((other.answer, other.message), (Enqueued::Duplicate(of(1).id), None));
        assert_eq!((equal.answer, equal.message), (Enqueued::Duplicate(of(1).id), first.message));
    }
}

#[tokio::test]
async fn withdrawn_job_leaves_nothing_behind() {
    let fixture = Fixture::fifo(&json!({ "max_attempts": 1 })).await;
    let message = fixture.register(1, "a").await;
    for _ in 0..2 {
        assert_eq!(fixture.withdraw(message).await, [true]);
    }
    let stats = fixture.registry.jobs().store().stats(&fixture.settings).await.unwrap();
    assert_eq!((stats.waiting, stats.bytes), (0, 0));
    let message = fixture.register(1, "a").await;
    let job = fixture.started(message).await;
    assert_eq!(fixture.withdraw(message).await, [false], "it has arrived");
    fixture.settle(&job, Outcome::Failed(failure())).await;
    fixture.registry.keep_payload(&fixture.settings, message.job, &job_again(1).payload).await.unwrap();
    // A replayed job is a dead letter again.
    assert_eq!(fixture.registry.jobs().replay(&fixture.settings, &[message.job]).await.unwrap(), [true]);
    let replayed = fixture.registry.messages_to_send(&fixture.settings, &[message.job]).await.unwrap()[0].unwrap();
    assert_eq!(fixture.withdraw(message).await, [true]);
    assert_eq!(fixture.start(replayed).await, Start::Finished, "it was sent all the same");
    let dead = fixture.registry.jobs().store().dead_letters(&fixture.settings, None, 9).await.unwrap();
    assert_eq!((dead.len(), dead[0].state, dead[0].failed_attempts), (1, JobState::Failed, 0));
    assert_eq!(fixture.registry.jobs().replay(&fixture.settings, &[message.job]).await.unwrap(), [true]);
    let again = fixture.registry.messages_to_send(&fixture.settings, &[message.job]).await.unwrap()[0].unwrap();
    fixture.started(again).await;
}

#[tokio::test]
async fn job_that_another_request_sends_is_not_withdrawn() {
    let fixture = Fixture::fifo(&json!({})).await;
    let message = fixture.register(1, "a").await;
    fixture.registry.register(&fixture.settings, &[job_again(1)]).await.unwrap();
    assert_eq!(fixture.withdraw(message).await, [false]);
    fixture.started(message).await;
}

/// A process stops between putting a dead letter back and sending its message.
#[tokio::test]
async fn replayed_job_without_a_message_is_a_dead_letter_again() {
    let fixture = Fixture::fifo(&json!({ "max_attempts": 1, "retention": 60 })).await;
    let message = fixture.register(1, "a").await;
    let job = fixture.started(message).await;
    fixture.settle(&job, Outcome::Failed(failure())).await;
    fixture.registry.keep_payload(&fixture.settings, message.job, &job_again(1).payload).await.unwrap();
    let jobs = fixture.registry.jobs();
    for _ in 0..2 {
        assert_eq!(jobs.replay(&fixture.settings, &[message.job]).await.unwrap(), [true]);
        fixture.clock.advance(60_000_000);
        assert_eq!(jobs.store().dead_letters(&fixture.settings, None, 9).await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn starts_beyond_the_rate_are_reserved() {
    let fixture = Fixture::fifo(&json!({ "dispatches_per_minute": 60, "concurrency": 100 })).await;
    let messages = fixture.register_many(4).await;
    fixture.started(messages[0]).await;
    for (message, wait) in messages[1..].iter().zip(1..) {
        assert_eq!(fixture.start(*message).await, seconds(wait));
    }
    assert_eq!(fixture.start(messages[3]).await, seconds(3), "a second delivery reserves nothing");
    fixture.clock.advance(1_000_000);
    fixture.started(messages[1]).await;
    assert_eq!(fixture.start(messages[2]).await, seconds(1));
    fixture.clock.advance(1_000_000);
    fixture.started(messages[2]).await;
}

/// What may start now, of these messages.
async fn start_all(fixture: &Fixture, messages: &[MessageId]) -> Vec<MessageId> {
    let mut started = Vec::new();
    for message in messages {
        if matches!(fixture.start(*message).await, Start::Started(_)) {
            started.push(*message);
        }
    }
    started
}

#[tokio::test]
async fn reserved_starts_do_not_come_at_once_after_a_pause() {
    let mut fixture = Fixture::fifo(&json!({ "dispatches_per_minute": 60, "concurrency": 100 })).await;
    let messages = fixture.register_many(6).await;
    assert_eq!(start_all(&fixture, &messages).await, messages[..1]);
    fixture.settings.paused = true;
    assert_eq!(start_all(&fixture, &messages[1..]).await, []);
    fixture.clock.advance(100_000_000);
    fixture.settings.paused = false;
    assert_eq!(start_all(&fixture, &messages[1..]).await, messages[1..2], "one per second");
    for (message, wait) in messages[2..].iter().zip(1..) {
        assert_eq!(fixture.start(*message).await, seconds(wait), "a new instant");
    }
}

#[tokio::test]
async fn changed_rate_applies_to_reserved_starts() {
    let mut fixture = Fixture::fifo(&json!({ "dispatches_per_minute": 600, "concurrency": 100 })).await;
    let messages = fixture.register_many(20).await;
    assert_eq!(start_all(&fixture, &messages).await, messages[..10]);
    fixture.settings.dispatches_per_minute = Some(60);
    fixture.clock.advance(2_000_000);
    assert_eq!(start_all(&fixture, &messages[10..]).await, messages[10..11], "a lower rate");
    let mut fixture = Fixture::fifo(&json!({ "dispatches_per_minute": 1, "concurrency": 100 })).await;
    let messages = fixture.register_many(10).await;
    assert_eq!(start_all(&fixture, &messages).await, messages[..1]);
    fixture.settings.dispatches_per_minute = Some(60);
    fixture.clock.advance(1_000_000);
    let new = fixture.register(10, "new").await;
    fixture.started(new).await;
}

/// J8, over random rates, pauses and late messages: the bucket bounds what starts in any time, and every job starts.
#[tokio::test]
async fn messages_never_start_faster_than_the_rate() {
    for seed in 0..20 {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut fixture = Fixture::fifo(&json!({ "dispatches_per_minute": 60, "concurrency": 1000 })).await;
        let mut messages: Vec<_> = fixture.register_many(40).await.into_iter().map(|it| (START, it)).collect();
        let (mut starts, mut since) = (Vec::new(), START);
        for _ in 0..20_000 {
            let now = fixture.clock.now();
            if rng.random_bool(0.002) {
                fixture.settings.paused = !fixture.settings.paused;
            }
            if rng.random_bool(0.002) {
                fixture.settings.dispatches_per_minute = [30, 60, 240].choose(&mut rng).copied();
                (starts, since) = (Vec::new(), now);
            }
            let rate = fixture.settings.dispatches_per_minute.unwrap();
            for (due, message) in std::mem::take(&mut messages) {
                if due > now {
                    messages.push((due, message));
                    continue;
                }
                match fixture.start(message).await {
                    Start::Started(_) => starts.push(now),
                    // SQS hides a message for whole seconds, and brings it some time later.
                    Start::Waits(time) => {
                        let late = rng.random_range(0..1_500_000) + u64::from(rng.random_bool(0.1)) * 20_000_000;
                        messages.push((
                            Micros(now.add_seconds(time.as_micros().div_ceil(1_000_000) as u64).0 + late),
                            message,
                        ));
                    }
                    other => panic!("{other:?}"),
                }
            }
            for (index, from) in starts.iter().enumerate() {
                let earned = (now.0 - from.0) * rate / 60_000_000;
                let most = (rate / 60).max(1) + earned;
                assert!((starts.len() - index) as u64 <= most, "seed {seed}: {starts:?} since {since:?} at {rate}");
            }
            let Some(next) = messages.iter().map(|(due, _)| *due).min() else { break };
            fixture.clock.advance(next.0.saturating_sub(now.0).clamp(1, 5_000_000));
        }
        assert!(messages.is_empty(), "seed {seed}: {} messages have not started", messages.len());
    }
}

#[tokio::test]
async fn messages_without_a_free_slot_are_looked_at_again() {
    let fixture = Fixture::fifo(&json!({ "concurrency": 1 })).await;
    let (first, second) = (fixture.register(1, "a").await, fixture.register(2, "b").await);
    let job = fixture.started(first).await;
    assert_eq!(fixture.start(second).await, seconds(1));
    for number in 3..8 {
        let message = fixture.register(number, &format!("g{number}")).await;
        assert_eq!(fixture.start(message).await, seconds(number - 1), "the longer, the more wait");
    }
    fixture.acknowledge(&job).await;
    fixture.started(second).await;
}

/// SQS puts a message aside that was received 1,000 times.
#[tokio::test]
async fn message_without_a_slot_is_received_a_few_hundred_times() {
    let fixture = Fixture::fifo(&json!({ "concurrency": 1, "retention": 864_000 })).await;
    let (first, second) = (fixture.register(1, "a").await, fixture.register(2, "b").await);
    let job = fixture.started(first).await;
    let registry = fixture.registry.jobs();
    let (mut receives, mut waited) = (0, 0);
    while waited < 860_000_000_000 && receives < 1_000 {
        let held = Extension { seconds: 900_000, ..Extension::of(job.lease) };
        registry.extend(&fixture.settings, &[held]).await.unwrap();
        let Start::Waits(time) = fixture.start(second).await else { panic!("no slot is free") };
        let micros = u64::try_from(time.as_micros()).unwrap();
        fixture.clock.advance(micros);
        (receives, waited) = (receives + 1, waited + micros);
    }
    assert!(receives < 700, "{receives}");
}

/// F16: after a pause, dispatching resumes within the time that the pause has lasted.
#[tokio::test]
async fn f16_messages_of_a_paused_job_queue_wait_as_long_as_the_pause() {
    let mut fixture = Fixture::fifo(&json!({ "paused": true })).await;
    let message = fixture.register(1, "a").await;
    for (elapsed, wait) in [(0, 5), (3, 5), (117, 120), (2_000, 900)] {
        fixture.clock.advance(elapsed * 1_000_000);
        assert_eq!(fixture.start(message).await, seconds(wait), "{elapsed} s later");
    }
    fixture.settings.paused = false;
    let job = fixture.started(message).await;
    fixture.settle(&job, Outcome::Requeued).await;
    fixture.settings.paused = true;
    assert_eq!(fixture.start(message).await, seconds(5), "a new pause");
}

#[tokio::test]
async fn pause_ends_without_a_message() {
    let mut fixture = Fixture::fifo(&json!({ "paused": true })).await;
    let message = fixture.register(1, "a").await;
    fixture.clock.advance(100_000_000);
    assert_eq!(fixture.start(message).await, seconds(100));
    fixture.settings.paused = false;
    fixture.registry.jobs().store().stats(&fixture.settings).await.unwrap();
    fixture.settings.paused = true;
    assert_eq!(fixture.start(message).await, seconds(5), "a new pause");
}

#[tokio::test]
async fn lost_job_is_registered_again_unless_an_equal_one_was() {
    let fixture = Fixture::fifo(&json!({ "max_attempts": 1 })).await;
    let message = message_of(1, 7);
    assert_eq!(fixture.start(message).await, Start::Lost);
    let Start::Started(restored) = fixture.restore(&job(1, Some("a")), message, true).await else {
        panic!("not started")
    };
    assert_eq!((restored.lease.receive_count, restored.enqueued_at), (1, START));
    assert_eq!(fixture.restore(&job_again(1), message_of(101, 3), false).await, Start::Lost, "a duplicate");
}

/// F15: a held order that may have been sent is not sent again when Redis has lost its state.
#[tokio::test]
async fn f15_lost_order_that_may_have_been_sent_is_unknown() {
    let fixture = Fixture::fifo(&json!({ "target": { "kind": "origin" } })).await;
    assert_eq!(fixture.restore(&job(1, Some("a")), message_of(1, 7), true).await, Start::Finished);
    let views = fixture.registry.jobs().store().get(&fixture.settings, &[job(1, None).id], Detail::Contents).await;
    let view = views.unwrap().remove(0).unwrap();
    assert_eq!((view.state, view.payload), (JobState::Unknown, None));
    let again = fixture.registry.register(&fixture.settings, &[job_again(1)]).await.unwrap()[0];
    assert_eq!((again.answer, again.message), (Enqueued::Duplicate(job(1, None).id), None));
    let first_delivery = fixture.restore(&job(2, Some("b")), message_of(2, 8), false).await;
    assert!(matches!(first_delivery, Start::Started(_)), "it was not sent");
    let fixture = Fixture::fifo(&json!({ "target": { "kind": "origin" }, "retry": "always" })).await;
    let restored = fixture.restore(&job(1, Some("a")), message_of(1, 7), true).await;
    assert!(matches!(restored, Start::Started(_)), "the origin recognizes it");
}
