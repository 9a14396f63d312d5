//! Job queues in a Redis that is killed, frozen or cut off, and with several consumers.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use parking_lot::Mutex;
use serde_json::json;
use tokio::net::TcpSocket;
use tokio::time::{sleep, timeout};
use vestibule_core::jobs::{
    BackendResult, Detail, Enqueued, Extension, JobBackend as _, JobBackendError, JobQueueSettings, JobState, JobStats,
    Lease, Outcome, Settled, Settlement,
};
use vestibule_core::{Clock, ManualClock};
use vestibule_store_redis::{JobRegistry, RedisJobs, RedisOptions, Start};
use vestibule_tests::{Cluster, Redis, TcpProxy, wait_until};

use super::fixture::{START, job, number_of, random_id, settings_of};

/// The timeout of operations that are to fail.
const TIMEOUT: Duration = Duration::from_millis(300);
/// The timeout of operations that are to succeed.
const PATIENCE: Duration = Duration::from_secs(6);
/// Several times the timeout: an operation that waits without bounds takes longer.
const SOON: Duration = Duration::from_secs(10);
/// Groups of the job queues.
const GROUPS: u64 = 8;

fn backend(url: &str, timeout: Duration, clock: Option<Arc<dyn Clock>>) -> RedisJobs {
    RedisJobs::connect(url, RedisOptions { timeout, clock, ..RedisOptions::default() }).unwrap()
}

fn fifo() -> JobQueueSettings {
    settings_of(&format!("{}.fifo", random_id()), &json!({ "concurrency": 100 }))
}

fn group_of(number: u64) -> String {
    format!("g{}", number % GROUPS)
}

fn acknowledged(lease: Lease) -> Settlement {
    Settlement { lease, outcome: Outcome::Acknowledged(None) }
}

/// Enqueues jobs and acknowledges some until the server is killed. Returns the accepted and the acknowledged ones.
async fn work_until_killed(
    redis: &Redis,
    jobs: &RedisJobs,
    settings: &JobQueueSettings,
) -> (HashSet<u64>, HashSet<u64>) {
    let (mut accepted, mut done) = (HashSet::new(), HashSet::new());
    let (is_killed, count) = (AtomicBool::new(false), Mutex::new(0));
    let producer = async {
        for number in 0.. {
            let Ok(answers) = jobs.enqueue(settings, vec![job(number, Some(&group_of(number)))]).await else { break };
            assert_eq!(answers, [Enqueued::Accepted]);
            accepted.insert(number);
            *count.lock() += 1;
        }
    };
    let consumer = async {
        while !is_killed.load(Ordering::Relaxed) {
            let Ok(received) = jobs.receive(settings, 3).await else { break };
            for received in received.jobs {
                let lease = received.lease;
                // Without a reply the settlement may or may not have been stored.
                if let Ok(settled) = jobs.settle(settings, vec![acknowledged(lease)]).await {
                    assert_eq!(settled, [Settled::Now(JobState::Completed)]);
                    done.insert(number_of(lease.job));
                }
            }
        }
    };
    let killer = async {
        wait_until("jobs are enqueued", SOON, async || *count.lock() >= 150).await;
        redis.kill();
        is_killed.store(true, Ordering::Relaxed);
    };
    tokio::join!(producer, consumer, killer);
    (accepted, done)
}

async fn until_back(jobs: &RedisJobs, settings: &JobQueueSettings) -> JobStats {
    wait_until("Redis is used again", SOON, async || jobs.store().stats(settings).await.is_ok()).await;
    jobs.store().stats(settings).await.unwrap()
}

/// Runs all jobs, and checks the order in each group. Returns their numbers.
async fn drain(jobs: &RedisJobs, settings: &JobQueueSettings, clock: &ManualClock) -> HashSet<u64> {
    let (mut last, mut seen) = (HashMap::new(), HashSet::new());
    loop {
        let received = jobs.receive(settings, 64).await.unwrap();
        for job in &received.jobs {
            let earlier = last.insert(job.group.clone(), job.sequence);
            assert!(earlier.is_none_or(|earlier| earlier < job.sequence), "order in {:?}", job.group);
            seen.insert(number_of(job.lease.job));
        }
        let settlements: Vec<_> = received.jobs.iter().map(|job| acknowledged(job.lease)).collect();
        jobs.settle(settings, settlements).await.unwrap();
        match received.next_due {
            Some(due) => clock.advance(due.since(clock.now())),
            None if received.jobs.is_empty() => return seen,
            None => {}
        }
    }
}

/// F2, `appendfsync always`.
#[tokio::test]
async fn f02_append_only_file_keeps_accepted_jobs() {
    let redis = Redis::start_with(&["--appendonly", "yes", "--appendfsync", "always"]).await;
    let clock = Arc::new(ManualClock::at(START));
    let (jobs, settings) = (backend(&redis.url(), Duration::from_secs(2), Some(clock.clone())), fifo());
    let (accepted, done) = work_until_killed(&redis, &jobs, &settings).await;
    redis.restart().await;
    until_back(&jobs, &settings).await;
    for number in &accepted {
        let view = jobs.store().get(&settings, &[job(*number, None).id], Detail::Status).await.unwrap().remove(0);
        let state = view.unwrap_or_else(|| panic!("job {number} is lost")).state;
        assert!(!done.contains(number) || state == JobState::Completed, "job {number} is {state:?} again");
    }
    let drained = drain(&jobs, &settings, &clock).await;
    assert!(drained.is_disjoint(&done), "acknowledged jobs run once");
    let stats = jobs.store().stats(&settings).await.unwrap();
    assert_eq!((stats.waiting, stats.running, stats.dead), (0, 0, 0));
    assert!(stats.counters.enqueued >= accepted.len() as u64);
    assert_eq!(stats.counters.acknowledged, stats.counters.enqueued);
}

/// F2, `appendfsync everysec`: only what was accepted last may be lost.
#[tokio::test]
async fn f02_file_that_is_synchronized_each_second_keeps_earlier_jobs() {
    const EARLIER: std::ops::Range<u64> = 10_000..10_050;
    let redis = Redis::start_with(&["--appendonly", "yes", "--appendfsync", "everysec"]).await;
    let clock = Arc::new(ManualClock::at(START));
    let (jobs, settings) = (backend(&redis.url(), Duration::from_secs(2), Some(clock.clone())), fifo());
    let earlier = EARLIER.map(|number| job(number, Some(&group_of(number)))).collect();
    jobs.enqueue(&settings, earlier).await.unwrap();
    wait_until("they are in the file", SOON, async || {
        redis.info("persistence", "aof_buffer_length").await.as_deref() == Some("0")
    })
    .await;
    work_until_killed(&redis, &jobs, &settings).await;
    redis.restart().await;
    until_back(&jobs, &settings).await;
    for number in EARLIER {
        let view = jobs.store().get(&settings, &[job(number, None).id], Detail::Status).await.unwrap().remove(0);
        assert!(view.is_some(), "job {number} is lost");
    }
    drain(&jobs, &settings, &clock).await;
    let stats = jobs.store().stats(&settings).await.unwrap();
    assert_eq!((stats.waiting, stats.running, stats.dead), (0, 0, 0));
}

/// F3: the primary of a cluster is killed, and its replica takes over.
#[tokio::test]
async fn f03_jobs_that_a_replica_has_survive_a_failover() {
    let cluster = Cluster::with_replicas().await;
    let clock = Arc::new(ManualClock::at(START));
    let (timeout, settings) = (Duration::from_secs(2), fifo());
    let options = |min_replicas| {
        let clock: Arc<dyn Clock> = clock.clone();
        RedisOptions { timeout, clock: Some(clock), min_replicas, ..RedisOptions::default() }
    };
    let [careful, quick] = [1, 0].map(|replicas| RedisJobs::connect(&cluster.url(), options(replicas)).unwrap());
    until_back(&careful, &settings).await;
    let key = format!("vestibule:{{jobs:{}:{}}}:ready", settings.tenant, settings.id);
    let primary = cluster.primary_of(&key).await.unwrap();
    let replica = cluster.replica_of(primary).await.unwrap();
    let enqueue = async |jobs: &RedisJobs, number| {
        jobs.enqueue(&settings, vec![job(number, Some(&group_of(number)))]).await.map(|answers| answers[0])
    };
    let mut accepted = HashSet::new();
    for number in 0..200 {
        assert_eq!(enqueue(&careful, number).await.unwrap(), Enqueued::Accepted);
        accepted.insert(number);
    }
    replica.freeze();
    let unconfirmed = enqueue(&careful, 1_000).await;
    assert!(matches!(unconfirmed, Err(JobBackendError::Unavailable(_))), "{unconfirmed:?}");
    assert_eq!(enqueue(&quick, 1_001).await.unwrap(), Enqueued::Accepted, "nobody confirms it");
    primary.kill();
    replica.thaw();
    until_back(&careful, &settings).await;
    until_back(&quick, &settings).await;
    let seen = drain(&quick, &settings, &clock).await;
    let lost: Vec<_> = accepted.difference(&seen).collect();
    assert!(lost.is_empty(), "{lost:?}");
}

/// F3: an order whose lease the replica does not have could be leased to two workers as one.
#[tokio::test]
async fn f03_orders_are_leased_once_a_replica_has_the_lease() {
    let cluster = Cluster::with_replicas().await;
    let options = || RedisOptions { timeout: Duration::from_secs(2), min_replicas: 1, ..RedisOptions::default() };
    let jobs = RedisJobs::connect(&cluster.url(), options()).unwrap();
    let unconfirmed = RedisJobs::connect(&cluster.url(), RedisOptions { min_replicas: 0, ..options() }).unwrap();
    let registry = JobRegistry::connect(&cluster.url(), options()).unwrap();
    let orders = settings_of("orders.fifo", &json!({ "target": { "kind": "origin" } }));
    let brought = JobQueueSettings { tenant: "other".parse().unwrap(), ..orders.clone() };
    for backend in [&jobs, &unconfirmed, registry.jobs()] {
        until_back(backend, &orders).await;
    }
    let mut messages = Vec::new();
    for number in 1..=2 {
        let new = job(number, Some(&group_of(number)));
        messages.extend(registry.register(&brought, std::slice::from_ref(&new)).await.unwrap()[0].message);
        assert_eq!(jobs.enqueue(&orders, vec![new]).await.unwrap(), [Enqueued::Accepted]);
    }
    assert_eq!(jobs.receive(&orders, 1).await.unwrap().jobs.len(), 1);
    assert!(matches!(registry.start(&brought, &messages[..1]).await.unwrap()[..], [Start::Started(_)]));
    let mut replicas = Vec::new();
    for settings in [&orders, &brought] {
        let key = format!("vestibule:{{jobs:{}:{}}}:ready", settings.tenant, settings.id);
        let primary = cluster.primary_of(&key).await.unwrap();
        replicas.push(cluster.replica_of(primary).await.unwrap());
    }
    for replica in replicas {
        replica.freeze();
    }
    fails(jobs.receive(&orders, 1)).await;
    let started = registry.start(&brought, &messages[1..]).await;
    assert!(matches!(started, Err(JobBackendError::Unavailable(_))), "{started:?}");
    let second = job(2, None).id;
    for (backend, settings) in [(&jobs, &orders), (registry.jobs(), &brought)] {
        let view = backend.store().get(settings, &[second], Detail::Status).await.unwrap().remove(0).unwrap();
        assert_eq!((view.state, view.receive_count), (JobState::Running, 1), "until the lease ends, nobody has it");
    }
    // Other jobs may run twice.
    let others = JobQueueSettings { target: settings_of("a", &json!({})).target, ..orders.clone() };
    let third = job(3, Some("c"));
    assert_eq!(unconfirmed.enqueue(&others, vec![third]).await.unwrap(), [Enqueued::Accepted]);
    assert_eq!(jobs.receive(&others, 1).await.unwrap().jobs.len(), 1);
}

/// F2, without persistence.
#[tokio::test]
async fn f02_without_persistence_all_jobs_are_lost() {
    let redis = Redis::start().await;
    let (jobs, settings) = (backend(&redis.url(), Duration::from_secs(2), None), fifo());
    let (accepted, _) = work_until_killed(&redis, &jobs, &settings).await;
    assert!(accepted.len() >= 150);
    redis.restart().await;
    assert_eq!(until_back(&jobs, &settings).await, JobStats::default());
    let lease = Lease { job: job(0, None).id, receive_count: 1 };
    assert_eq!(jobs.settle(&settings, vec![acknowledged(lease)]).await.unwrap(), [Settled::NotLeased]);
    assert_eq!(jobs.enqueue(&settings, vec![job(0, Some("g0"))]).await.unwrap(), [Enqueued::Accepted]);
    assert_eq!(
        jobs.store().get(&settings, &[job(0, None).id], Detail::Status).await.unwrap().remove(0).unwrap().sequence,
        1
    );
}

#[tokio::test]
async fn consumers_never_share_a_lease() {
    const JOBS: u64 = 800;
    let url = Redis::shared().await.url();
    let settings = fifo();
    let producer = backend(&url, PATIENCE, None);
    let numbers: Vec<_> = (0..JOBS).collect();
    for numbers in numbers.chunks(50) {
        let new = numbers.iter().map(|number| job(*number, Some(&group_of(*number)))).collect();
        producer.enqueue(&settings, new).await.unwrap();
    }
    // What runs now by group, and what has run.
    let (running, leases) = (Mutex::new(HashMap::new()), Mutex::new(Vec::new()));
    let consumers = [0, 1].map(|_| backend(&url, PATIENCE, None));
    join_all(consumers.iter().chain(&consumers).map(async |jobs| {
        loop {
            let received = jobs.receive(&settings, 3).await.unwrap();
            if received.jobs.is_empty() && jobs.store().stats(&settings).await.unwrap().waiting == 0 {
                return;
            }
            for received in received.jobs {
                let group = received.group.unwrap();
                let other = running.lock().insert(group.clone(), received.lease);
                assert_eq!(other, None, "J5: one job of a group at a time");
                leases.lock().push((group.clone(), received.sequence));
                assert_eq!(jobs.extend(&settings, &[Extension::of(received.lease)]).await.unwrap(), [true]);
                running.lock().remove(&group);
                jobs.settle(&settings, vec![acknowledged(received.lease)]).await.unwrap();
            }
        }
    }))
    .await;
    let leases = leases.into_inner();
    assert_eq!(leases.len() as u64, JOBS, "each job runs once");
    let mut last = HashMap::new();
    for (group, sequence) in leases {
        assert!(last.insert(group, sequence).is_none_or(|earlier| earlier < sequence), "J5");
    }
}

/// An operation, which must fail in time.
async fn fails<T: std::fmt::Debug>(operation: impl Future<Output = BackendResult<T>>) {
    let outcome = timeout(SOON, operation).await.expect("it ends within its timeout");
    let is_error = matches!(outcome, Err(JobBackendError::Unavailable(_) | JobBackendError::NotSent(_)));
    assert!(is_error, "{outcome:?}");
}

#[tokio::test]
async fn frozen_redis_is_unavailable_and_loses_nothing() {
    let redis = Redis::start().await;
    let (jobs, settings) = (backend(&redis.url(), TIMEOUT, None), fifo());
    until_back(&jobs, &settings).await;
    jobs.enqueue(&settings, vec![job(0, Some("a"))]).await.unwrap();
    let lease = jobs.receive(&settings, 1).await.unwrap().jobs[0].lease;
    redis.freeze();
    fails(jobs.enqueue(&settings, vec![job(1, Some("a"))])).await;
    fails(jobs.receive(&settings, 1)).await;
    fails(jobs.extend(&settings, &[Extension::of(lease)])).await;
    fails(jobs.settle(&settings, vec![acknowledged(lease)])).await;
    fails(jobs.store().get(&settings, &[lease.job], Detail::Status)).await;
    fails(jobs.store().stats(&settings)).await;
    redis.thaw();
    until_back(&jobs, &settings).await;
    // Both may have been done; what is repeated is done once.
    jobs.enqueue(&settings, vec![job(1, Some("a"))]).await.unwrap();
    jobs.settle(&settings, vec![acknowledged(lease)]).await.unwrap();
    let stats = jobs.store().stats(&settings).await.unwrap();
    assert_eq!((stats.counters.enqueued, stats.counters.acknowledged), (2, 1));
    assert_eq!((stats.waiting, stats.running), (1, 0));
}

#[tokio::test]
async fn unreachable_redis_is_certainly_not_asked() {
    let redis = Redis::start().await;
    let (jobs, settings) = (backend(&redis.url(), TIMEOUT, None), fifo());
    until_back(&jobs, &settings).await;
    redis.freeze();
    // The server may still execute what reached it.
    let sent = jobs.enqueue(&settings, vec![job(1, Some("a"))]).await;
    assert!(matches!(sent, Err(JobBackendError::Unavailable(_))), "{sent:?}");
    // More than the circuit breaker permits: what was sent before may still be executed, so nothing is certain of an equal job.
    let many = (0..40).map(|number| jobs.enqueue(&settings, vec![job(number, Some("b"))]));
    for outcome in join_all(many).await {
        assert!(matches!(outcome, Err(JobBackendError::Unavailable(_))), "{outcome:?}");
    }
    redis.thaw();
    until_back(&jobs, &settings).await;
    redis.kill();
    // The port stays closed: no server of another test gets it.
    let port = TcpSocket::new_v4().unwrap();
    port.set_reuseaddr(true).unwrap();
    port.bind(SocketAddr::from(([127, 0, 0, 1], redis.port()))).unwrap();
    let enqueue = async || jobs.enqueue(&settings, vec![job(2, Some("a"))]).await;
    wait_until("the connection is known to be broken", SOON, async || {
        matches!(enqueue().await, Err(JobBackendError::NotSent(_)))
    })
    .await;
    for _ in 0..10 {
        let outcome = enqueue().await;
        assert!(matches!(outcome, Err(JobBackendError::NotSent(_))), "{outcome:?}");
    }
}

/// F13 at the backend: the reply of an enqueue is lost, and the call is sent again over another connection.
#[tokio::test]
async fn f13_repeated_call_answers_as_the_first_one() {
    let redis = Redis::start().await;
    let proxy = TcpProxy::to(redis.port()).await;
    let jobs = Arc::new(backend(&format!("redis://127.0.0.1:{}", proxy.port()), PATIENCE, None));
    let settings = fifo();
    until_back(&jobs, &settings).await;
    redis.freeze();
    let enqueued = tokio::spawn({
        let (jobs, settings) = (jobs.clone(), settings.clone());
        let again = job(1, Some("a"));
        async move { jobs.enqueue(&settings, vec![again.clone(), again]).await }
    });
    // The call has reached the server, which executes it once it goes on.
    sleep(Duration::from_millis(200)).await;
    proxy.silence();
    redis.thaw();
    let first = job(1, None).id;
    assert_eq!(enqueued.await.unwrap().unwrap(), [Enqueued::Accepted, Enqueued::Duplicate(first)]);
    let stats = jobs.store().stats(&settings).await.unwrap();
    assert_eq!((stats.waiting, stats.counters.enqueued), (1, 1));
    let other_call = jobs.enqueue(&settings, vec![job(1, Some("a"))]).await.unwrap();
    assert_eq!(other_call, [Enqueued::Duplicate(first)]);
}
