//! The container service that holds the streams of a deployment whose gate is a function.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::{Value, json};
use vestibule::cost::PriceSheet;

use super::resources::number;
use super::rules::target_of_path;
use super::stack::{Stack, template, text_of};

const WITH_STREAMS: [(&str, &str); 2] = [("StreamTasks", "3"), ("StreamImage", "example.com/vestibule:1")];

fn stack(more: &[(&str, &str)]) -> Stack {
    Stack::deploy(&[&WITH_STREAMS, more].concat())
}

/// What the service is made of.
fn parts(stack: &Stack) -> Vec<String> {
    let template = template();
    let names = template["Resources"].as_object().unwrap().keys();
    names.filter(|name| name.starts_with("Stream") && stack.has(name)).cloned().collect()
}

fn container(stack: &Stack) -> Value {
    stack.properties("StreamTask")["ContainerDefinitions"][0].clone()
}

/// The parameters of the secrets that the container gets, by their names.
fn secrets(container: &Value) -> BTreeMap<String, String> {
    let given = container["Secrets"].as_array().unwrap().iter().filter(|secret| !secret.is_null());
    given
        .map(|secret| {
            let text = |field: &str| secret[field].as_str().unwrap().to_owned();
            (text("Name"), text("ValueFrom"))
        })
        .collect()
}

#[test]
fn without_tasks_there_are_no_streams() {
    let none = Stack::deploy(&[]);
    assert_eq!(parts(&none), [""; 0]);
    assert_eq!(none.environment("Gate")["VESTIBULE_STREAM_URL"], "");
    let own = Stack::deploy(&[("StreamUrl", "/own/stream")]);
    assert_eq!(own.environment("Gate")["VESTIBULE_STREAM_URL"], "/own/stream");
}

#[test]
fn tasks_serve_the_path_of_streams() {
    let stack = stack(&[]);
    assert_eq!(stack.environment("Gate")["VESTIBULE_STREAM_URL"], "/_vestibule/stream");
    assert_eq!(target_of_path(&stack, "/_vestibule/stream"), "stream");
    assert_eq!(target_of_path(&stack, "/_vestibule/status"), "gate");
    assert_eq!(number(&stack.properties("StreamRule")["Priority"]), 15);
    let service = stack.properties("StreamService");
    assert_eq!((number(&service["DesiredCount"]), &service["LaunchType"]), (3, &json!("FARGATE")));
    let groups = &service["NetworkConfiguration"]["AwsvpcConfiguration"]["SecurityGroups"];
    assert_eq!(groups, &json!(["streamsecuritygroup", "redisclientssecuritygroup"]));
    assert_eq!(container(&stack)["Image"], "example.com/vestibule:1");
    let group = stack.properties("StreamTargetGroup");
    assert_eq!(number(&group["Port"]), 8080);
    assert_eq!(group["Matcher"]["HttpCode"], "200", "a load balancer takes up to 499");
    assert_eq!(group["HealthCheckPath"], "/_vestibule/jwks.json", "a task without its store is not replaced");
}

#[test]
fn stream_containers_have_the_keys_of_the_gate() {
    for set in ["A", "A+B", "B+A", "B"] {
        let stack = stack(&[("KeysInUse", set)]);
        let container = container(&stack);
        assert_eq!(container["EntryPoint"], json!(["/bin/sh", "-c"]));
        let script = container["Command"][0].as_str().unwrap();
        let script = script.replace("exec vestibule serve", "env");
        assert!(script.ends_with("env"), "{script}");
        let given = secrets(&container).into_iter();
        let given = given.map(|(name, secret)| {
            let secret = stack.resolved(&format!("{{{{resolve:secretsmanager:{secret}}}}}"));
            (name, secret)
        });
        let output = Command::new("sh").args(["-c", &script]).env_clear().envs(given).output().unwrap();
        let output = String::from_utf8(output.stdout).unwrap();
        let environment: BTreeMap<&str, &str> = output.lines().filter_map(|line| line.split_once('=')).collect();
        let keys = |text: &str| text.split(',').filter(|key| !key.is_empty()).map(str::to_owned).collect::<Vec<_>>();
        let gate = stack.environment("Gate");
        for name in ["VESTIBULE_TICKET_KEYS", "VESTIBULE_PASS_KEYS", "VESTIBULE_SALE_KEYS", "VESTIBULE_REDIS_URL"] {
            let expected = keys(&gate[name]);
            assert!(!expected.is_empty(), "{name}");
            assert_eq!(environment.get(name).map(|text| keys(text)), Some(expected), "{set}: {name}");
        }
    }
}

#[test]
fn stream_containers_know_clients_as_the_gate_does() {
    let stack = stack(&[("TrustedProxies", "2"), ("ClientAddress", "cf-connecting-ip")]);
    let (container, gate) = (container(&stack), stack.environment("Gate"));
    for name in ["VESTIBULE_TRUSTED_PROXIES", "VESTIBULE_CLIENT_ADDRESS"] {
        let variables = container["Environment"].as_array().unwrap();
        let variable = variables.iter().find(|variable| variable["Name"] == name).unwrap_or(&Value::Null);
        assert_eq!(variable["Value"], gate[name], "{name}");
    }
}

#[test]
fn stream_role_reads_only_the_secrets_of_its_containers() {
    for set in ["A", "B+A"] {
        let stack = stack(&[("KeysInUse", set)]);
        let statements = stack.properties("StreamRole")["Policies"][0]["PolicyDocument"]["Statement"].clone();
        let reads = statements.as_array().unwrap().iter().find(|statement| statement["Sid"] == "ReadTheKeys").unwrap();
        let texts = |value: &Value| -> BTreeSet<String> {
            value.as_array().unwrap().iter().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let needed: BTreeSet<String> = secrets(&container(&stack)).into_values().collect();
        assert!(texts(&reads["Resource"]).is_superset(&needed), "{set}: {reads}");
        assert_eq!(reads["Action"], "secretsmanager:GetSecretValue");
    }
}

#[test]
fn stream_containers_fit_their_streams() {
    let container = container(&stack(&[]));
    let variables = container["Environment"].as_array().unwrap().iter();
    let variable = |name: &str| variables.clone().find(|variable| variable["Name"] == name).unwrap()["Value"].clone();
    let (streams, connections) =
        (number(&variable("VESTIBULE_STREAMS_MAX")), number(&variable("VESTIBULE_CONNECTIONS")));
    assert!(connections >= 2 * streams, "streams leave half of the connections to other requests");
    // Two for each connection, and some for the store and files: otherwise the program lowers its limits.
    assert!(number(&container["Ulimits"][0]["SoftLimit"]) > 2 * connections + 1_000);
    let memory = number(&stack(&[]).properties("StreamTask")["Memory"]) << 20;
    assert!(memory >= 3 * streams * (32 << 10), "32 KB a stream");
    let prices = PriceSheet::built_in();
    assert!((streams as f64 - prices.load.streams_of_a_task).abs() < f64::EPSILON);
}

#[test]
fn documented_stream_costs_match_prices() {
    let sheet: Value = serde_json::from_str(&text_of("docs/aws/prices.json")).unwrap();
    let price = |name: &str| sheet["prices"][name].as_f64().unwrap();
    let stack = stack(&[]);
    let task = stack.properties("StreamTask");
    let (cores, gigabytes) = (number(&task["Cpu"]) as f64 / 1024.0, number(&task["Memory"]) as f64 / 1024.0);
    let container = cores * price("fargate_arm64_per_vcpu_hour") + gigabytes * price("fargate_arm64_per_gb_hour");
    // A unit of the load balancer carries 3,000 connections.
    let balancer = PriceSheet::built_in().load.streams_of_a_task / 3_000.0 * price("load_balancer_per_lcu_hour");
    let expected =
        format!("${container:.3} for the container and ${balancer:.3} for the connections at the load balancer");
    assert!(text_of("docs/aws/cost.md").contains(&expected), "docs/aws/cost.md: {expected}");
}
