//! Settings files that leave queues out, for a moment or for good.

use std::time::Duration;

use http::StatusCode;
use tokio::net::TcpListener;
use tokio::time::sleep;
use vestibule_core::PutMode;
use vestibule_core::settings::{Settings, parse_settings_document};
use vestibule_records::{DocumentKind, RecordStore as _};
use vestibule_store_redis::{RedisOptions, RedisStore};
use vestibule_tests::{Program, Redis, Visitor, free_port, wait_until};

use super::{HOST, RunningGate, SettingsFile, now, sale, session, settings};
use crate::gate_fixture::TIMEOUT;
use crate::jobs::held_orders::{form, location};
use vestibule_core::store::SettingsStore as _;

impl RunningGate {
    /// Reads this file, and waits until the log says this.
    async fn reload(&mut self, text: &str, says: &str) {
        self.file.write(text);
        self.program.signal("HUP");
        self.program.until_logged(says).await;
    }

    fn settings(&self, lines: &str) -> String {
        settings(&self.origin.url(), lines)
    }

    async fn state(&self, visitor: &mut Visitor) -> String {
        visitor.status("tour").await.json()["state"].as_str().unwrap_or("none").to_owned()
    }
}

/// The file with another queue in place of the one.
fn other(text: &str) -> String {
    text.replace("\"tour\"", "\"other\"").replace(HOST, "other.example.com")
}

#[tokio::test]
async fn empty_settings_file_removes_nothing() {
    let mut served = RunningGate::with("quota = 0").await;
    let mut visitor = served.visitor();
    visitor.navigate("/").await;
    let before = visitor.status("tour").await.json();
    served.reload("", "has no queues; the current settings stay in effect").await;
    assert_eq!(session(&visitor.status("tour").await.json()), session(&before));
    let whole = served.settings("quota = 1");
    served.reload(&whole, "settings reloaded").await;
    wait_until("the visitor is admitted", TIMEOUT, async || served.state(&mut visitor).await == "admitted").await;
}

#[tokio::test]
async fn removed_queue_stays_while_it_has_sessions() {
    let mut served = RunningGate::with("quota = 1").await;
    let (mut active, mut waiting) = (served.visitor(), served.visitor());
    active.navigate("/").await;
    waiting.navigate("/").await;
    let before = waiting.status("tour").await.json();
    let without = other(&served.settings("quota = 1"));
    served.reload(&without, "it stays, as it has sessions").await;
    assert_eq!(session(&waiting.status("tour").await.json()), session(&before));
    active.leave("tour").await;
    wait_until("the line moves on", TIMEOUT, async || served.state(&mut waiting).await == "admitted").await;
    waiting.leave("tour").await;
    // The slot stays taken for a moment, as a visitor may still be admitted.
    wait_until("it is gone", TIMEOUT, async || {
        served.program.signal("HUP");
        tokio::time::sleep(Duration::from_millis(200)).await;
        served.program.log().contains("removed, as the settings no longer name it")
    })
    .await;
    assert_eq!(waiting.status("tour").await.status, StatusCode::NOT_FOUND);
}

/// A new queue on its host would not be used.
#[tokio::test]
async fn queue_missing_in_the_file_after_a_restart_is_reported() {
    for store in ["memory", "redis"] {
        let redis = Redis::start().await;
        let url = if store == "redis" { redis.url() } else { store.to_owned() };
        let mut served = RunningGate::launched("quota = 1", &["--store", &url], |launch| launch).await;
        served.file.write(&other(&served.settings("quota = 1")));
        served.program.terminate().await;
        served.program.restart();
        served.program.until_healthy(&served.address).await;
        let reported = format!(
            "the settings no longer name this queue; it stays, with its hosts, until SIGHUP or the backoffice removes it queue=tour hosts={HOST}"
        );
        assert_eq!(served.program.log().matches(&reported).count(), 1, "{store}: {}", served.program.log());
        served.program.signal("HUP");
        wait_until("it is gone", TIMEOUT, async || {
            served.program.log().contains("removed, as the settings no longer name it")
        })
        .await;
    }
}

/// Its queues come from other gates, or from the backoffice.
#[tokio::test]
async fn gate_without_a_settings_file_reports_no_unlisted_queues() {
    let redis = Redis::start().await;
    let first = RunningGate::launched("quota = 1", &["--store", &redis.url()], |launch| launch).await;
    let address = format!("127.0.0.1:{}", free_port());
    let arguments = ["serve", "--listen", &address, "--state", "state", "--store", &redis.url()];
    let mut second = Program::vestibule(&arguments).start();
    second.until_healthy(&address).await;
    second.signal("HUP");
    second.until_logged("SIGHUP has no effect: there is no settings file").await;
    assert!(!second.log().contains("no longer name"), "{}", second.log());
    assert_eq!(Visitor::new(&address, "unknown.example.com").fetch("/").await.status, StatusCode::NOT_FOUND);

    let mut third = Program::vestibule(&[&arguments[..], &["--origin", &first.origin.url()]].concat()).start();
    drop(second);
    third.until_healthy(&address).await;
    let warning = "--origin adds a queue for all hosts (*)";
    assert_eq!(third.log().matches(warning).count(), 1, "{}", third.log());
    third.terminate().await;
    third.restart();
    third.until_healthy(&address).await;
    assert_eq!(third.log().matches(warning).count(), 1, "it is known by then: {}", third.log());
}

/// Only what another source wrote is replaced with a warning.
#[tokio::test]
async fn memory_store_remembers_the_applied_file() {
    let mut served = RunningGate::with("quota = 0").await;
    let mut visitor = served.visitor();
    visitor.navigate("/").await;
    served.file.write(&served.settings("quota = 1"));
    served.program.terminate().await;
    served.program.restart();
    served.program.until_healthy(&served.address).await;
    wait_until("the visitor is admitted", TIMEOUT, async || served.state(&mut visitor).await == "admitted").await;
    assert!(!served.program.log().contains("the settings file replaces"), "{}", served.program.log());
}

/// A queue and a job queue that cannot be read, and two that can.
fn with_stock(served: &RunningGate, quota: u32, concurrency: u32) -> String {
    let shop = other(&served.settings(&format!("quota = {quota}")));
    let shop = shop.split_once("\n\n").map_or("", |(_, queue)| queue);
    let job_queue = |id: &str| {
        format!(
            "[[job_queues]]\nid = \"{id}\"\ntenant = \"acme\"\nconcurrency = {concurrency}\ntarget = {{ kind = \"pull\" }}\n"
        )
    };
    format!("{}\n{shop}\n{}{}", served.settings("quota = 1"), job_queue("stock"), job_queue("mails"))
}

#[tokio::test]
async fn unreadable_stored_settings_do_not_stop_the_others() {
    let redis = Redis::start().await;
    let store = RedisStore::connect(&redis.url(), RedisOptions::default()).unwrap();
    let mut served = RunningGate::launched("quota = 1", &["--store", &redis.url()], |launch| launch).await;
    let first = with_stock(&served, 5, 1);
    served.reload(&first, "settings reloaded").await;
    redis.command(&["DEL", "vestibule:{tour}:settings"]).await;
    redis.command(&["SET", "vestibule:{tour}:settings", "x"]).await;
    let stock = store.get_document(DocumentKind::JobQueues, "stock").await.unwrap().unwrap();
    let unknown = stock.text.replace("pull", "push");
    store.put_document(DocumentKind::JobQueues, "stock", &unknown, stock.revision).await.unwrap();
    served.program.restart();
    served.program.until_healthy(&served.address).await;
    served.file.write(&with_stock(&served, 7, 2));
    served.program.signal("HUP");
    wait_until("the others are written", TIMEOUT, async || {
        let other = store.settings(&"other".parse().unwrap()).await.unwrap().unwrap();
        let mails = store.get_document(DocumentKind::JobQueues, "mails").await.unwrap().unwrap();
        other.line.quota == 7 && mails.text.contains("\"concurrency\":2")
    })
    .await;
    let log = served.program.log();
    for name in ["queue=tour", "job_queue=stock"] {
        let is_named = |line: &str| line.contains(name) && line.contains("stored settings, which cannot be read");
        assert!(log.lines().any(is_named), "{name}: {log}");
    }
    let kept = store.get_document(DocumentKind::JobQueues, "stock").await.unwrap().unwrap();
    assert_eq!(kept.text, unknown, "nothing replaces it");
}

/// A mistake that was corrected while the store did not respond is never in effect.
#[tokio::test]
async fn sighup_replaces_settings_that_are_not_written_yet() {
    let redis = Redis::start().await;
    let mut served = RunningGate::launched("quota = 1", &["--store", &redis.url()], |launch| launch).await;
    redis.freeze();
    let (mistake, corrected) = (served.settings("quota = 3000"), served.settings("quota = 30"));
    served.reload(&mistake, "cannot write the settings to the store; retrying").await;
    served.file.write(&corrected);
    served.program.signal("HUP");
    // Attempts are up to five seconds apart; SIGHUP ends the pause.
    sleep(Duration::from_secs(2)).await;
    redis.thaw();
    served.program.until_logged("settings reloaded").await;
    let store = RedisStore::connect(&redis.url(), RedisOptions::default()).unwrap();
    let settings = store.settings(&"tour".parse().unwrap()).await.unwrap().unwrap();
    assert_eq!((settings.line.quota, settings.line.revision), (30, 2), "written once");
}

#[tokio::test]
async fn removed_queue_can_be_added_again() {
    for store in ["memory", "redis"] {
        let redis = Redis::start().await;
        let url = if store == "redis" { redis.url() } else { store.to_owned() };
        let mut served = RunningGate::launched("quota = 1", &["--store", &url], |launch| launch).await;
        let whole = served.settings("quota = 1");
        served.reload(&other(&whole), "removed, as the settings no longer name it").await;
        let mut visitor = served.visitor();
        assert_eq!(visitor.status("tour").await.status, StatusCode::NOT_FOUND, "{store}");
        served.file.write(&whole);
        if store == "redis" {
            served.program.restart();
            served.program.until_healthy(&served.address).await;
        } else {
            served.program.signal("HUP");
        }
        wait_until("the queue is there again", TIMEOUT, async || {
            visitor.navigate("/").await.text().contains("origin /")
        })
        .await;
    }
}

#[tokio::test]
async fn replaced_values_are_logged() {
    let redis = Redis::start().await;
    let store = RedisStore::connect(&redis.url(), RedisOptions::default()).unwrap();
    let mut document = parse_settings_document(&serde_json::json!({
        "tenants": [{ "id": "acme", "name": "Acme" }],
        "queues": [{ "id": "tour", "tenant": "acme", "hosts": [HOST], "quota": 7, "handover": { "kind": "check" } }],
    }))
    .unwrap();
    store.put_settings(&document.queues.remove(0), PutMode::Always).await.unwrap();
    let served = RunningGate::launched("quota = 2", &["--store", &redis.url()], |launch| launch).await;
    let log = served.program.log();
    assert!(log.contains("the settings file replaces") && log.contains("quota: 7 -> 2"), "{log}");
}

/// A scheduled queue whose lobby opened `lobby` seconds ago; its event starts in two minutes.
fn in_lobby(lobby: u64, quota: u64) -> String {
    format!("quota = {quota}\nmode = \"scheduled\"\n{}", sale(now() - lobby, now() + 120))
}

#[tokio::test]
async fn locked_event_changes_keep_the_stored_settings() {
    let redis = Redis::start().await;
    let store = RedisStore::connect(&redis.url(), RedisOptions::default()).unwrap();
    let stored = async || store.settings(&"tour".parse().unwrap()).await.unwrap().unwrap().line;
    let first = in_lobby(30, 5);
    let mut served = RunningGate::launched(&first, &["--store", &redis.url()], |launch| launch).await;
    let mut visitor = served.visitor();
    visitor.navigate("/").await;
    assert_eq!(served.state(&mut visitor).await, "paused");
    let before = stored().await;

    let moved = served.settings(&in_lobby(60, 9));
    served.reload(&moved, "the settings file changes locked fields of an event").await;
    assert!(served.program.log().contains("tour.events[0].lobby_at: cannot be changed after lobby_at"));
    assert_eq!(stored().await, before, "nothing of the queue is written");

    served.program.restart();
    served.program.until_healthy(&served.address).await;
    assert_eq!(served.state(&mut visitor).await, "paused", "the stored event is in force after a start");
    assert_eq!(stored().await, before);

    // Only the quota differs.
    let corrected = served.settings(&first.replace("quota = 5", "quota = 9"));
    served.file.write(&corrected);
    served.program.signal("HUP");
    wait_until("the corrected file applies", TIMEOUT, async || stored().await.quota == 9).await;
    assert_eq!(stored().await.events, before.events);
}

#[tokio::test]
async fn sighup_during_startup_is_harmless() {
    // A store that accepts connections and never answers: the start waits for it.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let store = format!("redis://{}", silent.local_addr().unwrap());
    let file = SettingsFile::of(&settings("http://127.0.0.1:1", "quota = 1"));
    let (address, shown) = (format!("127.0.0.1:{}", free_port()), file.shown());
    let mut program = Program::vestibule(&[
        "serve",
        "--listen",
        &address,
        "--settings",
        &shown,
        "--state",
        "state",
        "--store",
        &store,
        "--store-timeout-ms",
        "3000",
    ])
    .start();
    program.until_logged("limits").await;
    for _ in 0..5 {
        program.signal("HUP");
        sleep(Duration::from_millis(100)).await;
    }
    program.until_logged("cannot write the settings to the store yet").await;
    program.until_logged("serving").await;
}

/// A hold rule or none, and the job queue of its orders.
fn orders(rule: &str) -> String {
    format!(
        "quota = 1\n{rule}\n[[job_queues]]\nid = \"orders.fifo\"\ntenant = \"acme\"\nmin_backoff = 1\n\
         target = {{ kind = \"origin\" }}\n"
    )
}

/// A rule that holds orders.
const HOLD: &str = "rules = [{ action = \"hold\", job_queue = \"orders.fifo\", method = [\"POST\"] }]\n";

#[tokio::test]
async fn order_is_followed_after_its_rule_was_removed() {
    let mut served = RunningGate::with(&orders(HOLD)).await;
    let mut visitor = served.visitor();
    visitor.navigate("/").await;
    served.origin.stop().await;
    let url = location(&visitor.request(form("/echo"), "ticket=a").await);
    let without = served.settings(&orders(""));
    served.reload(&without, "settings reloaded").await;
    let page = visitor.navigate(&url).await;
    assert_eq!((page.status, page.follows_a_job()), (StatusCode::OK, true), "{}", page.text());
    served.origin.restart();
    wait_until("the order is completed", TIMEOUT, async || {
        let page = visitor.navigate(&url).await;
        page.status == StatusCode::OK && !page.follows_a_job() && page.text().contains("ticket=a")
    })
    .await;
}

#[tokio::test]
async fn removed_queue_stays_while_its_orders_are_not_finished() {
    let mut served = RunningGate::with(&orders(HOLD)).await;
    let mut visitor = served.visitor();
    visitor.navigate("/").await;
    served.origin.stop().await;
    let url = location(&visitor.request(form("/echo"), "ticket=a").await);
    visitor.leave("tour").await;
    let without = other(&served.settings("quota = 1"));
    wait_until("only the order is left", TIMEOUT, async || {
        served.reload(&without, "settings reloaded").await;
        served.program.log().contains("it stays, as its held orders are not finished")
    })
    .await;
    assert_eq!(visitor.navigate(&url).await.status, StatusCode::OK);
    visitor.leave("tour").await;
    served.origin.restart();
    wait_until("the queue is gone", TIMEOUT, async || {
        served.program.signal("HUP");
        sleep(Duration::from_millis(200)).await;
        served.program.log().contains("removed, as the settings no longer name it")
    })
    .await;
}

/// The queue that is in the store and not in the file, with a rule that holds orders.
fn gig() -> Settings {
    let queue = serde_json::json!({
        "id": "gig", "tenant": "acme", "hosts": ["gig.example.com"], "quota": 1,
        "handover": { "kind": "proxy", "origin": "http://127.0.0.1:1" },
        "rules": [{ "action": "hold", "job_queue": "orders.fifo", "method": ["POST"] }],
    });
    let tenants = serde_json::json!([{ "id": "acme", "name": "Acme" }]);
    let orders = serde_json::json!({ "id": "orders.fifo", "tenant": "acme", "target": { "kind": "origin" } });
    let document = serde_json::json!({ "tenants": tenants, "queues": [queue], "job_queues": [orders] });
    parse_settings_document(&document).unwrap().queues.remove(0)
}

#[tokio::test]
async fn job_queue_stays_while_stored_rules_hold_orders_in_it() {
    let redis = Redis::start().await;
    let store = RedisStore::connect(&redis.url(), RedisOptions::default()).unwrap();
    let is_stored = async || !store.list_documents(DocumentKind::JobQueues).await.unwrap().is_empty();
    let mut served = RunningGate::launched(&orders(HOLD), &["--store", &redis.url()], |launch| launch).await;
    wait_until("the job queue is stored", TIMEOUT, is_stored).await;
    let mut visitor = served.visitor();
    visitor.navigate("/").await;

    // Neither the queue nor its job queue.
    served.file.write(&other(&served.settings("quota = 1")));
    served.program.terminate().await;
    served.program.restart();
    served.program.until_healthy(&served.address).await;
    served.program.until_logged("the settings no longer name this job queue; it stays").await;
    assert!(is_stored().await, "a start removes nothing");

    store.put_settings(&gig(), PutMode::Always).await.unwrap();
    let reload = async |served: &RunningGate| {
        let times = |served: &RunningGate| served.program.log().matches("settings reloaded").count();
        let before = times(served);
        served.program.signal("HUP");
        wait_until("it is reloaded", TIMEOUT, async || times(served) > before).await;
    };
    reload(&served).await;
    assert!(served.program.log().contains("it stays, as it has sessions"), "{}", served.program.log());
    assert!(is_stored().await, "a queue with sessions holds orders in it");
    store.remove_queue(&"gig".parse().unwrap()).await.unwrap();
    reload(&served).await;
    assert!(is_stored().await, "this queue alone, too");

    store.put_settings(&gig(), PutMode::Always).await.unwrap();
    visitor.leave("tour").await;
    wait_until("the queue is gone", TIMEOUT, async || {
        reload(&served).await;
        served.program.log().contains("removed, as the settings no longer name it")
    })
    .await;
    assert!(is_stored().await, "a queue of the dashboard holds orders in it");
    store.remove_queue(&"gig".parse().unwrap()).await.unwrap();
    reload(&served).await;
    assert!(!is_stored().await);
}
