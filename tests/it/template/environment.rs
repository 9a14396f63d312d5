//! Every variable that a function reads is set in the template and documented, and none is set that nobody reads.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use http::StatusCode;
use vestibule_tests::{AdminClient, Balancer, BalancerOptions, Deployment, Function, Redis, Visitor};

use super::reach::variables;
use super::stack::{Stack, template, text_of};

pub(crate) const FUNCTIONS: [&str; 5] = ["Admin", "Gate", "Metrics", "Purge", "Worker"];

fn set(function: &str) -> BTreeSet<String> {
    Stack::deploy_all(&[]).environment(function).into_keys().collect()
}

#[test]
fn there_are_no_other_functions() {
    assert_eq!(Stack::deploy_all(&[]).resources("AWS::Serverless::Function"), FUNCTIONS);
}

#[test]
fn without_a_host_there_is_nothing_of_a_backoffice() {
    let without = Stack::deploy(&[]);
    let names = template()["Resources"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let left: Vec<_> = names.iter().filter(|name| name.contains("Admin") && without.has(name)).collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(without.resources("AWS::Serverless::Function"), FUNCTIONS[1..4]);
}

#[test]
fn functions_get_exactly_the_variables_they_read() {
    for function in FUNCTIONS {
        assert_eq!(set(function), variables(function), "{function}: set, and read");
    }
}

#[test]
fn function_variables_are_documented() {
    let document = text_of("docs/aws/reference.md");
    let (_, section) = document.split_once("\n## Environment\n").expect("a section of the environment");
    let rows = section.split("\n## ").next().unwrap().lines().filter(|line| line.starts_with("| `"));
    let documented: BTreeSet<(String, String)> = rows
        .flat_map(|row| {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let name = cells[1].trim_matches('`').to_owned();
            cells[2].split(", ").map(|function| (name.clone(), function.to_owned())).collect::<Vec<_>>()
        })
        .collect();
    let functions = FUNCTIONS
        .iter()
        .flat_map(|function| set(function).into_iter().map(|variable| (variable, function.to_lowercase())));
    assert_eq!(documented, functions.collect::<BTreeSet<_>>());
}

/// A function with the environment that the template gives it, over a Redis that is there.
fn deployment(function: &str, redis: &str) -> Deployment {
    let environment = Stack::deploy_all(&[("KeysInUse", "B+A")]).environment(function);
    let given = environment.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    given.fold(Deployment::of(&function.to_lowercase()), |deployment, (name, value)| {
        deployment.env(name, if name == "VESTIBULE_REDIS_URL" { redis } else { value })
    })
}

#[tokio::test]
async fn each_variable_is_looked_at_by_the_program() {
    join_all(FUNCTIONS.map(|function| async move {
        for variable in set(function) {
            is_looked_at(function, &variable).await;
        }
    }))
    .await;
}

/// Starts a function with wrong values until its error or log names the variable.
async fn is_looked_at(function: &str, variable: &str) {
    let mut said = Vec::new();
    // What takes nearly any text is missed at least, or shown to somebody.
    for wrong in ["==", "", "\u{7}"] {
        let wrong = deployment(function, "redis://127.0.0.1:1").env(variable, wrong).instances(1).await;
        if let Err(error) = wrong.invoke("{}").await {
            said.push(format!("{error}\n{}", wrong.log()));
        }
        if said.last().is_some_and(|said| said.contains(variable)) {
            return;
        }
    }
    panic!("{function} does not look at {variable}: {said:?}");
}

async fn started(function: &str) -> Function {
    deployment(function, &Redis::shared().await.url()).instances(1).await
}

#[tokio::test]
async fn gate_starts_with_its_variables() {
    let group = Stack::deploy(&[]).properties("GateTargetGroup");
    let balancer = Balancer::before(started("Gate").await, BalancerOptions::default()).await;
    let status = balancer.check_health(group["HealthCheckPath"].as_str().unwrap()).await;
    assert_eq!(status.as_str(), group["Matcher"]["HttpCode"], "{}", balancer.function().log());
}

#[tokio::test]
async fn metrics_start_with_their_variables() {
    let stack = Stack::deploy_all(&[("KeysInUse", "B+A")]);
    let rule = stack.properties("MetricsRule");
    let path = rule["Conditions"][0]["PathPatternConfig"]["Values"][0].as_str().unwrap();
    let token = &stack.environment("Metrics")["VESTIBULE_METRICS_TOKEN"];
    let balancer = Balancer::before(started("Metrics").await, BalancerOptions::default()).await;
    let prometheus = Visitor::new(balancer.address(), "tickets.example.com");
    let mut prometheus = prometheus.with_header("authorization", &format!("Bearer {token}"));
    let answer = prometheus.fetch(path).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", balancer.function().log());
    assert!(answer.text().contains("vestibule_up"));
}

#[tokio::test]
async fn admin_starts_with_its_variables_and_signs_in() {
    let redis = Redis::start().await;
    let admin = deployment("Admin", &redis.url()).instances(1).await;
    let bootstrap =
        Stack::deploy_all(&[("KeysInUse", "B+A")]).environment("Admin")["VESTIBULE_ADMIN_BOOTSTRAP"].clone();
    let (name, password) = bootstrap.split_once(':').unwrap();
    let balancer = Balancer::before(admin, BalancerOptions::default()).await;
    let mut client = AdminClient::at(balancer.address());
    client.sign_in(name, password).await;
    assert_eq!(client.get("/sign-in").await.json()["role"], "superuser", "{}", balancer.function().log());
}

#[tokio::test]
async fn purge_starts_with_its_variables() {
    let purge = started("Purge").await;
    let round = purge.invoke("{}").await;
    assert!(round.is_ok(), "{round:?} {}", purge.log());
}
