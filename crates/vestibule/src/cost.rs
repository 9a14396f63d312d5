//! The estimated cost of a run on AWS at list prices (docs/aws/prices.json).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use vestibule_workload::report::{CostEstimate, CostItem};
use vestibule_workload::visitor::VisitorTrace;
use vestibule_workload::{RequestStats, RunSummary, SimTime};

/// The caveat of every amount. A test compares it with the price sheet.
pub const CAVEAT: &str = "us-east-1 list prices noted from memory on 2026-11-21: check them";
/// Bytes that a visitor takes in Redis if it was not measured: docs/internals/benchmarks.md.
const STORE_BYTES: f64 = 257.5;

const HOUR: f64 = 3600.0;
/// Hours of a month in AWS prices.
pub const MONTH: f64 = 730.0;
const GB: f64 = 1e9;
/// One load balancer capacity unit (LCU) with Lambda targets.
const UNIT_GB: f64 = 0.4;
const UNIT_NEW_CONNECTIONS: f64 = 25.0;
const UNIT_CONNECTIONS: f64 = 3000.0;
/// Requests per second that Lambda allows per unit of concurrency, however short the requests are.
const REQUESTS_PER_CONCURRENCY: f64 = 10.0;

/// Prices, node types and assumptions.
#[derive(Debug, Clone, Deserialize)]
pub struct PriceSheet {
    /// The date of the prices.
    pub taken: String,
    /// The region.
    pub region: String,
    prices: Prices,
    /// The node types.
    pub nodes: BTreeMap<String, Node>,
    /// The assumptions.
    pub load: LoadAssumptions,
}

/// A Valkey node type.
#[derive(Debug, Clone, Deserialize)]
pub struct Node {
    /// Memory in GiB.
    pub memory_gib: f64,
    /// Sustained CPU share of one processor.
    pub steady_share_of_a_processor: f64,
}

#[derive(Debug, Clone, Deserialize)]
struct Prices {
    lambda_per_million_requests: f64,
    lambda_arm64_per_gb_second: f64,
    load_balancer_per_hour: f64,
    load_balancer_per_lcu_hour: f64,
    data_out_per_gb: f64,
    logs_per_gb: f64,
    s3_per_thousand_lists: f64,
    s3_per_thousand_gets: f64,
    public_ipv4_per_hour: f64,
    between_zones_per_gb: f64,
    web_acl_per_month: f64,
    web_acl_per_million_requests: f64,
    secret_per_month: f64,
    kms_key_per_month: f64,
    alarm_metric_per_month: f64,
    valkey_per_node_hour: BTreeMap<String, f64>,
}

/// Assumptions about a load.
#[derive(Debug, Clone, Deserialize)]
#[expect(missing_docs, reason = "the names are those of the file")]
pub struct LoadAssumptions {
    pub billed_ms_per_request: f64,
    pub requests_to_join: f64,
    pub seconds_of_arrivals: f64,
    pub bytes_to_join: f64,
    pub bytes_of_a_poll_s_request: f64,
    pub bytes_of_a_poll_s_answer: f64,
    pub connections_per_visitor_hour: f64,
    pub bytes_of_a_request_s_log_line: f64,
    pub scrape_every_seconds: f64,
    pub billed_ms_of_a_scrape: f64,
    pub billed_ms_of_a_purge: f64,
    pub load_balancer_nodes: f64,
    pub streams_of_a_task: f64,
    pub themes_in_use: f64,
    pub files_of_a_theme: f64,
    pub redis_nodes: f64,
    pub valkey_us_of_a_connection_s_request: f64,
    pub bytes_of_a_request_to_valkey: f64,
    pub share_between_zones: f64,
}

/// The deployment of template.yaml.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deployed {
    /// Memory of the gate, in MB.
    pub gate_mb: f64,
    /// Memory of the purge, in MB.
    pub purge_mb: f64,
    /// Memory of the metrics, in MB.
    pub metrics_mb: f64,
    /// Interval of the health checks, in seconds.
    pub health_check_every: f64,
    /// Seconds between checks for changed themes.
    pub themes_recheck: f64,
    /// Number of secrets.
    pub secrets: f64,
    /// Number of KMS keys.
    pub kms_keys: f64,
    /// Number of metrics in alarms.
    pub alarm_metrics: f64,
}

impl Deployed {
    /// The defaults of the template.
    pub const TEMPLATE: Self = Self {
        gate_mb: 512.0,
        purge_mb: 256.0,
        metrics_mb: 256.0,
        health_check_every: 35.0,
        themes_recheck: 10.0,
        secrets: 5.0,
        kms_keys: 1.0,
        alarm_metrics: 26.0,
    };
}

/// The load of a deployment.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// Duration in hours.
    pub hours: f64,
    /// Mean number of visitors.
    pub visitors: f64,
    /// Number of requests.
    pub requests: f64,
    /// Size of all requests, in bytes.
    pub bytes_in: f64,
    /// Size of all responses, in bytes.
    pub bytes_out: f64,
    /// The node type of the store.
    pub node: String,
}

/// The parts of a cost, in dollars.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CostBreakdown {
    /// Lambda functions.
    pub lambda: f64,
    /// Load balancer with a public IPv4 address per zone.
    pub load_balancer: f64,
    /// Data transfer out.
    pub data_out: f64,
    /// The store.
    pub valkey: f64,
    /// Data transfer between zones.
    pub between_zones: f64,
    /// S3 requests for themes.
    pub s3: f64,
    /// Secrets, KMS key and alarms, which have monthly prices.
    pub kept: f64,
    /// Additional cost of a web ACL.
    pub web_acl: f64,
    /// Additional cost of a log line per request.
    pub request_log: f64,
}

impl CostBreakdown {
    /// The total without the web ACL and the request log.
    pub fn sum(&self) -> f64 {
        self.lambda + self.load_balancer + self.data_out + self.valkey + self.between_zones + self.s3 + self.kept
    }
}

impl PriceSheet {
    /// The built-in price sheet.
    #[expect(
        clippy::expect_used,
        clippy::missing_panics_doc,
        reason = "the file is part of the program, and a test reads it"
    )]
    pub fn built_in() -> Self {
        let text = include_str!("../../../docs/aws/prices.json");
        serde_json::from_str(text).expect("a valid price sheet")
    }

    /// The smallest node type with twice the memory that the visitors need.
    pub fn node_for(&self, visitors: f64, bytes_each: f64) -> String {
        let needed = visitors * bytes_each * 2.0 / (1024.0 * 1024.0 * 1024.0);
        let mut nodes: Vec<_> = self.nodes.iter().collect();
        nodes.sort_by(|(_, one), (_, other)| one.memory_gib.total_cmp(&other.memory_gib));
        let large_enough = nodes.iter().find(|(_, node)| node.memory_gib >= needed);
        large_enough.or(nodes.last()).map(|(name, _)| (*name).clone()).unwrap_or_default()
    }

    /// Lambda concurrency for a request rate: a unit per 10 requests per second, or per request in progress if that is more.
    pub fn concurrency(&self, requests_per_second: f64) -> u64 {
        (requests_per_second / REQUESTS_PER_CONCURRENCY).max(self.requests_in_progress(requests_per_second)).ceil()
            as u64
    }

    /// Mean number of requests in progress.
    pub fn requests_in_progress(&self, requests_per_second: f64) -> f64 {
        requests_per_second * self.load.billed_ms_per_request / 1000.0
    }

    /// The cost of a load.
    pub fn cost(&self, deployed: &Deployed, load: &Load) -> CostBreakdown {
        let node = self.prices.valkey_per_node_hour.get(&load.node).copied().unwrap_or(f64::NAN);
        let prices = &self.prices;
        CostBreakdown {
            lambda: self.lambda(deployed, load),
            load_balancer: self.load_balancer(load),
            data_out: load.bytes_out / GB * prices.data_out_per_gb,
            valkey: load.hours * self.load.redis_nodes * node,
            between_zones: load.requests * self.load.bytes_of_a_request_to_valkey * self.load.share_between_zones / GB
                * prices.between_zones_per_gb,
            s3: self.s3(deployed, load),
            kept: load.hours * self.monthly_cost(deployed) / MONTH,
            web_acl: load.hours * prices.web_acl_per_month / MONTH
                + load.requests / 1e6 * prices.web_acl_per_million_requests,
            request_log: load.requests * self.load.bytes_of_a_request_s_log_line / GB * prices.logs_per_gb,
        }
    }

    /// Monthly cost of secrets, KMS key and alarms.
    pub fn monthly_cost(&self, deployed: &Deployed) -> f64 {
        deployed.secrets * self.prices.secret_per_month
            + deployed.kms_keys * self.prices.kms_key_per_month
            + deployed.alarm_metrics * self.prices.alarm_metric_per_month
    }

    fn lambda(&self, deployed: &Deployed, load: &Load) -> f64 {
        let called = |megabytes: f64, calls: f64, ms: f64| {
            let worked = calls * ms / 1000.0 * megabytes / 1024.0 * self.prices.lambda_arm64_per_gb_second;
            worked + calls / 1e6 * self.prices.lambda_per_million_requests
        };
        let seconds = load.hours * HOUR;
        let checks = self.load.load_balancer_nodes * seconds / deployed.health_check_every;
        called(deployed.gate_mb, load.requests + checks, self.load.billed_ms_per_request)
            + called(deployed.purge_mb, seconds / 60.0, self.load.billed_ms_of_a_purge)
            + called(deployed.metrics_mb, seconds / self.load.scrape_every_seconds, self.load.billed_ms_of_a_scrape)
    }

    fn load_balancer(&self, load: &Load) -> f64 {
        let units = [
            load.visitors * self.load.connections_per_visitor_hour / HOUR / UNIT_NEW_CONNECTIONS,
            load.visitors / UNIT_CONNECTIONS,
            (load.bytes_in + load.bytes_out) / load.hours / GB / UNIT_GB,
        ];
        let units = units.into_iter().fold(0.0, f64::max);
        let addresses = self.load.load_balancer_nodes * self.prices.public_ipv4_per_hour;
        load.hours * (self.prices.load_balancer_per_hour + addresses + units * self.prices.load_balancer_per_lcu_hour)
    }

    fn s3(&self, deployed: &Deployed, load: &Load) -> f64 {
        let in_progress = self.requests_in_progress(load.requests / (load.hours * HOUR));
        let processes = in_progress.ceil() * self.load.themes_in_use;
        processes * load.hours * HOUR / deployed.themes_recheck / 1000.0 * self.prices.s3_per_thousand_lists
            + processes * self.load.files_of_a_theme / 1000.0 * self.prices.s3_per_thousand_gets
    }
}

/// Sets the sizes of simulated requests, which have none, to the assumptions of the price sheet.
pub fn add_assumed_traffic(stats: &mut RequestStats, traces: &[VisitorTrace]) {
    let assumed = PriceSheet::built_in().load;
    let joined = traces.iter().filter(|trace| trace.joined.is_some()).count() as f64;
    stats.sent_bytes = (stats.requests * assumed.bytes_of_a_poll_s_request) as u64;
    stats.received_bytes = (stats.requests * assumed.bytes_of_a_poll_s_answer + joined * assumed.bytes_to_join) as u64;
}

/// Estimates the cost of a run, and adds it to the figures.
pub fn estimate(summary: &mut RunSummary, stats: &RequestStats, duration: SimTime) -> CostEstimate {
    let prices = PriceSheet::built_in();
    let hours = duration.seconds().max(1.0) / 3600.0;
    let figures = &mut summary.figures;
    let bytes = figures.value("store_bytes_per_visitor").unwrap_or(STORE_BYTES);
    let load = Load {
        hours,
        visitors: summary.visitor_minutes / 60.0 / hours,
        requests: stats.requests,
        bytes_in: stats.sent_bytes as f64,
        bytes_out: stats.received_bytes as f64,
        node: prices.node_for(summary.concurrency.peak_present() as f64, bytes),
    };
    let cost = prices.cost(&Deployed::TEMPLATE, &load);
    let peak = figures.value("peak_requests_per_second").unwrap_or(0.0);
    figures.add("lambda_concurrency", Some(prices.concurrency(peak) as f64));
    figures.add("cost", Some(cost.sum()));
    let items = [
        ("Lambda", cost.lambda),
        ("Load balancer", cost.load_balancer),
        ("Data out", cost.data_out),
        ("Valkey", cost.valkey),
        ("Between zones", cost.between_zones),
        ("S3", cost.s3),
        ("Secrets, KMS key and alarms", cost.kept),
        ("Total", cost.sum()),
        ("Web ACL (additional)", cost.web_acl),
        ("Log line per request (additional)", cost.request_log),
    ];
    let items = items.map(|(name, dollars)| CostItem { name, dollars }).into();
    CostEstimate { caveat: CAVEAT.to_owned(), node: load.node, items, total: cost.sum() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn concurrency_is_a_tenth_of_the_request_rate() {
        let prices = PriceSheet::built_in();
        assert_eq!(prices.concurrency(19_881.0), 1_989);
        assert_eq!(prices.concurrency(0.0), 0);
        assert!(prices.requests_in_progress(19_881.0) < 100.0, "short requests do not need fewer units");
    }

    #[test]
    fn slow_requests_need_a_unit_each() {
        let mut prices = PriceSheet::built_in();
        prices.load.billed_ms_per_request = 400.0;
        assert_eq!(prices.concurrency(100.0), 40);
    }

    #[test]
    fn caveat_has_region_and_date() {
        let PriceSheet { region, taken, .. } = PriceSheet::built_in();
        assert!(CAVEAT.contains(&region) && CAVEAT.contains(&taken) && CAVEAT.contains("check"), "{CAVEAT}");
    }
}
