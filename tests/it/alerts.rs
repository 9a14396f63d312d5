//! The alerts and the dashboards: every rule fires where it should, and every query asks for what there is.

mod drill;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use vestibule_metrics::CATALOG;

const RULES: &str = "deploy/prometheus/alerts/vestibule.rules.yml";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests stand in the repository").to_owned()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn promtool(arguments: &[&str]) {
    let output =
        Command::new("promtool").args(arguments).current_dir(root()).output().expect("promtool: scripts/setup");
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "promtool {arguments:?}: {said}");
}

/// Every query of a dashboard, its panels' and its variables'.
fn queries(dashboard: &Value) -> Vec<String> {
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
    let variables = dashboard["templating"]["list"].as_array().unwrap().iter();
    let asked = targets.map(|target| &target["expr"]).chain(variables.map(|variable| &variable["definition"]));
    asked.map(|query| query.as_str().unwrap().to_owned()).collect()
}

fn dashboards() -> Vec<(String, Value)> {
    let folder = root().join("deploy/grafana/dashboards");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|path| (path.display().to_string(), serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()))
        .collect()
}

/// Names in a query that can only be metrics of Vestibule's own.
fn metrics_in(query: &str) -> impl Iterator<Item = &str> {
    let word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    query.split(word).filter(|word| word.starts_with("vestibule_"))
}

/// Every name under which a metric is found: a histogram's parts are metrics of their own.
fn known() -> BTreeSet<String> {
    let parts = ["", "_bucket", "_sum", "_count"];
    CATALOG.iter().flat_map(|metric| parts.map(|part| format!("{}{part}", metric.name))).collect()
}

#[test]
fn alert_rules_pass_promtool_tests() {
    promtool(&["check", "rules", RULES]);
    promtool(&["test", "rules", "deploy/prometheus/alerts/vestibule.test.yml"]);
}

#[test]
fn grafana_dashboards_use_existing_metrics() {
    let known = known();
    let all = dashboards();
    assert!(all.len() >= 3, "{all:?}");
    for (file, dashboard) in all {
        for query in queries(&dashboard) {
            for metric in metrics_in(&query) {
                assert!(known.contains(metric), "{file} asks for {metric}, which there is not");
            }
        }
    }
}

#[test]
fn every_alert_is_tested_and_in_the_runbook() {
    let (rules, tests, runbook) =
        (read(RULES), read("deploy/prometheus/alerts/vestibule.test.yml"), read("docs/runbook.md"));
    let known = known();
    for line in rules.lines().filter(|line| !line.trim_start().starts_with('#')) {
        for metric in metrics_in(line) {
            assert!(known.contains(metric), "the alerts ask for {metric}, which there is not");
        }
    }
    let alerts: Vec<&str> = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert!(alerts.len() > 10, "{alerts:?}");
    for alert in alerts {
        assert!(tests.contains(&format!("alertname: {alert}\n")), "{alert} has no test");
        assert!(runbook.contains(&format!("## {alert}\n")), "{alert} has no section in docs/runbook.md");
        assert!(
            rules.contains(&format!("runbook: docs/runbook.md#{}\n", alert.to_lowercase())),
            "{alert} names no runbook"
        );
    }
}

#[test]
fn grafana_queries_are_valid_promql() {
    let mut rules = "groups:\n  - name: queries\n    rules:\n".to_owned();
    let all: Vec<String> = dashboards().iter().flat_map(|(_, dashboard)| queries(dashboard)).collect();
    for (index, query) in all.iter().filter(|query| !query.starts_with("label_values")).enumerate() {
        let query = query.replace("$tenant", ".*").replace("$queue", "acme").replace("$job_queue", ".*");
        let quoted = serde_json::to_string(&query).unwrap();
        rules += "      - record: \"query:";
        rules += &index.to_string();
        rules += "\"\n        expr: ";
        rules += &quoted;
        rules += "\n";
    }
    let file = tempfile::NamedTempFile::with_suffix(".yml").unwrap();
    fs::write(file.path(), rules).unwrap();
    promtool(&["check", "rules", &file.path().display().to_string()]);
}
