use std::sync::Arc;

use serde_json::{Value, json};
use vestibule_core::fields::Object as _;
use vestibule_core::jobs::{JobQueueSettings, Outcome, Settlement};
use vestibule_core::line::{Stats, Visit};
use vestibule_core::settings::{JobQueueChange, JobQueuePlan, Mode, Protection, Settings, Tenant};
use vestibule_core::store::{OperationsStore as _, PutMode, SettingsStore as _, VisitStore as _};
use vestibule_core::{ManualClock, Micros, QueueId, SessionId};
use vestibule_runtime::{Directory, JobQueues};
use vestibule_store_memory::{MemoryJobs, MemoryRecords, MemoryStore};

use super::comparison::SeenQueue;
use super::{Queues, Watcher};

const START: Micros = Micros(1_804_237_200_000_000);
const SECOND: u64 = 1_000_000;
const ALL: [&str; 3] = ["queue.state_changed", "queue.admitted", "queue.attention"];

/// Queues "tour" of acme and "gala" of globex, in a memory store whose clock the test moves.
struct Fixture {
    clock: Arc<ManualClock>,
    store: Arc<MemoryStore>,
    job_queues: Arc<JobQueues>,
}

impl Fixture {
    async fn new() -> Self {
        let clock = Arc::new(ManualClock::at(START));
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let records = Arc::new(MemoryRecords::new(clock.clone()));
        let job_queues = JobQueues::new(records, store.clone(), Arc::new(MemoryJobs::new(clock.clone())));
        let fixture = Self { clock, store, job_queues: Arc::new(job_queues) };
        for (id, tenant) in [("tour", "acme"), ("gala", "globex")] {
            let tenant = Tenant::from_value(&json!({ "id": tenant, "name": tenant })).unwrap();
            fixture.store.put_tenant(&tenant).await.unwrap();
            fixture.put(&queue(id, tenant.id.as_str(), 5)).await;
        }
        fixture
    }

    async fn put(&self, queue: &Settings) {
        self.store.put_settings(queue, PutMode::Always).await.unwrap();
    }

    async fn webhook(&self, id: &str, tenant: &str, event_types: &[&str], queues: &[&str]) -> JobQueueSettings {
        let settings = json!({
            "id": id, "tenant": tenant, "target": { "kind": "http", "url": "https://hooks.example.com/" },
            "webhook": { "event_types": event_types, "queues": queues },
        });
        let settings = JobQueueSettings::from_json(&settings).unwrap();
        let change =
            JobQueueChange { settings: settings.clone(), retired_secret: None, replaces: 0, changes: Vec::new() };
        self.job_queues.execute(&JobQueuePlan { changed: vec![change], ..JobQueuePlan::default() }).await.unwrap();
        settings
    }

    fn process(&self) -> Watcher {
        let directory = Arc::new(Directory::new(self.store.clone(), Vec::new(), Vec::new()));
        Watcher::new(self.job_queues.clone(), Queues { store: self.store.clone(), directory })
    }

    async fn join(&self, queue: &str, visitors: usize) {
        for _ in 0..visitors {
            self.store.visit(&queue.parse().unwrap(), Visit::joining(SessionId::random())).await.unwrap();
        }
    }

    async fn stats(&self, queue: &str) -> Stats {
        self.store.stats(&queue.parse().unwrap()).await.unwrap()
    }

    fn advance(&self, seconds: u64) {
        self.clock.advance(seconds * SECOND);
    }

    /// The events that wait in a job queue, without their timestamps, in their order.
    async fn events(&self, job_queue: &JobQueueSettings) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let received = self.job_queues.backend().receive(job_queue, 1).await.unwrap().jobs;
            let Some(job) = received.into_iter().next() else { return events };
            let mut event: Value = serde_json::from_slice(&job.payload.bytes).unwrap();
            assert!(event["timestamp"].take().is_string());
            events.push(event);
            let settlement = Settlement { lease: job.lease, outcome: Outcome::Acknowledged(None) };
            self.job_queues.backend().settle(job_queue, vec![settlement]).await.unwrap();
        }
    }
}

fn queue(id: &str, tenant: &str, quota: u64) -> Settings {
    let settings = json!({
        "id": id, "tenant": tenant, "hosts": [format!("{id}.example.com")], "quota": quota,
        "handover": { "kind": "redirect", "origin": "https://www.example.com" },
    });
    let mut settings = Settings::from_value(&settings).unwrap();
    settings.line.protection = Protection::without_pre_tickets();
    settings
}

fn event(event_type: &str, more: &Value) -> Value {
    let mut data = json!({ "tenant": "acme", "queue": "tour" });
    data.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({ "type": event_type, "timestamp": null, "data": data })
}

#[tokio::test]
async fn changes_of_statistics_are_events() {
    let fixture = Fixture::new().await;
    let hooks = fixture.webhook("hooks.fifo", "acme", &ALL, &["*"]).await;
    let process = fixture.process();
    fixture.put(&queue("tour", "acme", 1)).await;
    process.compare().await.unwrap();
    assert_eq!(fixture.events(&hooks).await, Vec::<Value>::new(), "nothing is known of before");

    fixture.join("tour", 3).await;
    fixture.advance(10);
    process.compare().await.unwrap();
    let numbers = json!({ "waiting": 2, "active": 1, "quota": 1 });
    let with = |more: Value| {
        let mut all = numbers.clone();
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let begins =
        event("queue.state_changed", &with(json!({ "mode": "open", "previous_mode": "open", "previous_waiting": 0 })));
    let admitted = event("queue.admitted", &with(json!({ "admitted": 1, "since": "2027-03-05T09:00:00Z" })));
    assert_eq!(fixture.events(&hooks).await, [begins, admitted]);

    fixture.advance(10);
    process.compare().await.unwrap();
    assert_eq!(fixture.events(&hooks).await, Vec::<Value>::new(), "nothing has changed");

    let mut paused = queue("tour", "acme", 1);
    paused.line.mode = Mode::Paused;
    fixture.put(&paused).await;
    fixture.advance(10);
    process.compare().await.unwrap();
    let changed = with(json!({ "mode": "paused", "previous_mode": "open", "previous_waiting": 2 }));
    assert_eq!(fixture.events(&hooks).await[0], event("queue.state_changed", &changed));
}

#[tokio::test]
async fn webhooks_see_their_queues_of_their_tenant() {
    let fixture = Fixture::new().await;
    let types = ["queue.admitted"];
    let acme = fixture.webhook("acme.fifo", "acme", &types, &["*"]).await;
    let named = fixture.webhook("named.fifo", "acme", &types, &["gala", "tour"]).await;
    let other = fixture.webhook("other.fifo", "acme", &types, &["other"]).await;
    let resets = fixture.webhook("resets.fifo", "acme", &["queue.reset"], &["*"]).await;
    let globex = fixture.webhook("globex.fifo", "globex", &types, &["*"]).await;
    let process = fixture.process();
    process.compare().await.unwrap();
    fixture.join("tour", 1).await;
    fixture.join("gala", 2).await;
    fixture.advance(10);
    process.compare().await.unwrap();
    for (webhook, expected) in
        [(acme, vec!["tour"]), (named, vec!["tour"]), (other, vec![]), (resets, vec![]), (globex, vec!["gala"])]
    {
        let events = fixture.events(&webhook).await;
        let queues: Vec<_> = events.iter().map(|it| it["data"]["queue"].as_str().unwrap()).collect();
        assert_eq!(queues, expected, "{}", webhook.id);
    }
}

/// W2.
#[tokio::test]
async fn any_number_of_processes_create_each_event_once() {
    let fixture = Fixture::new().await;
    let hooks = fixture.webhook("hooks.fifo", "acme", &ALL, &["tour"]).await;
    let mut processes = [fixture.process(), fixture.process(), fixture.process()];
    fixture.put(&queue("tour", "acme", 1_000)).await;
    processes[0].compare().await.unwrap();
    let joined = fixture.stats("tour").await.counters.admitted;
    for second in 1..=600_u64 {
        fixture.advance(1);
        if second % 7 == 0 {
            fixture.join("tour", (second % 4) as usize).await;
        }
        // Sometimes all at the same instant, and each at times of its own; one is restarted now and then.
        let [one, two, three] = &processes;
        match second % 10 {
            0 => {
                let (one, two, three) = tokio::join!(one.compare(), two.compare(), three.compare());
                one.and(two).and(three).unwrap();
            }
            3 => one.compare().await.unwrap(),
            4 => two.compare().await.unwrap(),
            8 => three.compare().await.unwrap(),
            _ => {}
        }
        if second % 130 == 0 {
            processes[1] = fixture.process();
        }
    }
    fixture.advance(10);
    processes[2].compare().await.unwrap();
    let events = fixture.events(&hooks).await;
    let reported: u64 = events.iter().filter_map(|it| it["data"]["admitted"].as_u64()).sum();
    let admitted = fixture.stats("tour").await.counters.admitted;
    assert!(admitted > 50, "{admitted}");
    assert_eq!(reported, admitted - joined);
}

#[tokio::test]
async fn same_comparison_in_two_processes_is_one_event() {
    let fixture = Fixture::new().await;
    let hooks = fixture.webhook("hooks", "acme", &ALL, &["*"]).await;
    let tour = queue("tour", "acme", 5);
    let before = SeenQueue::of(&fixture.stats("tour").await);
    fixture.join("tour", 1).await;
    for _ in 0..2 {
        // The second one is a little later.
        fixture.advance(1);
        let (_, events) = before.next(&tour, &fixture.stats("tour").await);
        assert_eq!(events.len(), 1);
        fixture.job_queues.publish(&events[0]).await;
    }
    assert_eq!(fixture.events(&hooks).await.len(), 1);
}

/// The reasons for which a queue needs an operator, over 13 comparisons every ten seconds with these statistics.
fn reasons(stats: &Stats, waiting_again: bool) -> Vec<String> {
    let tour = queue("tour", "acme", 5);
    let mut seen = SeenQueue::of(stats);
    let mut reasons = Vec::new();
    for step in 1..=26 {
        let mut stats = stats.clone();
        stats.now = Micros(stats.now.0 + step * 10 * SECOND);
        if waiting_again && step == 7 {
            stats.waiting = 0;
        }
        let (next, events) = seen.next(&tour, &stats);
        let data = |event: &vestibule_core::jobs::WebhookEvent| event.details.get("reason").cloned();
        let found = events.iter().filter_map(data).map(|it| it.as_str().unwrap().to_owned());
        reasons.extend(found.map(|reason| format!("{reason} after {} s", step * 10)));
        seen = next;
    }
    reasons
}

#[tokio::test]
async fn attention_is_asked_for_once() {
    let fixture = Fixture::new().await;
    let free = Stats { waiting: 3, active: 1, ..fixture.stats("tour").await };
    assert_eq!(reasons(&free, false), ["not_admitting after 120 s"]);
    assert_eq!(reasons(&free, true), ["not_admitting after 200 s"], "the line was empty meanwhile");
    for (why, stats) in [
        ("the quota is full", Stats { active: 5, ..free.clone() }),
        ("slots are reserved", Stats { reserved: 4, ..free.clone() }),
        ("nobody waits", Stats { waiting: 0, ..free.clone() }),
        ("it is paused", Stats { mode: Mode::Paused, ..free.clone() }),
    ] {
        assert_eq!(reasons(&stats, false), Vec::<String>::new(), "{why}");
    }
    let tour: QueueId = "tour".parse().unwrap();
    let settings = queue(tour.as_str(), "acme", 5);
    let begins = Stats { recovering: true, ..free.clone() };
    let (seen, events) = SeenQueue::of(&free).next(&settings, &begins);
    assert_eq!(events[0].details["reason"], "recovering");
    assert!(seen.next(&settings, &begins).1.is_empty(), "it was reported before");
}

#[tokio::test]
async fn admissions_of_a_new_state_count_from_zero() {
    let fixture = Fixture::new().await;
    fixture.join("tour", 5).await;
    let before = SeenQueue::of(&fixture.stats("tour").await);
    let mut lost = fixture.stats("tour").await;
    lost.state_since = Micros(lost.now.0 + 1);
    lost.counters.admitted = 2;
    let (_, events) = before.next(&queue("tour", "acme", 5), &lost);
    assert_eq!(events[0].details["admitted"], 2);
}
