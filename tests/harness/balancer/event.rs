use std::collections::BTreeMap;
use std::net::SocketAddr;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HOST};
use http::request::Parts;
use http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};
use vestibule_core::SessionId;

use super::BalancerOptions;

/// Every value by its name, in the order of the names.
type Values = BTreeMap<String, Vec<String>>;

/// The event of a request.
pub(super) fn event_of(parts: &Parts, body: &[u8], peer: SocketAddr, port: u16, options: BalancerOptions) -> Value {
    let mut headers = values_of(&parts.headers);
    if let Some(authority) = parts.uri.authority() {
        headers.insert(HOST.to_string(), vec![authority.to_string()]);
    }
    forwarded(&mut headers, peer, port, options.https);
    let (body, is_base64) = body_of(&parts.headers, body);
    let mut event = json!({
        "requestContext": context(),
        "httpMethod": parts.method.as_str(),
        "path": parts.uri.path(),
        "body": body,
        "isBase64Encoded": is_base64,
    });
    hold(&mut event, options.multi_value, headers, query_of(parts.uri.query().unwrap_or_default()));
    event
}

/// The event of a health check, which came from no client: it has no address and no host.
pub(super) fn health_check(path: &str, multi_value: bool) -> Value {
    let mut event = json!({
        "requestContext": context(), "httpMethod": "GET", "path": path, "body": "", "isBase64Encoded": false,
    });
    let agent = Values::from([("user-agent".to_owned(), vec!["ELB-HealthChecker/2.0".to_owned()])]);
    hold(&mut event, multi_value, agent, Values::new());
    event
}

fn context() -> Value {
    let group = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/vestibule-gate/6d0ecf831eec9f09";
    json!({ "elb": { "targetGroupArn": group } })
}

/// Of several values a target group without multi-value headers hands over the last.
fn hold(event: &mut Value, multi_value: bool, headers: Values, query: Values) {
    if multi_value {
        event["multiValueHeaders"] = json!(headers);
        event["multiValueQueryStringParameters"] = json!(query);
    } else {
        event["headers"] = json!(last_of(headers));
        event["queryStringParameters"] = json!(last_of(query));
    }
}

fn last_of(values: Values) -> BTreeMap<String, Option<String>> {
    values.into_iter().map(|(name, mut values)| (name, values.pop())).collect()
}

fn values_of(headers: &HeaderMap) -> Values {
    let mut values = Values::new();
    for (name, value) in headers {
        values.entry(name.to_string()).or_default().push(text(value));
    }
    values
}

/// JSON has no bytes that are no text.
fn text(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

/// The query as it was written: nothing is decoded, and a name without a value has an empty one.
fn query_of(query: &str) -> Values {
    let mut values = Values::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        values.entry(name.to_owned()).or_default().push(value.to_owned());
    }
    values
}

/// What the load balancer says itself: the client is appended to who is said to have come before it; a scheme and a port
/// that the client wrote are replaced.
fn forwarded(headers: &mut Values, peer: SocketAddr, port: u16, https: bool) {
    let mut way = headers.remove("x-forwarded-for").unwrap_or_default();
    way.push(peer.ip().to_string());
    let scheme = if https { "https" } else { "http" };
    let before = headers.remove("x-amzn-trace-id").map(|trace| trace.join(";"));
    let trace = match before {
        Some(trace) => format!("Self={};{trace}", trace_id()),
        None => format!("Root={}", trace_id()),
    };
    let own = [
        ("x-forwarded-for", way.join(", ")),
        ("x-forwarded-proto", scheme.to_owned()),
        ("x-forwarded-port", port.to_string()),
        ("x-amzn-trace-id", trace),
    ];
    headers.extend(own.map(|(name, value)| (name.to_owned(), vec![value])));
}

fn trace_id() -> String {
    let digits = SessionId::random().to_string().replace('-', "");
    format!("1-{}-{}", &digits[..8], &digits[8..])
}

/// Text goes as it is, everything else and whatever is compressed as base64.
fn body_of(headers: &HeaderMap, body: &[u8]) -> (String, bool) {
    if body.is_empty() {
        return (String::new(), false);
    }
    match std::str::from_utf8(body) {
        Ok(text) if is_text(headers) => (text.to_owned(), false),
        _ => (BASE64_STANDARD.encode(body), true),
    }
}

fn is_text(headers: &HeaderMap) -> bool {
    const TEXT: [&str; 3] = ["application/json", "application/javascript", "application/xml"];
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    !headers.contains_key(CONTENT_ENCODING) && (kind.starts_with("text/") || TEXT.contains(&kind.as_str()))
}
