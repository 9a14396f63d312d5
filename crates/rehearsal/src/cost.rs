//! What a crowd costs on AWS at list prices: the one formula, and the one table of prices (docs/deploy/prices.json).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

const HOUR: f64 = 3600.0;
/// Hours of a month, as AWS counts them.
pub const MONTH: f64 = 730.0;
const GB: f64 = 1e9;
/// What one unit of a load balancer's capacity is, where functions answer.
const UNIT_GB: f64 = 0.4;
const UNIT_NEW_CONNECTIONS: f64 = 25.0;
const UNIT_CONNECTIONS: f64 = 3000.0;

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
    secret_per_month: f64,
    alarm_metric_per_month: f64,
    valkey_per_node_hour: BTreeMap<String, f64>,
}

/// What is taken for granted of a load.
#[derive(Debug, Clone, Deserialize)]
#[expect(missing_docs, reason = "the names say it, and they are those of the file")]
pub struct Assumed {
    pub billed_ms_per_request: f64,
    pub requests_to_join: f64,
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
    pub cost_of_tls_on_valkey: f64,
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
        alarm_metrics: 16.0,
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
    /// The load balancer.
    pub load_balancer: f64,
    /// Data that leaves AWS.
    pub data_out: f64,
    /// The store.
    pub valkey: f64,
    /// The themes.
    pub s3: f64,
    /// Secrets and alarms, which are paid for by the month.
    pub kept: f64,
    /// What a log line a request would cost more.
    pub request_log: f64,
}

impl Bill {
    /// All but the log.
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.lambda + self.load_balancer + self.data_out + self.valkey + self.s3 + self.kept
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
        let text = include_str!("../../../docs/deploy/prices.json");
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

    /// How many gates run at once for so many requests a second.
    #[must_use]
    pub fn gates_at_once(&self, requests_per_second: f64) -> f64 {
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
            s3: self.s3(deployed, load),
            kept: load.hours * self.kept_for_a_month(deployed) / MONTH,
            request_log: load.requests * self.load.bytes_of_a_request_s_log_line / GB * prices.logs_per_gb,
        }
    }

    /// What secrets and alarms cost a month.
    #[must_use]
    pub fn kept_for_a_month(&self, deployed: &Deployed) -> f64 {
        deployed.secrets * self.prices.secret_per_month + deployed.alarm_metrics * self.prices.alarm_metric_per_month
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
        load.hours * (self.prices.load_balancer_per_hour + units * self.prices.load_balancer_per_lcu_hour)
    }

    fn s3(&self, deployed: &Deployed, load: &Load) -> f64 {
        let at_once = self.gates_at_once(load.requests / (load.hours * HOUR));
        let processes = at_once.ceil() * self.load.themes_in_use;
        processes * load.hours * HOUR / deployed.themes_recheck / 1000.0 * self.prices.s3_per_thousand_lists
            + processes * self.load.files_of_a_theme / 1000.0 * self.prices.s3_per_thousand_gets
    }
}
