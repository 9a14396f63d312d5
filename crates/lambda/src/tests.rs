mod events;
mod limits;
mod malformed;
mod responses;

use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use serde_json::{Value, json};

use crate::{Event, Function, FunctionResponse, Invocation, UnsupportedEvent};

/// A function whose responses are those of `handler`.
fn function<F>(handler: impl Fn(Request) -> F + Clone + Send + Sync + 'static) -> Function
where
    F: Future<Output = Response> + Send,
{
    Function::new(Router::new().fallback(handler))
}

fn event(json: &Value) -> Event {
    serde_json::from_value(json.clone()).unwrap()
}

fn invocation(time_left: Duration) -> Invocation {
    Invocation { request_id: "call-1".to_owned(), time_left: Some(time_left) }
}

async fn call(function: &Function, json: &Value) -> Result<Value, UnsupportedEvent> {
    let answer: FunctionResponse = function.call(event(json), invocation(Duration::from_secs(10))).await?;
    Ok(serde_json::to_value(&answer).unwrap())
}

/// The event of a load balancer for a `GET`.
fn load_balancer(path: &str, multi_value: bool) -> Value {
    let mut event = json!({
        "requestContext": { "elb": { "targetGroupArn": "arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/g/1" } },
        "httpMethod": "GET", "path": path, "body": "", "isBase64Encoded": false,
    });
    if multi_value {
        event["multiValueHeaders"] = json!({ "host": ["tickets.example.com"] });
        event["multiValueQueryStringParameters"] = json!({});
    } else {
        event["headers"] = json!({ "host": "tickets.example.com" });
        event["queryStringParameters"] = json!({});
    }
    event
}

/// The event of an HTTP API for a `GET`.
fn http_api(path: &str, query: &str) -> Value {
    json!({
        "version": "2.0", "routeKey": "$default", "rawPath": path, "rawQueryString": query,
        "headers": { "host": "tickets.example.com" },
        "requestContext": {
            "domainName": "tickets.example.com", "stage": "$default",
            "http": { "method": "GET", "path": path, "protocol": "HTTP/1.1", "sourceIp": "203.0.113.9" },
        },
        "isBase64Encoded": false,
    })
}
