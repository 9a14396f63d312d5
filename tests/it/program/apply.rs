//! `vestibule apply`.

use serde_json::{Value, json};
use vestibule_core::line::Visit;
use vestibule_core::settings::Settings;
use vestibule_core::store::{OperationsStore as _, SettingsStore as _, VisitStore as _};
use vestibule_core::{PutMode, PutOutcome, QueueId, SessionId};
use vestibule_records::{DocumentKind, LogName, RecordStore as _};
use vestibule_store_redis::{RedisOptions, RedisStore};
use vestibule_tests::{Program, Redis};

use super::{SettingsFile, now, run, sale, settings};

/// A Redis of the test's own, since applying with `--remove` looks at every queue there is.
struct Shared {
    redis: Redis,
    store: RedisStore,
    file: SettingsFile,
}

impl Shared {
    async fn with(lines: &str) -> Self {
        let redis = Redis::start().await;
        let store = RedisStore::connect(&redis.url(), RedisOptions::default()).unwrap();
        Self { redis, store, file: SettingsFile::of(&settings("https://www.example.com", lines)) }
    }

    async fn apply(&self, more: &[&str]) -> (i32, String) {
        let (shown, url) = (self.file.shown(), self.redis.url());
        let mut arguments = vec!["apply", &shown, "--to", &url];
        arguments.extend(more);
        run(&arguments).await
    }

    fn change(&self, lines: &str) {
        self.file.write(&settings("https://www.example.com", lines));
    }

    async fn tour(&self) -> Settings {
        self.store.settings(&tour()).await.unwrap().unwrap()
    }
}

fn tour() -> QueueId {
    "tour".parse().unwrap()
}

#[tokio::test]
async fn applying_twice_changes_nothing() {
    let shared = Shared::with("quota = 500").await;
    let (status, said) = shared.apply(&["--yes"]).await;
    assert_eq!(status, 0, "{said}");
    for words in ["+ tenant acme", "+ queue tour", "queue tour: written, revision 1"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!(shared.tour().await.line.quota, 500);
    let (status, said) = shared.apply(&["--yes"]).await;
    assert_eq!((status, said.contains("No changes.")), (0, true), "{said}");
    assert_eq!(shared.tour().await.line.revision, 1);
}

#[tokio::test]
async fn settings_that_cannot_be_read_are_replaced() {
    let job_queue = "quota = 0\n\n[[job_queues]]\nid = \"mails\"\ntenant = \"acme\"\ntarget = { kind = \"pull\" }\n";
    let shared = Shared::with(job_queue).await;
    assert_eq!(shared.apply(&["--yes"]).await.0, 0);
    let joining = Visit::joining(SessionId::random());
    shared.store.visit(&tour(), joining).await.unwrap();
    let key = "vestibule:{tour}:settings";
    let damages = [
        &["HSET", key, "rules", "nonsense"][..],
        &["HSET", key, "document", "{"],
        &["HSET", key, "schedule", "nonsense"],
        &["SET", key, "nonsense"],
    ];
    for (damage, revision) in damages.into_iter().zip(2..) {
        shared.redis.command(damage).await;
        assert!(shared.store.settings(&tour()).await.is_err(), "{damage:?}");
        let (status, said) = shared.apply(&["--dry-run"]).await;
        assert_eq!(status, 0, "{said}");
        assert!(shared.store.settings(&tour()).await.is_err(), "{damage:?}");
        let (status, said) = shared.apply(&["--yes"]).await;
        let outcome = format!("queue tour: written, revision {revision}\n");
        for words in ["  ~ queue tour\n      replaces settings that cannot be read\n", &outcome] {
            assert!(status == 0 && said.contains(words), "{damage:?}: {said}");
        }
        let line = shared.store.stats(&tour()).await.unwrap();
        assert!(line.recovering && line.rules.quota == 0, "tickets restore the line");
        let mut held = shared.tour().await;
        held.line.epoch += 1;
        let outcome = shared.store.put_settings(&held, PutMode::Restore).await.unwrap();
        assert_eq!(outcome, PutOutcome::Conflict(revision), "a running gate does not bring back what it holds");
    }
    shared.store.put_document(DocumentKind::JobQueues, "mails", "nonsense", 1).await.unwrap();
    let (status, said) = shared.apply(&["--yes"]).await;
    for words in ["  ~ job queue mails\n      replaces settings that cannot be read\n", "job queue mails: written"] {
        assert!(status == 0 && said.contains(words), "{said}");
    }
    let (status, said) = shared.apply(&["--yes"]).await;
    assert_eq!((status, said.contains("No changes.")), (0, true), "{said}");
}

#[tokio::test]
async fn cause_of_a_store_that_is_not_connected_is_said() {
    let shared = Shared::with("quota = 1").await;
    shared.redis.command(&["CONFIG", "SET", "requirepass", "secret"]).await;
    let (status, said) = shared.apply(&["--dry-run"]).await;
    assert!(status == 1 && said.contains("store unavailable: not connected: NOAUTH"), "{said}");
}

#[tokio::test]
async fn locked_event_changes_are_refused() {
    let scheduled =
        |lobby: u64, quota: u64| format!("quota = {quota}\nmode = \"scheduled\"\n{}", sale(now() - lobby, now() + 120));
    let shared = Shared::with(&scheduled(30, 5)).await;
    assert_eq!(shared.apply(&["--yes"]).await.0, 0);
    let before = shared.tour().await;
    shared.change(&scheduled(60, 9));
    for more in ["--yes", "--dry-run"] {
        let (status, said) = shared.apply(&[more]).await;
        let reason = "nothing was written: tour.events[0].lobby_at: cannot be changed after lobby_at";
        assert!(status == 1 && said.contains(reason), "{more}: {said}");
    }
    assert_eq!(shared.tour().await.to_stored(), before.to_stored());
    shared.change("quota = 9");
    let (status, said) = shared.apply(&["--yes"]).await;
    assert_eq!((status, shared.tour().await.line.events.len()), (0, 0), "an event can be removed: {said}");
}

#[tokio::test]
async fn lobby_tickets_that_become_invalid_are_shown() {
    let drawn = sale(now() - 100, now() + 3_000).replace("\"arrival\"", "\"draw\"");
    let shared = Shared::with(&format!("quota = 5\nmode = \"scheduled\"\n{drawn}")).await;
    let keys = ["--sale-keys", &format!("s1:{}", "A".repeat(43))];
    let (status, said) = shared.apply(&[&["--yes"], &keys[..]].concat()).await;
    assert!(status == 0 && !said.contains(" ! "), "{said}");
    for _ in 0..2 {
        let visit = vestibule_core::line::Visit::joining(SessionId::random());
        shared.store.visit(&tour(), visit).await.unwrap();
    }
    shared.change("quota = 5\nmode = \"scheduled\"");
    let (status, said) = shared.apply(&[&["--dry-run"], &keys[..]].concat()).await;
    assert!(status == 0 && said.contains("! queue tour: 2 visitors are in the lobby of the event \"sale\"."), "{said}");
}

#[tokio::test]
async fn applied_changes_are_audited() {
    let shared = Shared::with("quota = 500").await;
    shared.apply(&["--yes"]).await;
    shared.change("quota = 700");
    shared.apply(&["--yes"]).await;
    let events = shared.store.entries(&LogName::Audit, None, 10).await.unwrap();
    let events: Vec<Value> = events.iter().rev().map(|event| serde_json::from_str(&event.text).unwrap()).collect();
    let listed: Vec<_> =
        events.iter().map(|event| (event["action"].as_str().unwrap(), event["via"].as_str().unwrap())).collect();
    let by_command = |action| (action, "command_line");
    assert_eq!(listed, ["tenant.create", "queue.create", "queue.update"].map(by_command));
    assert_eq!(events[2]["changes"], json!([{ "field": "quota", "from": 500, "to": 700 }]));
    assert_eq!((&events[2]["queue"], &events[2]["revision"]), (&json!("tour"), &json!(2)));
}

#[tokio::test]
async fn dry_run_shows_changes_and_apply_keeps_the_line() {
    let shared = Shared::with("quota = 500").await;
    shared.apply(&["--yes"]).await;
    let visit = vestibule_core::line::Visit::joining(SessionId::random());
    shared.store.visit(&tour(), visit).await.unwrap();
    shared.change("quota = 700\nmode = \"paused\"");

    let (status, said) = shared.apply(&["--dry-run"]).await;
    assert_eq!(status, 0, "{said}");
    for words in ["~ queue tour", "quota: 500 -> 700", "mode: \"open\" -> \"paused\"", "nothing was written"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!(shared.tour().await.line.quota, 500);

    let (status, said) = shared.apply(&["--yes"]).await;
    assert_eq!((status, shared.tour().await.line.quota), (0, 700), "{said}");
    assert_eq!(shared.store.stats(&tour()).await.unwrap().active, 1, "active visitors stay active");
}

#[tokio::test]
async fn queues_not_in_the_file_stay_unless_remove_is_given() {
    let shared = Shared::with("quota = 1").await;
    let mut other = vestibule_core::settings::parse_settings_document(&serde_json::json!({
        "tenants": [{ "id": "acme", "name": "Acme" }],
        "queues": [{ "id": "old", "tenant": "acme", "hosts": ["old.example.com"], "quota": 1, "handover": { "kind": "check" } }],
    }))
    .unwrap();
    shared.store.put_settings(&other.queues.remove(0), PutMode::Always).await.unwrap();
    let old: QueueId = "old".parse().unwrap();

    let (_, said) = shared.apply(&["--yes"]).await;
    assert!(said.contains("queue old is not in the file and stays"), "{said}");
    assert!(shared.store.settings(&old).await.unwrap().is_some());
    let (status, said) = shared.apply(&["--yes", "--remove"]).await;
    assert!(said.contains("queue old: removed"), "{said}");
    assert_eq!(status, 0);
    assert!(shared.store.settings(&old).await.unwrap().is_none());
}

#[tokio::test]
async fn apply_removes_a_message_that_the_file_lacks() {
    let shared = Shared::with("quota = 1\nmessage = { default = \"Sold out.\" }").await;
    shared.apply(&["--yes"]).await;
    assert!(shared.tour().await.message.is_some());
    shared.change("quota = 1");
    let (status, said) = shared.apply(&["--yes"]).await;
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("message: {\"default\":\"Sold out.\"} -> null"), "{said}");
    assert!(shared.tour().await.message.is_none());
    assert!(shared.apply(&["--yes"]).await.1.contains("No changes."));
}

#[tokio::test]
async fn apply_keeps_the_epoch_of_a_reset() {
    let shared = Shared::with("quota = 1").await;
    shared.apply(&["--yes"]).await;
    let epoch = shared.store.reset(&tour()).await.unwrap();
    shared.change("quota = 2");
    shared.apply(&["--yes"]).await;
    assert_eq!((shared.tour().await.line.quota, shared.tour().await.line.epoch), (2, epoch));
}

#[tokio::test]
async fn apply_needs_a_terminal_and_a_valid_store() {
    let shared = Shared::with("quota = 1").await;
    let (status, said) = shared.apply(&[]).await;
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("--dry-run") && said.contains("--yes"), "{said}");
    assert!(shared.store.settings(&tour()).await.unwrap().is_none());

    let shown = shared.file.shown();
    for (to, words) in [("memory", "must be a Redis URL"), ("ftp://x", "redis://")] {
        let mut program = Program::vestibule(&["apply", &shown, "--to", to, "--yes"]).start();
        assert_eq!(program.end().await.code(), Some(1), "{to}");
        assert!(program.log().contains(words), "{to}: {}", program.log());
    }
}

#[tokio::test]
async fn invalid_file_is_rejected_by_line() {
    let shared = Shared::with("quota = \"many\"").await;
    let (status, said) = shared.apply(&["--yes"]).await;
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("queues[0].quota: must be"), "{said}");
    assert!(shared.store.settings(&tour()).await.unwrap().is_none());
}

#[tokio::test]
async fn apply_finishes_after_its_output_is_closed() {
    let shared = Shared::with("quota = 1").await;
    let text = std::fs::read_to_string(shared.file.path()).unwrap();
    let (tenant, tour) = text.split_once("\n\n").unwrap();
    let queue =
        |number: u32| tour.replace("\"tour\"", &format!("\"q{number}\"")).replace("tickets.", &format!("q{number}."));
    let queues: Vec<String> = (0..50).map(queue).collect();
    shared.file.write(&format!("{tenant}\n\n{}", queues.join("\n")));
    let (shown, url) = (shared.file.shown(), shared.redis.url());
    let mut program = Program::vestibule(&["apply", &shown, "--to", &url, "--yes"]).unread().start();
    program.end().await;
    assert_eq!(program.log(), "");
    assert_eq!(shared.store.queues().await.unwrap().len(), 50);
}

#[tokio::test]
async fn file_without_queues_removes_none() {
    let shared = Shared::with("quota = 1").await;
    shared.apply(&["--yes"]).await;
    shared.file.write("");
    for more in [&["--remove", "--yes"][..], &["--remove", "--dry-run"]] {
        let (status, said) = shared.apply(more).await;
        assert_eq!((status, said.contains("has no queues: --remove would remove all")), (1, true), "{said}");
    }
    assert_eq!(shared.tour().await.line.quota, 1);
}

#[tokio::test]
async fn file_with_job_queues_only_is_applied_with_remove() {
    let shared = Shared::with("quota = 1").await;
    let job_queue = "[[tenants]]\nid = \"acme\"\nname = \"Acme\"\n\n[[job_queues]]\nid = \"mails\"\ntenant = \"acme\"\ntarget = { kind = \"pull\" }\n";
    shared.file.write(job_queue);
    let (status, said) = shared.apply(&["--remove", "--yes"]).await;
    assert_eq!((status, said.contains("job queue mails: written")), (0, true), "{said}");
}

#[tokio::test]
async fn store_that_does_not_respond_is_named_without_its_password() {
    let file = SettingsFile::of(&settings("https://www.example.com", "quota = 1"));
    let (status, said) = run(&["apply", &file.shown(), "--to", "redis://:secret@127.0.0.1:1", "--dry-run"]).await;
    assert_eq!((status, said.contains("cannot read the store at redis://127.0.0.1:1")), (1, true), "{said}");
    assert!(!said.contains("secret"), "{said}");
}
