//! A handler that panics fails one invocation, and the process goes on with the next.

use std::process::Stdio;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use serde_json::{Value, json};
use tokio::process::Command;
use vestibule_tests::RuntimeApi;

fn event(path: &str) -> String {
    let context = json!({ "elb": { "targetGroupArn": "arn" } });
    let none = json!({});
    json!({ "requestContext": context, "httpMethod": "GET", "path": path, "headers": none, "body": "" }).to_string()
}

/// The functions' own runtime and adapter around a router that panics, in a process of its own.
#[tokio::test]
#[ignore = "a function, which the test below starts"]
async fn a_function_that_panics() {
    let router = Router::new().route("/panic", get(|| async { panics() })).fallback(|| async { "fine" });
    vestibule_lambda::run_function(router).await.unwrap();
}

fn panics() -> &'static str {
    panic!("on purpose")
}

#[tokio::test]
async fn a_panic_fails_one_invocation_only() {
    let api = RuntimeApi::open(Duration::from_secs(20)).await;
    let mut function = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "functions::panics::a_function_that_panics", "--ignored"])
        .env("AWS_LAMBDA_RUNTIME_API", api.address())
        .env("AWS_LAMBDA_FUNCTION_NAME", "panics")
        .env("AWS_LAMBDA_FUNCTION_VERSION", "1")
        .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128")
        .env("AWS_LAMBDA_LOG_STREAM_NAME", "log")
        .env("AWS_LAMBDA_LOG_GROUP_NAME", "log")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    for _ in 0..3 {
        let error: Value = serde_json::from_str(&api.invoke(event("/panic")).await.unwrap_err()).unwrap();
        assert!(error["errorMessage"].as_str().unwrap().contains("on purpose"), "{error}");
        let answer: Value = serde_json::from_slice(&api.invoke(event("/")).await.unwrap()).unwrap();
        assert_eq!((&answer["statusCode"], &answer["body"]), (&json!(200), &json!("fine")));
    }
    assert!(function.try_wait().unwrap().is_none(), "the process ended");
}

/// Which is so only because a panic unwinds: the release profile may not trade that for a smaller program.
#[test]
fn release_profile_unwinds_panics() {
    assert!(!include_str!("../../../Cargo.toml").contains("panic = \"abort\""));
}
