//! What a crowd costs on AWS at list prices: the one formula, and the one table of prices (docs/aws/prices.json).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What stands beside every amount. A test compares it with the table.
pub const CAVEAT: &str = "us-east-1 list prices noted from memory on 2026-11-21: check them";
/// What the sum is called, with [`CAVEAT`].
pub(crate) const COST_TITLE: &str =
    "Estimated cost on AWS (us-east-1 list prices noted from memory on 2026-11-21: check them)";

const HOUR: f64 = 3600.0;
/// Hours of a month, as AWS counts them.
pub const MONTH: f64 = 730.0;
const GB: f64 = 1e9;
/// What one unit of a load balancer's capacity is, where functions answer.
const UNIT_GB: f64 = 0.4;
const UNIT_NEW_CONNECTIONS: f64 = 25.0;
const UNIT_CONNECTIONS: f64 = 3000.0;
/// Requests a second that Lambda allows for each unit of a function's concurrency, however short the requests are.
const REQUESTS_PER_CONCURRENCY: f64 = 10.0;

/// Prices, nodes, and what is taken for granted of a load.
#[derive(Debug, Clone, Deserialize)]
pub struct Sheet {
    /// When the prices were taken.
    pub taken: String,
    /// The region they are of.
    pub region: String,
    /// What they are in.
    pub currency: String,
    prices: Prices,
    /// What every node has.
    pub nodes: BTreeMap<String, Node>,
    /// What is taken for granted.
    pub load: Assumed,
}

/// A node of Valkey.
#[derive(Debug, Clone, Deserialize)]
pub struct Node {
    /// Its memory.
    pub memory_gib: f64,
    /// The share of one processor that it may work for ever.
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

/// What is taken for granted of a load.
#[derive(Debug, Clone, Deserialize)]
#[expect(missing_docs, reason = "the names say it, and they are those of the file")]
pub struct Assumed {
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
    pub themes_in_use: f64,
    pub files_of_a_theme: f64,
    pub redis_nodes: f64,
    pub valkey_us_of_a_connection_s_request: f64,
    pub bytes_of_a_request_to_valkey: f64,
    pub share_between_zones: f64,
}

/// What template.yaml makes of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deployed {
    /// Memory of the gate, in MB.
    pub gate_mb: f64,
    /// Memory of the purge, in MB.
    pub purge_mb: f64,
    /// Memory of the metrics, in MB.
    pub metrics_mb: f64,
    /// Seconds between two health checks.
    pub health_check_every: f64,
    /// Seconds between two looks at a theme.
    pub themes_recheck: f64,
    /// How many secrets are kept.
    pub secrets: f64,
    /// How many KMS keys are kept.
    pub kms_keys: f64,
    /// How many metrics alarms look at.
    pub alarm_metrics: f64,
}

impl Deployed {
    /// The template as it stands.
    pub const TEMPLATE: Self = Self {
        gate_mb: 512.0,
        purge_mb: 256.0,
        metrics_mb: 256.0,
        health_check_every: 35.0,
        themes_recheck: 10.0,
        secrets: 4.0,
        kms_keys: 1.0,
        alarm_metrics: 24.0,
    };
}

/// What is asked of a deployment.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// For how long.
    pub hours: f64,
    /// How many visitors there are on average.
    pub visitors: f64,
    /// Requests in all.
    pub requests: f64,
    /// Bytes of all requests.
    pub bytes_in: f64,
    /// Bytes of all answers.
    pub bytes_out: f64,
    /// The kind of node the store runs on.
    pub node: String,
}

/// What it costs, in dollars.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Bill {
    /// The functions.
    pub lambda: f64,
    /// The load balancer, with a public IPv4 address in each zone.
    pub load_balancer: f64,
    /// Data that leaves AWS.
    pub data_out: f64,
    /// The store.
    pub valkey: f64,
    /// Data between functions and store in different zones.
    pub between_zones: f64,
    /// The themes.
    pub s3: f64,
    /// Secrets, the KMS key and alarms, which are paid for by the month.
    pub kept: f64,
    /// What a web ACL would cost more.
    pub web_acl: f64,
    /// What a log line a request would cost more.
    pub request_log: f64,
}

impl Bill {
    /// All but the web ACL and the log.
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.lambda + self.load_balancer + self.data_out + self.valkey + self.between_zones + self.s3 + self.kept
    }
}

impl Sheet {
    /// The table that this was built with.
    #[must_use]
    #[expect(
        clippy::expect_used,
        clippy::missing_panics_doc,
        reason = "the file is part of the program, and a test reads it"
    )]
    pub fn built_in() -> Self {
        let text = include_str!("../../../docs/aws/prices.json");
        serde_json::from_str(text).expect("the table of prices can be read")
    }

    /// The smallest node whose memory holds so many visitors twice over, by what one of them takes.
    #[must_use]
    pub fn node_for(&self, visitors: f64, bytes_each: f64) -> String {
        let needed = visitors * bytes_each * 2.0 / (1024.0 * 1024.0 * 1024.0);
        let mut nodes: Vec<_> = self.nodes.iter().collect();
        nodes.sort_by(|(_, one), (_, other)| one.memory_gib.total_cmp(&other.memory_gib));
        let large_enough = nodes.iter().find(|(_, node)| node.memory_gib >= needed);
        large_enough.or(nodes.last()).map(|(name, _)| (*name).clone()).unwrap_or_default()
    }

    /// Lambda concurrency that the gate needs for its busiest second: a unit for every 10 requests a second, or one for each
    /// request that is under way if those are more.
    #[must_use]
    pub fn concurrency(&self, requests_per_second: f64) -> u64 {
        (requests_per_second / REQUESTS_PER_CONCURRENCY).max(self.requests_under_way(requests_per_second)).ceil() as u64
    }

    /// Requests that are under way at the same time, on average.
    #[must_use]
    pub fn requests_under_way(&self, requests_per_second: f64) -> f64 {
        requests_per_second * self.load.billed_ms_per_request / 1000.0
    }

    /// What a load costs.
    #[must_use]
    pub fn bill(&self, deployed: &Deployed, load: &Load) -> Bill {
        let node = self.prices.valkey_per_node_hour.get(&load.node).copied().unwrap_or(f64::NAN);
        let prices = &self.prices;
        Bill {
            lambda: self.lambda(deployed, load),
            load_balancer: self.load_balancer(load),
            data_out: load.bytes_out / GB * prices.data_out_per_gb,
            valkey: load.hours * self.load.redis_nodes * node,
            between_zones: load.requests * self.load.bytes_of_a_request_to_valkey * self.load.share_between_zones / GB
                * prices.between_zones_per_gb,
            s3: self.s3(deployed, load),
            kept: load.hours * self.kept_for_a_month(deployed) / MONTH,
            web_acl: load.hours * prices.web_acl_per_month / MONTH
                + load.requests / 1e6 * prices.web_acl_per_million_requests,
            request_log: load.requests * self.load.bytes_of_a_request_s_log_line / GB * prices.logs_per_gb,
        }
    }

    /// What secrets, the KMS key and alarms cost a month.
    #[must_use]
    pub fn kept_for_a_month(&self, deployed: &Deployed) -> f64 {
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
        let under_way = self.requests_under_way(load.requests / (load.hours * HOUR));
        let processes = under_way.ceil() * self.load.themes_in_use;
        processes * load.hours * HOUR / deployed.themes_recheck / 1000.0 * self.prices.s3_per_thousand_lists
            + processes * self.load.files_of_a_theme / 1000.0 * self.prices.s3_per_thousand_gets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn concurrency_is_a_tenth_of_the_request_rate() {
        let sheet = Sheet::built_in();
        assert_eq!(sheet.concurrency(19_881.0), 1_989);
        assert_eq!(sheet.concurrency(0.0), 0);
        assert!(sheet.requests_under_way(19_881.0) < 100.0, "short requests do not need fewer units");
    }

    #[test]
    fn slow_requests_need_a_unit_each() {
        let mut sheet = Sheet::built_in();
        sheet.load.billed_ms_per_request = 400.0;
        assert_eq!(sheet.concurrency(100.0), 40);
    }

    #[test]
    fn the_caveat_names_region_and_date() {
        let Sheet { region, taken, .. } = Sheet::built_in();
        assert!(CAVEAT.contains(&region) && CAVEAT.contains(&taken) && CAVEAT.contains("check"), "{CAVEAT}");
        assert!(COST_TITLE.contains(CAVEAT), "{COST_TITLE}");
    }
}
