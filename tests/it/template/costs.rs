//! The costs in docs/aws/cost.md, computed from docs/aws/prices.json and from what the programs do. The formula is
//! the one that rehearsals and plans use.

use serde_json::Value;
use vestibule::cost::{CAVEAT, CostBreakdown, Deployed, Load, MONTH, PriceSheet};

use super::load::{LAST_SECONDS, Polling, Visit, polls_of_the_last_minutes};
use super::stack::{Stack, text_of};

const HOUR: f64 = 3600.0;
/// The share of a node's memory that those who wait may take: a quarter is kept for copies, and more may come.
const MEMORY_IN_USE: f64 = 0.5;

/// What a deployment does and costs in an hour in which this many visitors wait.
struct Hour {
    waiting: f64,
    node: String,
    requests: f64,
    /// Requests in the busiest second: those of all waiting visitors, and of those who join.
    peak: f64,
    /// The same while the queue is paused.
    paused_peak: f64,
    /// And if all of them wait for less than five minutes.
    short_peak: f64,
    memory: f64,
    processor: f64,
    breakdown: CostBreakdown,
    /// Dollars of a later hour, in which all of them still wait and nobody joins.
    later: f64,
}

struct Model {
    prices: PriceSheet,
    columns: Vec<serde_json::Value>,
}

impl Model {
    fn new() -> Self {
        let text: serde_json::Value = serde_json::from_str(&text_of("docs/aws/prices.json")).unwrap();
        Self { prices: PriceSheet::built_in(), columns: text["columns"].as_array().unwrap().clone() }
    }

    async fn hour(&self, waiting: f64, node: &str) -> Hour {
        let polling = Polling::far_from_the_front().await;
        let visit = Visit::with(waiting);
        let load = &self.prices.load;
        let polls = waiting * HOUR / polling.interval;
        let requests = polls + waiting * load.requests_to_join;
        let arrivals = waiting * load.requests_to_join / load.seconds_of_arrivals;
        let peak = polls / HOUR + arrivals;
        // A function has a connection of its own, which the server reads, decrypts and answers for each visit.
        let connection = load.valkey_us_of_a_connection_s_request;
        let worked = (polls * (visit.poll + connection) + waiting * (visit.first + connection)) / HOUR / 1e6;
        let with_joins = |joins: f64| Load {
            hours: 1.0,
            visitors: waiting,
            requests: polls + joins * load.requests_to_join,
            bytes_in: polls * load.bytes_of_a_poll_s_request,
            bytes_out: polls * load.bytes_of_a_poll_s_answer + joins * load.bytes_to_join,
            node: node.to_owned(),
        };
        let cost = |joins| self.prices.cost(&Deployed::TEMPLATE, &with_joins(joins));
        Hour {
            waiting,
            node: node.to_owned(),
            requests,
            peak,
            paused_peak: waiting / Polling::paused().await.interval + arrivals,
            short_peak: waiting * polls_of_the_last_minutes() / LAST_SECONDS as f64 + arrivals,
            memory: waiting * visit.memory,
            processor: worked,
            breakdown: cost(waiting),
            later: cost(0.0).sum(),
        }
    }

    async fn columns(&self) -> Vec<Hour> {
        let mut hours = Vec::new();
        for column in &self.columns {
            hours.push(self.hour(column["waiting"].as_f64().unwrap(), column["node"].as_str().unwrap()).await);
        }
        hours
    }
}

/// What the template makes of it.
fn deployed(stack: &Stack) -> Deployed {
    let megabytes = |function: &str| stack.properties(function)["MemorySize"].as_f64().unwrap();
    let metrics = |alarm: &String| {
        let alarm = stack.properties(alarm);
        let several = alarm["Metrics"].as_array();
        // A band of what is usual is paid for like two metrics.
        let paid = |metric: &Value| match metric["Expression"].as_str() {
            Some(expression) => {
                if expression.starts_with("ANOMALY_DETECTION_BAND") {
                    2
                } else {
                    0
                }
            }
            None => 1,
        };
        several.map_or(1, |metrics| metrics.iter().map(paid).sum())
    };
    let metrics: usize = stack.resources("AWS::CloudWatch::Alarm").iter().map(metrics).sum();
    Deployed {
        gate_mb: megabytes("Gate"),
        purge_mb: megabytes("Purge"),
        metrics_mb: megabytes("Metrics"),
        health_check_every: stack.properties("GateTargetGroup")["HealthCheckIntervalSeconds"].as_f64().unwrap(),
        themes_recheck: stack.environment("Gate")["VESTIBULE_THEMES_RECHECK"].parse().unwrap(),
        secrets: stack.resources("AWS::SecretsManager::Secret").len() as f64,
        kms_keys: stack.resources("AWS::KMS::Key").len() as f64,
        alarm_metrics: metrics as f64,
    }
}

#[test]
fn cost_model_matches_the_template() {
    assert_eq!(deployed(&Stack::deploy(&[])), Deployed::TEMPLATE);
}

fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap()).collect();
    groups.join(",")
}

fn table(model: &Model, hours: &[Hour]) -> String {
    let row = |name: &str, cell: &dyn Fn(&Hour) -> String| {
        let cells: Vec<String> = hours.iter().map(cell).collect();
        format!("| {name} | {} |\n", cells.join(" | "))
    };
    let units = |peak: f64| format!("**{}**", thousands(model.prices.concurrency(peak) as f64));
    let dollars = |of: fn(&CostBreakdown) -> f64| move |hour: &Hour| format!("${:.2}", of(&hour.breakdown));
    let mut text = row("waiting visitors", &|hour| {
        if hour.waiting == 0.0 { "idle".to_owned() } else { thousands(hour.waiting) }
    });
    text += "| --- |";
    text += &" ---: |".repeat(hours.len());
    text += "\n";
    text += &row("requests per second", &|hour| thousands(hour.requests / HOUR));
    text += &row("at the peak, arrivals included", &|hour| thousands(hour.peak));
    text += &row("**Lambda concurrency**", &|hour| units(hour.peak));
    text += &row("while paused: at the peak", &|hour| thousands(hour.paused_peak));
    text += &row("**Lambda concurrency while paused**", &|hour| units(hour.paused_peak));
    text += &row("waits under 5 minutes: at the peak", &|hour| thousands(hour.short_peak));
    text += &row("**Lambda concurrency for waits under 5 minutes**", &|hour| units(hour.short_peak));
    text += &row("memory of the line", &|hour| format!("{:.0} MB", hour.memory / 1e6));
    text += &row("CPU of Valkey, of one core", &|hour| format!("{:.0} %", hour.processor * 100.0));
    text += &row("nodes", &|hour| {
        format!("{} x {}", model.prices.load.redis_nodes, hour.node.trim_start_matches("cache."))
    });
    text += &row("Lambda", &dollars(|breakdown| breakdown.lambda));
    text += &row("load balancer", &dollars(|breakdown| breakdown.load_balancer));
    text += &row("data out", &dollars(|breakdown| breakdown.data_out));
    text += &row("Valkey", &dollars(|breakdown| breakdown.valkey));
    text += &row("traffic between zones", &dollars(|breakdown| breakdown.between_zones));
    text += &row("S3", &dollars(|breakdown| breakdown.s3));
    text += &row("secrets, KMS key, alarms", &dollars(|breakdown| breakdown.kept));
    text += &row("**one hour**", &|hour| format!("**${:.2}**", hour.breakdown.sum()));
    text += &row("a later hour, without arrivals", &|hour| format!("${:.2}", hour.later));
    text += &row("additional: web ACL", &dollars(|breakdown| breakdown.web_acl));
    text += &row("additional: a log line per request", &dollars(|breakdown| breakdown.request_log));
    let kept = |deployed: &Deployed| model.prices.monthly_cost(deployed);
    let more = kept(&deployed(&Stack::deploy_all(&[("Jobs", "off")]))) - kept(&Deployed::TEMPLATE);
    let idle = hours[0].breakdown.sum() * MONTH;
    let caveat = format!("All amounts are estimates: {CAVEAT}.");
    text + &format!("\n{caveat}\n\nOne month idle: ${idle:.0}; the backoffice adds ${more:.2}.\n")
}

#[tokio::test]
async fn cost_table_matches_formulas_and_prices() {
    let model = Model::new();
    let expected = table(&model, &model.columns().await);
    let document = text_of("docs/aws/cost.md");
    let (_, rest) = document.split_once("<!-- costs -->\n").expect("the start of the costs");
    let (shown, _) = rest.split_once("<!-- /costs -->").expect("the end of the costs");
    assert!(shown.trim() == expected.trim(), "docs/aws/cost.md has other costs than these:\n\n{expected}");
}

#[tokio::test]
async fn concurrency_covers_polls_and_arrivals() {
    let model = Model::new();
    for hour in model.columns().await {
        assert!(
            model.prices.concurrency(hour.peak) as f64 * 10.0 >= hour.peak,
            "{}: Lambda allows 10 requests a second per unit",
            hour.waiting
        );
        assert!(hour.peak >= hour.requests / HOUR, "{}: arrivals come on top of the hour's average", hour.waiting);
        assert!(hour.paused_peak >= hour.peak, "{}: no wait is known, so nobody polls rarely", hour.waiting);
    }
}

#[tokio::test]
async fn documented_sizes_of_a_sale_match_the_table() {
    let model = Model::new();
    let hour = model.hour(1e5, "cache.m7g.large").await;
    let [paused, short] = [hour.paused_peak, hour.short_peak].map(|peak| model.prices.concurrency(peak) as f64);
    let expected = format!("{} units while paused", thousands(paused));
    for document in ["docs/aws/tutorial.md", "docs/aws/reference.md"] {
        assert!(text_of(document).contains(&expected), "{document}: {expected}");
    }
    let expected = format!("{} units if all of them wait for less than five minutes", thousands(short));
    assert!(text_of("docs/aws/reference.md").contains(&expected), "{expected}");
}

#[tokio::test]
async fn every_node_in_the_table_fits_its_line() {
    let model = Model::new();
    for hour in model.columns().await {
        let node = &model.prices.nodes[&hour.node];
        let (memory, steady) = (node.memory_gib * 1024.0 * 1024.0 * 1024.0, node.steady_share_of_a_processor);
        assert!(hour.memory <= memory * MEMORY_IN_USE, "{}: memory", hour.waiting);
        assert!(hour.processor <= steady, "{}: {} of a processor", hour.waiting, hour.processor);
    }
}

#[tokio::test]
async fn a_million_waiting_visitors_send_few_requests() {
    let hour = Model::new().hour(1e6, "cache.m7g.large").await;
    assert!(hour.requests / HOUR <= 12_500.0, "{} requests per second", hour.requests / HOUR);
    assert!(hour.later <= 18.0, "{} dollars", hour.later);
}

#[tokio::test]
async fn poll_size_matches_the_cost_model() {
    let model = Model::new();
    let assumed = model.prices.load.bytes_of_a_poll_s_answer;
    let measured = Polling::far_from_the_front().await.answer as f64;
    assert!(measured <= assumed && measured >= 0.8 * assumed, "{measured} bytes, and {assumed} in prices.json");
}
