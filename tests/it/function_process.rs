//! The gate's program as a function: how it starts, what it survives, and what it does before it knows any queue.

mod concurrent;
mod malformed;
mod start;
mod store_away;

use std::time::Duration;

use serde_json::{Value, json};
use vestibule_runtime::Directory;
use vestibule_tests::{Deployment, Function, Redis};

use crate::gate_fixture::{document_of, over};

const HOST: &str = "tickets.example.com";
/// 32 bytes, as keys of either kind have.
const TICKET_KEYS: &str = "ticket-1:BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";
const PASS_KEYS: &str = "pass-1:CQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk=";

/// The gate over this Redis, one process of it, with more in its environment.
pub(crate) async fn gate(redis: &Redis, more: &[(&str, &str)]) -> Function {
    let deployment = Deployment::of("gate")
        .env("VESTIBULE_REDIS_URL", &redis.url())
        .env("VESTIBULE_TICKET_KEYS", TICKET_KEYS)
        .env("VESTIBULE_PASS_KEYS", PASS_KEYS);
    more.iter().fold(deployment, |deployment, (name, value)| deployment.env(name, value)).instances(1).await
}

/// Writes one queue before this origin, for [`HOST`], as an operator does.
pub(crate) async fn open_queue(redis: &Redis, origin: &str, changes: &Value) {
    let store = over(redis, Duration::from_secs(20));
    let document = document_of("tour", HOST, origin, changes);
    let document =
        vestibule_core::settings::parse_settings_document(&document).unwrap_or_else(|wrong| panic!("{wrong:?}"));
    let directory = Directory::new(store.clone(), document.tenants.clone(), document.queues.clone());
    directory.apply(&document.tenants, &document.queues).await.unwrap();
}

/// What a load balancer hands over, with these headers.
pub(crate) fn event(method: &str, path: &str, headers: &[(&str, &str)]) -> Value {
    let mut event = json!({
        "requestContext": { "elb": {} }, "httpMethod": method, "path": path, "body": "", "isBase64Encoded": false,
        "multiValueQueryStringParameters": {},
        "multiValueHeaders": { "host": [HOST], "x-forwarded-for": ["203.0.113.77"], "x-forwarded-proto": ["https"] },
    });
    for (name, value) in headers {
        event["multiValueHeaders"][*name] = json!([value]);
    }
    event
}

pub(crate) fn navigation(path: &str) -> Value {
    event("GET", path, &[("accept", "text/html")])
}

pub(crate) async fn call(gate: &Function, event: &Value) -> Value {
    let answer = gate.invoke(event.to_string()).await.unwrap_or_else(|error| panic!("{error}\n{}", gate.log()));
    serde_json::from_slice(&answer).unwrap()
}

pub(crate) fn header<'a>(answer: &'a Value, name: &str) -> Option<&'a str> {
    answer["multiValueHeaders"][name][0].as_str()
}

pub(crate) fn body(answer: &Value) -> &str {
    answer["body"].as_str().unwrap()
}
