//! The costs in docs/deploy.md, computed anew from docs/deploy/prices.json and from what the programs do.

use serde_json::Value;

use super::load::{Polling, Visit};
use super::stack::{Stack, text_of};

const HOUR: f64 = 3600.0;
/// Hours of a month, as AWS counts them.
const MONTH: f64 = 730.0;
const GB: f64 = 1e9;
/// What one unit of a load balancer's capacity is, where functions answer.
const UNIT_GB: f64 = 0.4;
const UNIT_NEW_CONNECTIONS: f64 = 25.0;
const UNIT_CONNECTIONS: f64 = 3000.0;
/// The share of a node's memory that those who wait may take: a quarter is kept for copies, and more may come.
const MEMORY_IN_USE: f64 = 0.5;

/// What a deployment does and costs in an hour in which so many wait.
#[derive(Default)]
struct Hour {
    waiting: f64,
    waiting_ttl: u64,
    node: String,
    requests: f64,
    at_once: f64,
    memory: f64,
    processor: f64,
    lambda: f64,
    load_balancer: f64,
    data_out: f64,
    redis: f64,
    s3: f64,
    kept: f64,
    request_log: f64,
}

struct Model {
    sheet: Value,
    stack: Stack,
}

impl Model {
    fn new() -> Self {
        Self { sheet: serde_json::from_str(&text_of("docs/deploy/prices.json")).unwrap(), stack: Stack::deploy(&[]) }
    }

    fn load(&self, name: &str) -> f64 {
        self.sheet["load"][name].as_f64().unwrap_or_else(|| panic!("{name}"))
    }

    fn price(&self, name: &str) -> f64 {
        self.sheet["prices"][name].as_f64().unwrap_or_else(|| panic!("{name}"))
    }

    fn of_node(&self, node: &str, what: &str) -> f64 {
        self.sheet["nodes"][node][what].as_f64().unwrap_or_else(|| panic!("{node}"))
    }

    async fn hour(&self, waiting: f64, waiting_ttl: u64, node: &str) -> Hour {
        let polling = Polling::with(waiting_ttl).await;
        let visit = Visit::with(waiting);
        let polls = waiting * HOUR / polling.interval;
        let requests = polls + waiting * self.load("requests_to_join");
        let at_once = requests / HOUR * self.load("billed_ms_per_request") / 1000.0;
        let worked = (polls * visit.poll + waiting * visit.first) / HOUR / 1e6;
        Hour {
            waiting,
            waiting_ttl,
            node: node.to_owned(),
            requests,
            at_once,
            memory: waiting * visit.memory,
            processor: worked * self.load("cost_of_tls_on_valkey"),
            lambda: self.lambda(requests),
            load_balancer: self.load_balancer(waiting, polls),
            data_out: self.answers(waiting, polls) / GB * self.price("data_out_per_gb"),
            redis: self.load("redis_nodes") * self.sheet["prices"]["valkey_per_node_hour"][node].as_f64().unwrap(),
            s3: self.s3(at_once),
            kept: self.kept(),
            request_log: requests * self.load("bytes_of_a_request_s_log_line") / GB * self.price("logs_per_gb"),
        }
    }

    fn lambda(&self, requests: f64) -> f64 {
        let called = |function: &str, calls: f64, ms: &str| {
            let memory = self.stack.properties(function)["MemorySize"].as_f64().unwrap() / 1024.0;
            let worked = calls * self.load(ms) / 1000.0 * memory * self.price("lambda_arm64_per_gb_second");
            worked + calls / 1e6 * self.price("lambda_per_million_requests")
        };
        let group = self.stack.properties("GateTargetGroup");
        let checks = self.load("load_balancer_nodes") * HOUR / group["HealthCheckIntervalSeconds"].as_f64().unwrap();
        called("Gate", requests + checks, "billed_ms_per_request")
            + called("Purge", HOUR / 60.0, "billed_ms_of_a_purge")
            + called("Metrics", HOUR / self.load("scrape_every_seconds"), "billed_ms_of_a_scrape")
    }

    fn answers(&self, waiting: f64, polls: f64) -> f64 {
        polls * self.load("bytes_of_a_poll_s_answer") + waiting * self.load("bytes_to_join")
    }

    fn load_balancer(&self, waiting: f64, polls: f64) -> f64 {
        let bytes = self.answers(waiting, polls) + polls * self.load("bytes_of_a_poll_s_request");
        let units = [
            waiting * self.load("connections_per_visitor_hour") / HOUR / UNIT_NEW_CONNECTIONS,
            waiting / UNIT_CONNECTIONS,
            bytes / GB / UNIT_GB,
        ];
        let units = units.into_iter().fold(0.0, f64::max);
        self.price("load_balancer_per_hour") + units * self.price("load_balancer_per_lcu_hour")
    }

    fn s3(&self, at_once: f64) -> f64 {
        let environment = self.stack.environment("Gate");
        let every: f64 = environment["VESTIBULE_THEMES_RECHECK"].parse().unwrap();
        let processes = at_once.ceil() * self.load("themes_in_use");
        processes * HOUR / every / 1000.0 * self.price("s3_per_thousand_lists")
            + processes * self.load("files_of_a_theme") / 1000.0 * self.price("s3_per_thousand_gets")
    }

    /// What is paid for by the month.
    fn kept(&self) -> f64 {
        let secrets = self.stack.resources("AWS::SecretsManager::Secret").len() as f64;
        let metrics = |alarm: &String| {
            let alarm = self.stack.properties(alarm);
            let several = alarm["Metrics"].as_array();
            several.map_or(1, |metrics| metrics.iter().filter(|metric| metric["MetricStat"].is_object()).count())
        };
        let metrics: usize = self.stack.resources("AWS::CloudWatch::Alarm").iter().map(metrics).sum();
        (secrets * self.price("secret_per_month") + metrics as f64 * self.price("alarm_metric_per_month")) / MONTH
    }

    async fn columns(&self) -> Vec<Hour> {
        let mut hours = Vec::new();
        for column in self.sheet["columns"].as_array().unwrap() {
            let ttl = column["waiting_ttl"].as_u64().unwrap();
            hours.push(self.hour(column["waiting"].as_f64().unwrap(), ttl, column["node"].as_str().unwrap()).await);
        }
        hours
    }
}

impl Hour {
    fn sum(&self) -> f64 {
        self.lambda + self.load_balancer + self.data_out + self.redis + self.s3 + self.kept
    }
}

fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap()).collect();
    groups.join(" ")
}

fn table(model: &Model, hours: &[Hour]) -> String {
    let row = |name: &str, cell: &dyn Fn(&Hour) -> String| {
        let cells: Vec<String> = hours.iter().map(cell).collect();
        format!("| {name} | {} |\n", cells.join(" | "))
    };
    let dollars = |of: fn(&Hour) -> f64| move |hour: &Hour| format!("${:.2}", of(hour));
    let mut text = row("waiting for an hour", &|hour| {
        if hour.waiting == 0.0 { "idle".to_owned() } else { thousands(hour.waiting) }
    });
    text += "| --- |";
    text += &" ---: |".repeat(hours.len());
    text += "\n";
    text += &row("`waiting_ttl`", &|hour| hour.waiting_ttl.to_string());
    text += &row("requests a second", &|hour| thousands(hour.requests / HOUR));
    text += &row("gates at once", &|hour| thousands(hour.at_once.ceil()));
    text += &row("memory of the line", &|hour| format!("{:.0} MB", hour.memory / 1e6));
    text += &row("of one processor of Valkey", &|hour| format!("{:.0} %", hour.processor * 100.0));
    text +=
        &row("nodes", &|hour| format!("{} x {}", model.load("redis_nodes"), hour.node.trim_start_matches("cache.")));
    text += &row("Lambda", &dollars(|hour| hour.lambda));
    text += &row("load balancer", &dollars(|hour| hour.load_balancer));
    text += &row("data out", &dollars(|hour| hour.data_out));
    text += &row("Valkey", &dollars(|hour| hour.redis));
    text += &row("S3", &dollars(|hour| hour.s3));
    text += &row("secrets, alarms", &dollars(|hour| hour.kept));
    text += &row("**the hour**", &|hour| format!("**${:.2}**", hour.sum()));
    text += &row("with a log line a request, more", &dollars(|hour| hour.request_log));
    let office = Model { stack: Stack::deploy_all(&[]), ..Model::new() };
    let more = (office.kept() - model.kept()) * MONTH;
    text + &format!("\nIdle for a month: ${:.0}; with the backoffice ${more:.2} more.\n", hours[0].sum() * MONTH)
}

#[tokio::test]
async fn the_table_of_costs_is_what_the_formula_makes_of_the_prices() {
    let model = Model::new();
    let expected = table(&model, &model.columns().await);
    let document = text_of("docs/deploy.md");
    let (_, rest) = document.split_once("<!-- costs -->\n").expect("where the costs stand");
    let (shown, _) = rest.split_once("<!-- /costs -->").expect("where the costs end");
    assert!(shown.trim() == expected.trim(), "docs/deploy.md has other costs than these:\n\n{expected}");
}

#[tokio::test]
async fn every_node_in_the_table_carries_those_who_wait() {
    let model = Model::new();
    for hour in model.columns().await {
        let memory = model.of_node(&hour.node, "memory_gib") * 1024.0 * 1024.0 * 1024.0;
        let steady = model.of_node(&hour.node, "steady_share_of_a_processor");
        assert!(hour.memory <= memory * MEMORY_IN_USE, "{}: memory", hour.waiting);
        assert!(hour.processor <= steady, "{}: {} of a processor", hour.waiting, hour.processor);
    }
    let crowded = model.hour(1e6, 60, "cache.m7g.large").await;
    assert!(
        crowded.processor > 1.0,
        "a million could wait at the usual waiting_ttl, and the documentation says otherwise"
    );
}

#[tokio::test]
async fn a_poll_weighs_what_the_costs_take_it_to_weigh() {
    let model = Model::new();
    let assumed = model.load("bytes_of_a_poll_s_answer");
    let measured = Polling::with(60).await.answer as f64;
    assert!(measured <= assumed && measured >= 0.8 * assumed, "{measured} bytes, and {assumed} in prices.json");
}
