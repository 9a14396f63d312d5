//! The test load balancer does what AWS documents of the real one.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, StatusCode};
use parking_lot::Mutex;
use serde_json::{Value, json};
use vestibule_tests::{Balancer, BalancerOptions, Function, MAX_REQUEST, MAX_RESPONSE, TestResponse, Visitor};

use crate::gate_fixture::{navigation, raw};

const SINGLE: BalancerOptions = BalancerOptions { multi_value: false, https: false };
const MULTI: BalancerOptions = BalancerOptions { multi_value: true, https: false };

/// A load balancer before a function that always says the same, and the events that it was invoked with.
struct Balanced {
    balancer: Balancer,
    events: Arc<Mutex<Vec<Value>>>,
}

impl Balanced {
    async fn saying(answer: impl Into<Bytes>, options: BalancerOptions) -> Self {
        let (answer, events) = (answer.into(), Arc::<Mutex<Vec<Value>>>::default());
        let heard = Arc::clone(&events);
        let function = Function::here(move |event| {
            heard.lock().push(event);
            Ok(answer.clone())
        });
        Self { balancer: Balancer::before(function, options).await, events }
    }

    async fn hearing(options: BalancerOptions) -> Self {
        Self::saying(json!({ "statusCode": 200 }).to_string(), options).await
    }

    fn visitor(&self) -> Visitor {
        Visitor::new(self.balancer.address(), "shop.test")
    }

    fn event(&self) -> Value {
        self.events.lock().pop().expect("an invocation")
    }

    fn was_asked(&self) -> bool {
        !self.events.lock().is_empty()
    }
}

async fn answered(answer: impl Into<Bytes>, options: BalancerOptions) -> TestResponse {
    Balanced::saying(answer, options).await.visitor().fetch("/").await
}

#[tokio::test]
async fn events_describe_the_request() {
    let balanced = Balanced::hearing(MULTI).await;
    let lines =
        ["X-Forwarded-For: 203.0.113.9", "X-Forwarded-Proto: https", "X-Forwarded-Port: 1", "X-Odd: a", "X-Odd: b"];
    raw(balanced.balancer.address(), &navigation("/a%2Fb//c?x=%20+&y&x=2&&=3", "Shop.test", &lines)).await;
    let event = balanced.event();
    assert_eq!((&event["httpMethod"], &event["path"]), (&json!("GET"), &json!("/a%2Fb//c")));
    assert_eq!(event["multiValueQueryStringParameters"], json!({ "x": ["%20+", "2"], "y": [""], "": ["3"] }));
    assert_eq!((&event["body"], &event["isBase64Encoded"]), (&json!(""), &json!(false)));
    assert!(event["requestContext"]["elb"]["targetGroupArn"].as_str().unwrap().contains(":targetgroup/"));
    assert!(event.get("headers").is_none() && event.get("queryStringParameters").is_none());
    let headers = &event["multiValueHeaders"];
    let port = balanced.balancer.address().rsplit(':').next().unwrap();
    for (name, values) in [
        ("host", json!(["Shop.test"])),
        ("x-odd", json!(["a", "b"])),
        ("x-forwarded-for", json!(["203.0.113.9, 127.0.0.1"])),
        ("x-forwarded-proto", json!(["http"])),
        ("x-forwarded-port", json!([port])),
    ] {
        assert_eq!(headers[name], values, "{name}");
    }
    assert!(headers["x-amzn-trace-id"][0].as_str().unwrap().starts_with("Root=1-"));
}

#[tokio::test]
async fn without_multi_value_headers_the_last_value_counts() {
    let balanced = Balanced::hearing(SINGLE).await;
    raw(balanced.balancer.address(), &navigation("/?x=1&x=2", "shop.test", &["X-Odd: a", "X-Odd: b"])).await;
    let event = balanced.event();
    assert_eq!((&event["headers"]["x-odd"], &event["queryStringParameters"]), (&json!("b"), &json!({ "x": "2" })));
    assert!(event.get("multiValueHeaders").is_none() && event.get("multiValueQueryStringParameters").is_none());
}

#[tokio::test]
async fn a_body_is_text_or_base64() {
    let balanced = Balanced::hearing(MULTI).await;
    for (kind, encoding, body, as_text) in [
        ("application/json", None, "{}", true),
        ("text/plain; charset=utf-8", None, "\u{e4}", true),
        ("application/x-www-form-urlencoded", None, "a=1", false),
        ("application/json", Some("gzip"), "{}", false),
        ("image/png", None, "x", false),
    ] {
        let request = Request::post("/").header("content-type", kind);
        let request = encoding.into_iter().fold(request, |request, kind| request.header("content-encoding", kind));
        balanced.visitor().request(request, body).await;
        let event = balanced.event();
        assert_eq!((&event["isBase64Encoded"], event["body"] == json!(body)), (&json!(!as_text), as_text), "{kind}");
    }
}

#[tokio::test]
async fn the_load_balancer_rejects_invalid_requests() {
    let balanced = Balanced::hearing(MULTI).await;
    let post = async |bytes: usize| balanced.visitor().request(Request::post("/"), vec![b'x'; bytes]).await.status;
    assert_eq!(post(MAX_REQUEST).await, StatusCode::OK);
    assert!(balanced.event()["body"].is_string());
    assert_eq!(post(MAX_REQUEST + 1).await, StatusCode::PAYLOAD_TOO_LARGE);
    let long = "x".repeat(16 << 10);
    for request in [
        Request::get("/").header("upgrade", "websocket").header("connection", "upgrade"),
        Request::get("/").header("cookie", &long),
        Request::get(format!("/?{long}")),
        (0..5).fold(Request::get("/"), |request, n| request.header(format!("x-{n}"), &long[..15_000])),
    ] {
        assert_eq!(balanced.visitor().request(request, "").await.status, StatusCode::BAD_REQUEST);
    }
    let trace = Request::builder().method("TRACE").uri("/");
    assert_eq!(balanced.visitor().request(trace, "").await.status, StatusCode::METHOD_NOT_ALLOWED);
    let (head, _) = raw(balanced.balancer.address(), b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n").await;
    assert!(head.starts_with("http/1.1 400 ") && head.contains("server: awselb/2.0"), "{head}");
    assert!(!balanced.was_asked());
}

#[tokio::test]
async fn an_answer_becomes_a_response() {
    let all = json!({
        "statusCode": 418, "statusDescription": "418 I'm a teapot", "isBase64Encoded": true, "body": "AP8=",
        "multiValueHeaders": { "Set-Cookie": ["a=1", "b=2"], "Connection": ["close"], "Content-Length": ["99"] },
        "headers": { "x-single": "1" },
    });
    let answer = answered(all.to_string(), MULTI).await;
    assert_eq!((answer.status, &answer.body[..]), (StatusCode::IM_A_TEAPOT, &[0, 255][..]));
    assert_eq!(answer.headers.get_all("set-cookie").iter().count(), 2);
    assert!(!answer.headers.contains_key("x-single"), "only the field that the target group's setting names");
    let answer = answered(all.to_string(), SINGLE).await;
    assert!(answer.headers.contains_key("x-single") && !answer.headers.contains_key("set-cookie"));
}

#[tokio::test]
async fn an_invalid_response_returns_502() {
    let sized = |bytes: usize| {
        let empty = json!({ "statusCode": 200, "body": "" }).to_string().len();
        json!({ "statusCode": 200, "body": "x".repeat(bytes - empty) }).to_string()
    };
    assert_eq!(answered(sized(MAX_RESPONSE), MULTI).await.status, StatusCode::OK);
    for answer in [
        sized(MAX_RESPONSE + 1),
        String::new(),
        "hello".to_owned(),
        "null".to_owned(),
        json!({ "body": "x" }).to_string(),
        json!({ "statusCode": "200" }).to_string(),
        json!({ "statusCode": 99 }).to_string(),
        json!({ "statusCode": 101 }).to_string(),
        json!({ "statusCode": 200, "body": { "a": 1 } }).to_string(),
        json!({ "statusCode": 200, "body": "%", "isBase64Encoded": true }).to_string(),
        json!({ "statusCode": 200, "isBase64Encoded": "false" }).to_string(),
        json!({ "statusCode": 200, "multiValueHeaders": { "x-a": "1" } }).to_string(),
        json!({ "statusCode": 200, "multiValueHeaders": { "x-a": [1] } }).to_string(),
        json!({ "statusCode": 200, "multiValueHeaders": { "x a": ["1"] } }).to_string(),
        json!({ "statusCode": 200, "multiValueHeaders": { "x-a": ["1\r\nx-b: 2"] } }).to_string(),
    ] {
        let shown: String = answer.chars().take(80).collect();
        assert_eq!(answered(answer, MULTI).await.status, StatusCode::BAD_GATEWAY, "{shown}");
    }
}

#[tokio::test]
async fn a_function_error_is_a_502_without_details() {
    let function = Function::here(|_| Err(r#"{"errorType":"Secret"}"#.to_owned()));
    let balancer = Balancer::before(function, MULTI).await;
    let answer = Visitor::new(balancer.address(), "shop.test").fetch("/").await;
    assert_eq!((answer.status, answer.text().contains("Secret")), (StatusCode::BAD_GATEWAY, false));
    assert!(balancer.complaints()[0].contains("Secret"));
}

#[tokio::test]
async fn load_balancer_health_checks_succeed() {
    for options in [SINGLE, MULTI] {
        let balanced = Balanced::hearing(options).await;
        assert_eq!(balanced.balancer.check_health("/_vestibule/health").await, StatusCode::OK);
        let event = balanced.event();
        let headers = if options.multi_value { &event["multiValueHeaders"] } else { &event["headers"] };
        assert_eq!(headers.as_object().unwrap().keys().collect::<Vec<_>>(), ["user-agent"]);
        assert!(headers["user-agent"].to_string().contains("ELB-HealthChecker/2.0"));
    }
}
