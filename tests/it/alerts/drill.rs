//! The alerts, fired for real: a Prometheus with the rules as they are delivered, an Alertmanager behind it, and what
//! should alert somebody done to real programs. Every alert fires, is delivered, and resolves once the cause is fixed.
//!
//! Only time is shortened: a minute of the rules is a second here.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;
use vestibule_core::line::Visit;
use vestibule_core::{PutMode, QueueId, SessionId};
use vestibule_store_redis::{Keys, RedisOptions, RedisStore};
use vestibule_tests::{
    Alertmanager, Balancer, BalancerOptions, Deployment, Function, Program, Prometheus, ReceivedAlert, Redis, Visitor,
    free_port, wait_until,
};

use super::{RULES, read};
use crate::line_fixture::settings_of;
use vestibule_core::store::{OperationsStore as _, SettingsStore as _, VisitStore as _};

const TOKEN: &str = "a-token-of-the-tests-0123456789";
/// Maximum time until an alert is delivered.
const TIMEOUT: Duration = Duration::from_mins(1);
/// How much shorter times are.
const HASTE: u64 = 60;
/// No `for` is longer than this, in milliseconds.
const FOR_MAX: u64 = 10_000;
/// Times that stand in the rules as bare seconds, and what is there in their place.
const BARE: [(&str, &str); 3] =
    [("vestibule_purge_timestamp_seconds > 300", "> 5"), ("[10m]))) > 3600", "> 6"), ("_wait_seconds > 5400", "> 9")];
/// Takes everybody out of places, as no operation does: it would let the next in.
const EMPTY: &str = "
    for _, session in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
        redis.call('ZREM', KEYS[2], session)
    end
    return redis.call('DEL', KEYS[1])";
/// Keeps Redis busy for this many milliseconds.
const BUSY: &str = "
    local began, spent = redis.call('TIME'), 0
    while spent < tonumber(ARGV[1]) do
        local now = redis.call('TIME')
        spent = (now[1] - began[1]) * 1000 + (now[2] - began[2]) / 1000
    end";

/// The rules with their times shortened.
fn hastened(rules: &str) -> String {
    let mut rules = rules.to_owned();
    for (delivered, number) in BARE {
        assert_eq!(rules.matches(delivered).count(), 1, "{delivered}");
        let kept = delivered.rsplit_once(" > ").unwrap().0;
        rules = rules.replace(delivered, &format!("{kept} {number}"));
    }
    let lines = rules.lines().map(|line| match line.trim().split_once(": ") {
        Some((key @ ("for" | "interval"), time)) => {
            line.replace(&format!("{key}: {time}"), &format!("{key}: {}", shorter(time)))
        }
        _ => windows_shortened(line),
    });
    lines.map(|line| line + "\n").collect()
}

/// `[5m]` becomes `[5000ms]`.
fn windows_shortened(line: &str) -> String {
    let mut parts = line.split('[');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| match part.split_once(']') {
        Some((time, rest)) => format!("{text}[{}]{rest}", shorter(time)),
        None => format!("{text}[{part}"),
    })
}

fn shorter(time: &str) -> String {
    let (number, unit) = time.split_at(time.len() - 1);
    let seconds = number.parse::<u64>().unwrap() * if unit == "m" { 60 } else { 1 };
    format!("{}ms", (seconds * 1000 / HASTE).min(FOR_MAX))
}

/// The alerts that were received, and the Prometheus that sends them.
struct Watch {
    manager: Alertmanager,
    _prometheus: Prometheus,
}

impl Watch {
    async fn over(targets: &[String]) -> Self {
        let manager = Alertmanager::start().await;
        let settings = json!({
            "global": { "scrape_interval": "500ms", "scrape_timeout": "500ms", "evaluation_interval": "250ms" },
            "rule_files": ["vestibule.rules.yml"],
            "alerting": { "alertmanagers": [{ "static_configs": [{ "targets": [manager.address()] }] }] },
            "scrape_configs": [{
                "job_name": "vestibule", "authorization": { "credentials_file": "token" },
                "static_configs": [{ "targets": targets }],
            }],
        });
        let rules = hastened(&read(RULES));
        let files = [("vestibule.rules.yml", rules.as_str()), ("token", TOKEN)];
        let prometheus = Prometheus::start(&settings.to_string(), &files).await;
        Self { manager, _prometheus: prometheus }
    }

    /// Waits until the last message about an alert at this place says that it fires or has resolved.
    async fn until(&self, fires: bool, alert: &str, place: &str) {
        let here = |delivered: &ReceivedAlert| {
            delivered.alert == alert && [&delivered.queue, &delivered.instance].contains(&&place.to_owned())
        };
        let what = if fires { "fires" } else { "resolves" };
        wait_until(&format!("{alert} {what} at {place}"), TIMEOUT, async || {
            self.manager
                .delivered()
                .iter()
                .rfind(|delivered| here(delivered))
                .is_some_and(|delivered| delivered.fires == fires)
        })
        .await;
    }

    async fn fires(&self, alert: &str, place: &str) {
        self.until(true, alert, place).await;
    }

    async fn resolves(&self, alert: &str, place: &str) {
        self.until(false, alert, place).await;
    }
}

/// A store, what is measured of it, and the purge that somebody calls by hand.
struct Measured {
    redis: Redis,
    store: RedisStore,
    metrics: Balancer,
    purge: Function,
}

impl Measured {
    async fn start() -> Self {
        let redis = Redis::start().await;
        let url = redis.url();
        let deployed = |name: &str| Deployment::of(name).env("VESTIBULE_REDIS_URL", &url);
        let metrics = deployed("metrics").env("VESTIBULE_METRICS_TOKEN", TOKEN).instances(2).await;
        let metrics = Balancer::before(metrics, BalancerOptions::default()).await;
        let purge = deployed("purge").instances(1).await;
        let store = RedisStore::connect(&url, RedisOptions::default()).unwrap();
        Self { redis, store, metrics, purge }
    }

    async fn purge(&self) {
        self.purge.invoke("{}").await.unwrap();
    }
}

async fn put(store: &RedisStore, queue: &str, changes: serde_json::Value) -> QueueId {
    let id: QueueId = queue.parse().unwrap();
    let mut settings = json!({ "handover": { "kind": "redirect", "origin": "https://www.example.com" } });
    settings.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    store.put_settings(&settings_of(&id, &settings), PutMode::Always).await.unwrap();
    id
}

async fn join(store: &RedisStore, queue: &QueueId) {
    store.visit(queue, Visit::joining(SessionId::random())).await.unwrap();
}

/// A purge that never ran, runs no more, and fails at a queue that can't be read.
async fn purge_is_neglected(watch: &Watch, measured: &Measured) {
    let place = measured.metrics.address();
    watch.fires("VestibulePurgeNeverRan", place).await;
    measured.purge().await;
    watch.resolves("VestibulePurgeNeverRan", place).await;
    watch.fires("VestibulePurgeNotRunning", place).await;
    measured.purge().await;
    watch.resolves("VestibulePurgeNotRunning", place).await;

    let broken = put(&measured.store, "broken", json!({})).await;
    let key = Keys::of(&broken).settings();
    measured.redis.command(&["COPY", &key, "kept"]).await;
    measured.redis.command(&["SET", &key, "no settings"]).await;
    measured.purge().await;
    watch.fires("VestibuleQueueUnreadable", "broken").await;
    watch.fires("VestibulePurgeFailing", place).await;
    measured.redis.command(&["COPY", "kept", &key, "REPLACE"]).await;
    measured.purge().await;
    watch.resolves("VestibuleQueueUnreadable", "broken").await;
    watch.resolves("VestibulePurgeFailing", place).await;
}

/// Lines in which people wait while nobody comes by and no purge runs.
async fn lines_stand_still(watch: &Watch, measured: &Measured) {
    let stuck = put(&measured.store, "stuck", json!({ "quota": 2 })).await;
    let slow = put(&measured.store, "slow", json!({ "quota": 100, "admissions_per_minute": 600 })).await;
    for _ in 0..5 {
        join(&measured.store, &stuck).await;
    }
    for _ in 0..30 {
        join(&measured.store, &slow).await;
    }
    let keys = Keys::of(&stuck);
    measured.redis.command(&["EVAL", EMPTY, "2", &keys.active(), &keys.pool()]).await;
    watch.fires("VestibuleLineNotMoving", "stuck").await;
    watch.fires("VestibuleAdmissionsOffTheRate", "slow").await;
    wait_until("the purge has let everybody in", TIMEOUT, async || {
        sleep(Duration::from_millis(300)).await;
        measured.purge().await;
        measured.store.stats(&slow).await.unwrap().waiting + measured.store.stats(&stuck).await.unwrap().waiting == 0
    })
    .await;
    watch.resolves("VestibuleLineNotMoving", "stuck").await;
    watch.resolves("VestibuleAdmissionsOffTheRate", "slow").await;
}

/// The stand-alone program over a store of its own.
struct Site {
    redis: Arc<Redis>,
    store: RedisStore,
    gate: String,
    admin: String,
    program: Program,
}

impl Site {
    async fn start() -> Self {
        let redis = Arc::new(Redis::start().await);
        let (gate, admin) = (format!("127.0.0.1:{}", free_port()), format!("127.0.0.1:{}", free_port()));
        let url = redis.url();
        let arguments = ["serve", "--listen", &gate, "--admin-listen", &admin, "--metrics-token", TOKEN];
        let arguments = [&arguments[..], &["--store", &url, "--store-timeout-ms", "100", "--state", "state"]].concat();
        let mut program = Program::vestibule(&arguments).start();
        program.until_healthy(&gate).await;
        let store = RedisStore::connect(&url, RedisOptions::default()).unwrap();
        Self { redis, store, gate, admin, program }
    }

    fn visitor(&self) -> Visitor {
        Visitor::new(&self.gate, "tickets.example.com")
    }

    /// Asks every few milliseconds, for ever.
    async fn keep_asking(&self, host: &str) {
        let mut visitor = Visitor::new(&self.gate, host);
        loop {
            visitor.try_get("/").await.ok();
            sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Does something until something else is done.
async fn during(work: impl Future<Output = ()>, until: impl Future<Output = ()>) {
    tokio::select! {
        () = work => {}
        () = until => {}
    }
}

/// More visitors come than the line may have; then it may have more.
async fn a_line_is_full(watch: &Watch, site: &Site) {
    let limited = |most| json!({ "quota": 0, "max_waiting": most, "waiting_ttl": 300, "claim_ttl": 100 });
    let full = put(&site.store, "full", limited(3)).await;
    for _ in 0..5 {
        join(&site.store, &full).await;
    }
    watch.fires("VestibuleLineFull", "full").await;
    put(&site.store, "full", limited(100)).await;
    watch.resolves("VestibuleLineFull", "full").await;
}

/// More visitors than the quota come; then the quota is raised for all of them.
async fn a_rush(watch: &Watch, site: &Site) {
    let rush = put(&site.store, "rush", json!({ "quota": 1, "waiting_ttl": 300, "claim_ttl": 100 })).await;
    let growing = async {
        watch.fires("VestibuleLineGrowingFast", "rush").await;
        watch.fires("VestibuleBotsJoining", "rush").await;
    };
    during(growing, async {
        loop {
            join(&site.store, &rush).await;
            sleep(Duration::from_millis(25)).await;
        }
    })
    .await;
    watch.fires("VestibuleQuotaFullForLong", "rush").await;
    watch.fires("VestibuleWaitTooLong", "rush").await;
    put(&site.store, "rush", json!({ "quota": 10_000, "waiting_ttl": 300, "claim_ttl": 100 })).await;
    let mended =
        ["VestibuleLineGrowingFast", "VestibuleBotsJoining", "VestibuleQuotaFullForLong", "VestibuleWaitTooLong"];
    for alert in mended {
        watch.resolves(alert, "rush").await;
    }
}

/// Visitors of a host that has no queue, then an origin that is down, then a slow store, then none.
async fn the_site_fails(watch: &Watch, site: &mut Site) {
    let place = site.admin.clone();
    during(site.keep_asking("nobody.example.com"), watch.fires("VestibuleGateErrors", &place)).await;
    watch.resolves("VestibuleGateErrors", &place).await;

    let down = format!("http://127.0.0.1:{}", free_port());
    let handover = json!({ "kind": "proxy", "origin": down });
    put(&site.store, "down", json!({ "hosts": ["down.example.com"], "quota": 100, "handover": handover })).await;
    let mut visitor = Visitor::new(&site.gate, "down.example.com");
    wait_until("the gate knows the host", TIMEOUT, async || visitor.navigate("/").await.status == 502).await;
    during(site.keep_asking("down.example.com"), watch.fires("VestibuleGateFailing", &place)).await;
    watch.resolves("VestibuleGateFailing", &place).await;

    let busy = async {
        loop {
            site.redis.try_command(&["EVAL", BUSY, "0", "150"]).await.ok();
        }
    };
    during(site.keep_asking("tickets.example.com"), during(busy, watch.fires("VestibuleStoreSlow", &place))).await;
    watch.resolves("VestibuleStoreSlow", &place).await;

    site.redis.freeze();
    during(site.keep_asking("tickets.example.com"), async {
        watch.fires("VestibuleStoreAway", &place).await;
        watch.fires("VestibuleGateErrors", &place).await;
    })
    .await;
    site.redis.thaw();
    watch.resolves("VestibuleStoreAway", &place).await;
    watch.resolves("VestibuleGateErrors", &place).await;

    site.program.kill();
    watch.fires("VestibuleScrapeFailing", &place).await;
    site.program.restart();
    watch.resolves("VestibuleScrapeFailing", &place).await;
    assert_eq!(site.visitor().navigate("/").await.status, 302, "and all is well");
}

#[tokio::test]
async fn every_alert_fires_and_resolves() {
    let (neglected, still) = tokio::join!(Measured::start(), Measured::start());
    let mut site = Site::start().await;
    let targets = [neglected.metrics.address().to_owned(), still.metrics.address().to_owned(), site.admin.clone()];
    let watch = Watch::over(&targets).await;
    let on_site = async {
        a_line_is_full(&watch, &site).await;
        a_rush(&watch, &site).await;
        the_site_fails(&watch, &mut site).await;
    };
    tokio::join!(purge_is_neglected(&watch, &neglected), lines_stand_still(&watch, &still), on_site);

    let delivered = watch.manager.delivered();
    let named = |fires: bool| {
        delivered.iter().filter(move |delivered| delivered.fires == fires).map(|delivered| delivered.alert.as_str())
    };
    let (fired, resolved): (BTreeSet<&str>, BTreeSet<&str>) = (named(true).collect(), named(false).collect());
    let rules = read(RULES);
    let all: BTreeSet<&str> = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert_eq!((&fired, &resolved), (&all, &all));
    for ReceivedAlert { alert, summary, .. } in &delivered {
        assert!(
            !summary.is_empty() && !summary.contains("error") && !summary.contains("<no value>"),
            "{alert}: {summary}"
        );
    }
}
