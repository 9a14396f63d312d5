//! The alerts, fired for real: a Prometheus with the rules as they are delivered, an Alertmanager behind it, and what
//! should alert somebody done to real programs. Every alert fires, is delivered, and resolves once the cause is fixed.
//!
//! Only time is shortened: a minute of the rules is a second here.

mod connections;
mod events;
mod jobs;
mod newcomers;

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
use connections::Crowded;
use jobs::Jobs;
use vestibule_core::store::{OperationsStore as _, SettingsStore as _, VisitStore as _};

const TOKEN: &str = "a-token-of-the-tests-0123456789";
/// Maximum time until an alert is delivered.
const TIMEOUT: Duration = Duration::from_mins(1);
/// How much shorter times are.
const HASTE: u64 = 60;
/// No `for` is longer than this, in milliseconds.
const FOR_MAX: u64 = 10_000;
/// Times that stand in the rules as bare seconds, and what replaces them.
const BARE: [(&str, &str); 6] = [
    ("vestibule_purge_timestamp_seconds > 300", "vestibule_purge_timestamp_seconds > 5"),
    ("[10m]))) > 3600", "[10m]))) > 6"),
    ("_wait_seconds > 5400", "_wait_seconds > 9"),
    ("_oldest_age_seconds) > 300", "_oldest_age_seconds) > 5"),
    ("_blocked_group_age_seconds) > 900", "_blocked_group_age_seconds) > 15"),
    ("_missed_timestamp_seconds) < time() - 60", "_missed_timestamp_seconds) < time() - 1"),
];
/// The most streams that the site may have.
const STREAMS_MAX: usize = 4;
/// Removes all active sessions, as no operation does: it would admit the next.
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
    for (delivered, shortened) in BARE {
        assert_eq!(rules.matches(delivered).count(), 1, "{delivered}");
        rules = rules.replace(delivered, shortened);
    }
    let lines = rules.lines().map(|line| match line.trim().split_once(": ") {
        Some((key @ ("for" | "interval"), time)) => {
            line.replace(&format!("{key}: {time}"), &format!("{key}: {}", limited(time)))
        }
        _ => windows_shortened(line),
    });
    lines.map(|line| line + "\n").collect()
}

/// `[5m]` becomes `[5000ms]`, `[1h:15s]` `[60000ms:250ms]`, and `offset 5m` `offset 5000ms`.
fn windows_shortened(line: &str) -> String {
    let mut parts = line.split('[');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let Some((window, rest)) = part.split_once(']') else { return format!("{text}[{part}") };
        let window: Vec<String> = window.split(':').map(shorter).collect();
        format!("{text}[{}]{}", window.join(":"), offset_shortened(rest))
    })
}

fn offset_shortened(rest: &str) -> String {
    let Some(offset) = rest.strip_prefix(" offset ") else { return rest.to_owned() };
    let end = offset.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(offset.len());
    let (time, rest) = offset.split_at(end);
    format!(" offset {}{rest}", shorter(time))
}

/// Time before an alert fires.
fn limited(time: &str) -> String {
    format!("{}ms", shortened_ms(time).min(FOR_MAX))
}

fn shorter(time: &str) -> String {
    format!("{}ms", shortened_ms(time))
}

fn shortened_ms(time: &str) -> u64 {
    let (number, unit) = time.split_at(time.len() - 1);
    let unit = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => panic!("a time in s, m, h or d: {time}"),
    };
    number.parse::<u64>().unwrap() * unit * 1000 / HASTE
}

/// Options of the test's own connections: a busy machine answers late, and one store does not answer for a while.
fn patient() -> RedisOptions {
    RedisOptions { timeout: TIMEOUT, ..RedisOptions::default() }
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

    /// Waits until the last message about an alert with this label says that it fires or has resolved.
    async fn until(&self, fires: bool, alert: &str, label: &str) {
        let here = |delivered: &ReceivedAlert| {
            let labels = [&delivered.queue, &delivered.job_queue, &delivered.instance];
            delivered.alert == alert && labels.into_iter().any(|it| it == label)
        };
        let what = if fires { "fires" } else { "resolves" };
        wait_until(&format!("{alert} {what} at {label}"), TIMEOUT, async || {
            self.manager
                .delivered()
                .iter()
                .rfind(|delivered| here(delivered))
                .is_some_and(|delivered| delivered.fires == fires)
        })
        .await;
    }

    async fn fires(&self, alert: &str, label: &str) {
        self.until(true, alert, label).await;
    }

    async fn resolves(&self, alert: &str, label: &str) {
        self.until(false, alert, label).await;
    }
}

/// A store, what is measured of it, and the purge that somebody calls by hand.
struct Measured {
    redis: Redis,
    /// That of the job queues.
    jobs: Redis,
    store: RedisStore,
    metrics: Balancer,
    purge: Function,
}

impl Measured {
    async fn start() -> Self {
        let (redis, jobs) = tokio::join!(Redis::start(), Redis::start());
        let url = redis.url();
        let deployed = |name: &str| Deployment::of(name).env("VESTIBULE_REDIS_URL", &url);
        let metrics = deployed("metrics").env("VESTIBULE_METRICS_TOKEN", TOKEN);
        let metrics = metrics.env("VESTIBULE_JOBS_URL", &jobs.url()).instances(2).await;
        let metrics = Balancer::before(metrics, BalancerOptions::default()).await;
        let purge = deployed("purge").instances(1).await;
        let store = RedisStore::connect(&url, patient()).unwrap();
        Self { redis, jobs, store, metrics, purge }
    }

    async fn purge(&self) {
        self.purge.invoke("{}").await.unwrap();
    }
}

async fn put(store: &RedisStore, queue: &str, changes: serde_json::Value) -> QueueId {
    let id: QueueId = queue.parse().unwrap();
    let handover = json!({ "kind": "redirect", "origin": "https://www.example.com" });
    let mut settings = json!({ "hosts": [format!("{queue}.example.com")], "handover": handover });
    settings.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    store.put_settings(&settings_of(&id, &settings), PutMode::Always).await.unwrap();
    id
}

async fn join(store: &RedisStore, queue: &QueueId) {
    store.visit(queue, Visit::joining(SessionId::random())).await.unwrap();
}

/// A purge that never ran, runs no more, and fails at a queue that can't be read.
async fn purge_is_neglected(watch: &Watch, measured: &Measured) {
    let label = measured.metrics.address();
    watch.fires("VestibulePurgeNeverRan", label).await;
    measured.purge().await;
    watch.resolves("VestibulePurgeNeverRan", label).await;
    watch.fires("VestibulePurgeNotRunning", label).await;
    measured.purge().await;
    watch.resolves("VestibulePurgeNotRunning", label).await;

    let broken = put(&measured.store, "broken", json!({})).await;
    let key = Keys::of(&broken).settings();
    measured.redis.command(&["COPY", &key, "kept"]).await;
    measured.redis.command(&["SET", &key, "no settings"]).await;
    measured.purge().await;
    watch.fires("VestibuleQueueUnreadable", "broken").await;
    watch.fires("VestibulePurgeFailing", label).await;
    measured.redis.command(&["COPY", "kept", &key, "REPLACE"]).await;
    measured.purge().await;
    watch.resolves("VestibuleQueueUnreadable", "broken").await;
    watch.resolves("VestibulePurgeFailing", label).await;
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
    wait_until("the purge has admitted all visitors", TIMEOUT, async || {
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
    jobs: Jobs,
}

impl Site {
    async fn start() -> Self {
        let redis = Arc::new(Redis::start().await);
        let jobs = Jobs::create(&redis.url()).await;
        let (gate, admin) = (format!("127.0.0.1:{}", free_port()), format!("127.0.0.1:{}", free_port()));
        let url = redis.url();
        let arguments = ["serve", "--listen", &gate, "--admin-listen", &admin, "--metrics-token", TOKEN];
        let streams = STREAMS_MAX.to_string();
        let more = ["--store", &url, "--store-timeout-ms", "100", "--state", "state", "--streams-max", &streams];
        let arguments = [&arguments[..], &more].concat();
        let mut program = Program::vestibule(&arguments).start();
        program.until_healthy(&gate).await;
        let store = RedisStore::connect(&url, patient()).unwrap();
        Self { redis, store, gate, admin, program, jobs }
    }

    fn visitor(&self) -> Visitor {
        Visitor::new(&self.gate, "rush.example.com")
    }

    /// Waits until a visitor sees the queue of the host.
    async fn until_queued(&self, visitor: &mut Visitor) {
        wait_until("the gate knows the host", TIMEOUT, async || visitor.navigate("/").await.status == 200).await;
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
    let resolved =
        ["VestibuleLineGrowingFast", "VestibuleBotsJoining", "VestibuleQuotaFullForLong", "VestibuleWaitTooLong"];
    for alert in resolved {
        watch.resolves(alert, "rush").await;
    }
}

/// Visitors of a host that has no queue, then an origin that is down, then a slow store, then none.
async fn the_site_fails(watch: &Watch, site: &mut Site) {
    let label = site.admin.clone();
    during(site.keep_asking("nobody.example.com"), watch.fires("VestibuleGateErrors", &label)).await;
    watch.resolves("VestibuleGateErrors", &label).await;

    let down = format!("http://127.0.0.1:{}", free_port());
    let handover = json!({ "kind": "proxy", "origin": down });
    put(&site.store, "down", json!({ "quota": 100, "handover": handover })).await;
    let mut visitor = Visitor::new(&site.gate, "down.example.com");
    wait_until("the gate knows the host", TIMEOUT, async || visitor.navigate("/").await.status == 502).await;
    during(site.keep_asking("down.example.com"), watch.fires("VestibuleGateFailing", &label)).await;
    watch.resolves("VestibuleGateFailing", &label).await;

    let busy = async {
        loop {
            site.redis.try_command(&["EVAL", BUSY, "0", "150"]).await.ok();
        }
    };
    during(site.keep_asking("rush.example.com"), during(busy, watch.fires("VestibuleStoreSlow", &label))).await;
    watch.resolves("VestibuleStoreSlow", &label).await;

    site.redis.freeze();
    during(site.keep_asking("rush.example.com"), async {
        watch.fires("VestibuleStoreUnavailable", &label).await;
        watch.fires("VestibuleEventSoonStoreDown", "soon").await;
        watch.fires("VestibuleGateErrors", &label).await;
    })
    .await;
    site.redis.thaw();
    watch.resolves("VestibuleStoreUnavailable", &label).await;
    watch.resolves("VestibuleEventSoonStoreDown", "soon").await;
    watch.resolves("VestibuleGateErrors", &label).await;

    site.program.kill();
    watch.fires("VestibuleScrapeFailing", &label).await;
    site.program.restart();
    watch.resolves("VestibuleScrapeFailing", &label).await;
    assert_eq!(site.visitor().navigate("/").await.status, 302, "and all is well");
}

#[tokio::test]
async fn every_alert_fires_and_resolves() {
    let (neglected, still) = tokio::join!(Measured::start(), Measured::start());
    let (mut site, crowded) = tokio::join!(Site::start(), Crowded::start());
    let targets = [neglected.metrics.address(), still.metrics.address(), &site.admin, &crowded.admin];
    let targets = targets.map(str::to_owned);
    let watch = Watch::over(&targets).await;
    let on_site = async {
        events::event_is_soon(&site).await;
        tokio::join!(
            a_line_is_full(&watch, &site),
            a_rush(&watch, &site),
            events::sale_key_is_missing(&watch, &site),
            events::beacon_is_missing(&watch, &site),
            events::streams_are_at_their_limit(&watch, &site),
            jobs::job_queue_is_full(&watch, &site.jobs, &site.store),
            jobs::group_is_blocked(&watch, &site.jobs),
            jobs::jobs_fail_for_good(&watch, &site.jobs),
            jobs::outcome_of_orders_is_unknown(&watch, &site.jobs),
        );
        the_site_fails(&watch, &mut site).await;
    };
    tokio::join!(
        async {
            purge_is_neglected(&watch, &neglected).await;
            jobs::job_queues_are_unreadable(&watch, &neglected).await;
        },
        lines_stand_still(&watch, &still),
        newcomers::newcomers_are_suspicious(&watch, &still),
        connections::connections_are_refused(&watch, &crowded),
        on_site,
    );

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
