use axum::body::Body;
use serde_json::{Value, json};

use super::*;

fn fine() -> Function {
    function(|_| std::future::ready(Response::new(Body::from("fine"))))
}

#[tokio::test]
async fn unsupported_events_are_described() {
    for (foreign, named) in [
        (json!({}), "unknown kind"),
        (json!([]), "unknown kind"),
        (json!(null), "unknown kind"),
        (json!("text"), "unknown kind"),
        (json!({ "requestContext": 7 }), "unknown kind"),
        (
            json!({ "version": "0", "detail-type": "Scheduled Event", "source": "aws.events", "detail": {} }),
            "EventBridge",
        ),
        (json!({ "RecordStore": [{ "eventSource": "aws:sqs" }] }), "with records"),
        (json!({ "httpMethod": "GET", "requestContext": { "resourceId": "a" } }), "payload format 1.0"),
        (json!({ "requestContext": { "elb": null } }), "unknown kind"),
    ] {
        let error = call(&fine(), &foreign).await.unwrap_err();
        assert!(error.to_string().contains(named), "{foreign}: {error}");
        assert_eq!(format!("{error:?}"), error.to_string());
    }
}

/// The event with one of its members replaced, or removed.
fn with(mut event: Value, pointer: &str, value: Value) -> Value {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let parent = event.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    match value {
        Value::Null => parent.remove(name),
        value => parent.insert(name.to_owned(), value),
    };
    event
}

#[tokio::test]
async fn invalid_requests_get_400() {
    let (alb, api) = (|| load_balancer("/", true), || http_api("/", ""));
    for (event, part) in [
        (with(alb(), "/httpMethod", Value::Null), "method"),
        (with(alb(), "/httpMethod", json!(["GET"])), "method"),
        (with(alb(), "/httpMethod", json!("G T")), "method"),
        (with(alb(), "/path", json!(7)), "target"),
        (with(alb(), "/path", json!("no/slash")), "path"),
        (with(alb(), "/path", json!(format!("/{}", "a".repeat(70_000)))), "path"),
        (with(alb(), "/multiValueHeaders", json!([])), "headers"),
        (with(alb(), "/multiValueHeaders/a b", json!(["x"])), "headers"),
        (with(alb(), "/multiValueHeaders/x-a", json!(["a\r\nb"])), "headers"),
        (with(alb(), "/multiValueHeaders/x-a", json!([1])), "headers"),
        (with(alb(), "/multiValueQueryStringParameters/a", json!({})), "query"),
        (with(alb(), "/multiValueQueryStringParameters", json!("a=b")), "query"),
        (with(alb(), "/body", json!({})), "body"),
        (with(with(alb(), "/isBase64Encoded", json!(true)), "/body", json!("no base64!")), "base64"),
        (with(alb(), "/isBase64Encoded", json!("true")), "body"),
        (with(api(), "/requestContext/http/method", Value::Null), "method"),
        (with(api(), "/requestContext/http", json!("GET")), "method"),
        (with(api(), "/rawPath", json!([])), "target"),
        (with(api(), "/cookies", json!("a=1")), "cookies"),
        (with(api(), "/cookies", json!([1])), "cookies"),
        (with(api(), "/requestContext/http/sourceIp", json!("\n")), "address"),
    ] {
        let event = if part == "body" && event["body"] == "" { with(event, "/body", json!("x")) } else { event };
        let answer = call(&fine(), &event).await.unwrap();
        assert_eq!(answer["statusCode"], 400, "{part}: {answer}");
        let error: Value = serde_json::from_str(answer["body"].as_str().unwrap()).unwrap();
        assert_eq!(error["code"], "invalid_request");
        assert!(error["detail"].as_str().unwrap().contains(part), "{error}");
    }
}

#[tokio::test]
async fn optional_members_may_be_missing() {
    let bare = json!({ "requestContext": { "elb": {} }, "httpMethod": "GET", "path": "/" });
    assert_eq!(call(&fine(), &bare).await.unwrap()["body"], "fine");
    let bare = json!({ "requestContext": { "http": { "method": "GET" } } });
    assert_eq!(call(&fine(), &bare).await.unwrap()["body"], "fine");
}

#[test]
fn large_invalid_json_is_rejected() {
    for junk in ["{".repeat(2 << 20), "[".repeat(2 << 20), "\u{1f600}".repeat(1 << 19), "\0".repeat(2 << 20)] {
        assert!(serde_json::from_str::<Event>(&junk).is_err());
    }
    let long = format!("\"{}\"", "a".repeat(2 << 20));
    assert!(serde_json::from_str::<Event>(&long).unwrap().caller().is_err());
}

#[tokio::test]
async fn a_malformed_event_does_not_affect_the_next() {
    let function = fine();
    assert!(call(&function, &json!({})).await.is_err());
    assert_eq!(call(&function, &load_balancer("no/slash", true)).await.unwrap()["statusCode"], 400);
    assert_eq!(call(&function, &load_balancer("/", true)).await.unwrap()["body"], "fine");
}
