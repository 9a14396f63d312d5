//! A request gives the same answer through either door: the program's and the function's.

use std::collections::BTreeMap;

use http::request::Builder;
use http::{Method, Request};
use serde_json::{Value, json};
use vestibule_tests::{GateOptions, TestResponse, Visitor};

use crate::gate_fixture::{GateFixture, StoreSetup};

/// What differs from one answer to the next through the same door.
const PASSING: [&str; 2] = ["date", "content-length"];

/// The same queue twice, over the same store at the same time: behind the load balancer, and in the test's process.
struct Doors {
    function: GateFixture,
    program: GateFixture,
}

impl Doors {
    async fn open(changes: &Value) -> Self {
        let setup = StoreSetup::function().await;
        let in_process = setup.in_process();
        // As behind the load balancer, there is a proxy that says who the visitor is.
        let options = GateOptions { trusted_proxies: 1, ..GateOptions::default() };
        Self {
            program: GateFixture::open_with(in_process, changes.clone(), options).await,
            function: GateFixture::open(setup, changes.clone()).await,
        }
    }

    /// One after the other, so that both have a visitor of the same kind.
    async fn assert_same(&self, what: &str, requests: &[Request<&'static str>]) {
        let (mut by_function, mut by_program) = (self.function.visitor(), self.program.visitor());
        by_program = by_program.with_header("x-forwarded-for", "127.0.0.1").with_header("x-forwarded-proto", "http");
        for (number, request) in requests.iter().enumerate() {
            let function = asked(&self.function, &mut by_function, request).await;
            let program = asked(&self.program, &mut by_program, request).await;
            let differing = function.lines().zip(program.lines()).find(|(function, program)| function != program);
            let asked = format!("{what}, request {number}: {} {}", request.method(), request.uri());
            assert_eq!(differing, None, "{asked}");
            assert_eq!(function.lines().count(), program.lines().count(), "{asked}");
        }
    }
}

/// Status, headers and body without what is another in every answer.
async fn asked(fixture: &GateFixture, visitor: &mut Visitor, request: &Request<&'static str>) -> String {
    let uri = request.uri().to_string().replace("QUEUE", fixture.queue.as_str());
    let mut again = Request::builder().method(request.method()).uri(uri);
    for (name, value) in request.headers() {
        let value = String::from_utf8(value.as_bytes().to_vec()).unwrap().replace("HOST", &fixture.host);
        again = again.header(name, value.into_bytes());
    }
    masked(fixture, &visitor.request(again, *request.body()).await)
}

fn masked(fixture: &GateFixture, answer: &TestResponse) -> String {
    let mut headers = BTreeMap::<_, Vec<String>>::new();
    for (name, value) in answer.headers.iter().filter(|(name, _)| !PASSING.contains(&name.as_str())) {
        headers.entry(name.as_str()).or_default().push(String::from_utf8_lossy(value.as_bytes()).into_owned());
    }
    let zipped = answer.header("content-encoding").is_some();
    let body = if zipped { "zipped".into() } else { String::from_utf8_lossy(&answer.body) };
    let nonce = answer.header("content-security-policy").and_then(|policy| policy.split("'nonce-").nth(1));
    let nonce = nonce.and_then(|rest| rest.split('\'').next()).unwrap_or("no nonce at all");
    let text = format!("{}\n{headers:#?}\n{body}", answer.status);
    let text = text
        .replace(nonce, "NONCE")
        .replace(fixture.queue.as_str(), "QUEUE")
        .replace(&fixture.origin.address(), "ORIGIN");
    without_secrets(&text)
}

/// Replaces every token, every session and every support code by a word.
fn without_secrets(text: &str) -> String {
    let part_of_word = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let mut masked = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|letter| !part_of_word(letter)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let is_session = word.len() == 36 && word.split('-').count() == 5;
        let is_code = word.len() == 26 && word.split('-').count() == 4;
        let is_token = word.starts_with("ey") && word.split('.').count() == 3;
        masked.push_str(if is_session || is_code {
            "SESSION"
        } else if is_token {
            "TOKEN"
        } else {
            word
        });
        let next = after.chars().next().map_or(0, char::len_utf8);
        masked.push_str(&after[..next]);
        rest = &after[next..];
    }
    masked
}

fn request(method: Method, uri: &str, headers: &[(&str, &str)]) -> Request<&'static str> {
    let request = Request::builder().method(method).uri(uri);
    let request = headers.iter().fold(request, |request: Builder, (name, value)| request.header(*name, *value));
    request.body("").unwrap()
}

fn get(uri: &str, headers: &[(&str, &str)]) -> Request<&'static str> {
    request(Method::GET, uri, headers)
}

const PAGE: [(&str, &str); 2] = [("accept", "text/html"), ("sec-fetch-mode", "navigate")];
const DATA: [(&str, &str); 1] = [("accept", "application/json")];

fn own() -> Vec<Request<&'static str>> {
    let post = |endpoint: &str| request(Method::POST, &format!("/_vestibule/{endpoint}?queue=QUEUE"), &DATA);
    let foreign = ("origin", "https://evil.example");
    vec![
        get("/_vestibule/status?queue=QUEUE", &DATA),
        get("/_vestibule/status?queue=nobody", &DATA),
        get("/_vestibule/status?queue=QUEUE&queue=x", &DATA),
        get("/_vestibule/status?queue=QUEUE", &[foreign]),
        get("/_vestibule/status?queue=QUEUE", &[("x-vestibule-ticket", "")]),
        request(Method::OPTIONS, "/_vestibule/status?queue=QUEUE", &[("origin", "http://HOST")]),
        post("keepalive"),
        post("away"),
        post("leave"),
        post("nothing"),
        request(Method::DELETE, "/_vestibule/status?queue=QUEUE", &DATA),
        get("/_vestibule/check", &[("x-forwarded-host", "HOST"), ("x-forwarded-uri", "/tour"), PAGE[0]]),
        get("/_vestibule/check", &[("x-forwarded-host", "a b")]),
        get("/_vestibule/jwks.json", &[]),
        get("/_vestibule/queue.js", &[]),
        get("/_vestibule/keepalive.js", &[("if-none-match", "*")]),
        get("/_vestibule/theme/QUEUE/none.css", &[]),
        get("/_vestibule/theme/x", &[]),
        get("/_vestibule/health", &[]),
        request(Method::HEAD, "/_vestibule/health", &[]),
    ]
}

fn queued_requests() -> Vec<Request<&'static str>> {
    vec![
        get("/tour?a=%20b+c&x=1", &PAGE),
        get("/tour?a=%20b+c&x=1", &DATA),
        get("/tour", &[PAGE[0], PAGE[1], ("accept-encoding", "gzip")]),
        get("/tour", &[PAGE[0], PAGE[1], ("accept-language", "de")]),
        get("/tour", &[PAGE[0], PAGE[1], ("sec-purpose", "prefetch")]),
        get("/a%2Fb//c;x=1", &PAGE),
        request(Method::POST, "/pay", &DATA),
        request(Method::HEAD, "/tour", &PAGE),
        request(Method::OPTIONS, "/api", &[("origin", "https://a.example"), ("access-control-request-method", "PUT")]),
        get("/odd", &[("cookie", "a=1"), ("cookie", "b=\u{e4}")]),
    ]
}

#[tokio::test]
async fn endpoints_respond_alike() {
    Doors::open(&json!({})).await.assert_same("waiting", &own()).await;
    Doors::open(&json!({ "quota": 9 })).await.assert_same("admitted", &own()).await;
}

#[tokio::test]
async fn waiting_visitors_get_the_same_responses() {
    for changes in [
        json!({}),
        json!({ "queue_status": 503 }),
        json!({ "mode": "paused" }),
        json!({ "mode": "closed" }),
        json!({ "rules": [{ "action": "bypass", "method": "HEAD" }] }),
    ] {
        Doors::open(&changes).await.assert_same(&changes.to_string(), &queued_requests()).await;
    }
}

#[tokio::test]
async fn admitted_visitors_get_the_same_responses() {
    for changes in [
        json!({ "quota": 9, "handover": { "kind": "redirect", "origin": "https://www.example.net" } }),
        json!({ "quota": 9, "handover": { "kind": "check" } }),
        json!({ "mode": "bypass", "handover": { "kind": "redirect", "origin": "https://www.example.net" } }),
    ] {
        Doors::open(&changes).await.assert_same(&changes.to_string(), &queued_requests()).await;
    }
}

#[tokio::test]
async fn function_and_program_forward_alike() {
    let doors = Doors::open(&json!({ "quota": 9 })).await;
    let mut requests = queued_requests();
    requests.extend(["/cookies", "/status/204", "/status/304", "/status/503"].map(|uri| get(uri, &DATA)));
    doors.assert_same("proxied", &requests).await;
}
