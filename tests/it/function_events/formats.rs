//! A request gives the same answer through either door.

use http::{HeaderMap, Request};
use serde_json::{Value, json};
use vestibule_tests::{Origin, TestResponse, Visitor};

use super::{Doors, document};
use crate::gate_fixture::StoreSetup;

const HOST: &str = "tickets.example.com";
const PAGE: [(&str, &str); 3] =
    [("accept", "text/html"), ("sec-fetch-mode", "navigate"), ("accept-language", "de,en;q=0.5")];

/// A request, to be sent either way.
struct Asked {
    method: &'static str,
    target: &'static str,
    headers: Vec<(&'static str, String)>,
    body: &'static str,
}

fn asked(method: &'static str, target: &'static str, headers: &[(&'static str, &str)]) -> Asked {
    let proxy = [("x-forwarded-for", "203.0.113.9"), ("x-forwarded-proto", "https"), ("host", HOST)];
    let headers = headers.iter().chain(&proxy).map(|(name, value)| (*name, (*value).to_owned())).collect();
    Asked { method, target, headers, body: "" }
}

impl Asked {
    fn query(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let query = self.target.split_once('?').map_or("", |(_, query)| query);
        query.split('&').filter(|pair| !pair.is_empty()).map(|pair| pair.split_once('=').unwrap())
    }

    fn path(&self) -> &'static str {
        self.target.split('?').next().unwrap()
    }

    fn load_balancer(&self, multi_value: bool) -> String {
        let mut event = json!({
            "requestContext": { "elb": {} }, "httpMethod": self.method, "path": self.path(), "body": self.body,
            "isBase64Encoded": false,
        });
        let (headers, query) = if multi_value {
            ("multiValueHeaders", "multiValueQueryStringParameters")
        } else {
            ("headers", "queryStringParameters")
        };
        let value = |value: &str| if multi_value { json!([value]) } else { json!(value) };
        event[headers] = self.headers.iter().map(|(name, text)| ((*name).to_owned(), value(text))).collect();
        event[query] = self.query().map(|(name, text)| (name.to_owned(), value(text))).collect();
        event.to_string()
    }

    fn http_api(&self) -> String {
        let headers: serde_json::Map<_, _> =
            self.headers.iter().map(|(name, text)| ((*name).to_owned(), json!(text))).collect();
        let query = self.target.split_once('?').map_or("", |(_, query)| query);
        let context = json!({
            "domainName": "id.lambda-url.eu-west-1.on.aws", "stage": "$default",
            "http": { "method": self.method, "sourceIp": "203.0.113.9" },
        });
        json!({
            "version": "2.0", "rawPath": self.path(), "rawQueryString": query, "headers": headers, "body": self.body,
            "requestContext": context, "isBase64Encoded": false,
        })
        .to_string()
    }

    async fn over_http(&self, address: &str) -> TestResponse {
        let mut request = Request::builder().method(self.method).uri(self.target);
        for (name, value) in self.headers.iter().filter(|(name, _)| *name != "host") {
            request = request.header(*name, value);
        }
        Visitor::new(address, HOST).request(request, self.body).await
    }
}

/// What of an answer must be the same: all of it but what the server says of its connection, what is random in a page,
/// and how a list of values is cut into headers.
fn essence(answer: &TestResponse) -> Value {
    let mut headers = HeaderMap::clone(&answer.headers);
    let nonce = headers.get("content-security-policy").and_then(|policy| {
        let policy = policy.to_str().unwrap();
        Some(policy.split_once("'nonce-")?.1.split('\'').next()?.to_owned())
    });
    for own in ["date", "content-length", "transfer-encoding", "connection"] {
        headers.remove(own);
    }
    let mut named: Vec<String> = headers
        .keys()
        .map(|name| {
            let mut values: Vec<_> = headers.get_all(name).iter().map(|value| value.to_str().unwrap()).collect();
            values.sort_unstable();
            format!("{name}: {}", values.join(", "))
        })
        .collect();
    named.sort_unstable();
    let whole = format!("{}\n{}\n\n{:?}", answer.status, named.join("\n"), answer.body);
    json!(nonce.map_or_else(|| whole.clone(), |nonce| whole.replace(&nonce, "NONCE")))
}

async fn are_alike(doors: &Doors, requests: &[Asked]) {
    for asked in requests {
        let over_http = asked.over_http(&doors.address).await;
        let events = [
            ("multi-value", asked.load_balancer(true)),
            ("single-value", asked.load_balancer(false)),
            ("HTTP API", asked.http_api()),
        ];
        for (door, event) in events {
            let answer = doors.call(&event).await;
            let (method, target) = (asked.method, asked.target);
            assert_eq!(essence(&answer), essence(&over_http), "{door} {method} {target}");
        }
    }
}

/// The headers of a page, and the ticket of somebody who came before.
async fn with_ticket(doors: &Doors, kind: &[(&'static str, &str)], target: &'static str) -> Asked {
    let first = asked("GET", "/", &PAGE).over_http(&doors.address).await;
    let cookie = first.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let mut request = asked("GET", target, kind);
    request.headers.push(("cookie", cookie));
    request
}

#[tokio::test]
async fn all_event_formats_show_the_same_queue_page() {
    let origin = Origin::start();
    let doors = Doors::open(&StoreSetup::memory(), &document(&origin.url(), &json!({}))).await;
    let status =
        with_ticket(&doors, &[("origin", "https://tickets.example.com")], "/_vestibule/status?queue=tour").await;
    let mut keepalive = with_ticket(&doors, &[], "/_vestibule/keepalive?queue=tour").await;
    keepalive.method = "POST";
    let mut posted = with_ticket(&doors, &[], "/buy?seat=%2B1").await;
    (posted.method, posted.body) = ("POST", "seat=1");
    are_alike(
        &doors,
        &[
            with_ticket(&doors, &PAGE, "/tour?a=%20b+%2B&c==").await,
            with_ticket(&doors, &[("accept", "application/json")], "/api").await,
            status,
            keepalive,
            posted,
            asked("GET", "/image.png", &[("sec-fetch-mode", "no-cors")]),
            asked("HEAD", "/", &[("accept", "text/html")]),
            asked("GET", "/_vestibule/queue.js", &[]),
            asked("GET", "/_vestibule/queue.js", &[("accept-encoding", "gzip")]),
            asked("GET", "/_vestibule/jwks.json", &[]),
            asked("GET", "/_vestibule/health", &[]),
            asked("GET", "/_vestibule/theme/tour/none.png", &[]),
            asked("GET", "/_vestibule/nothing", &[]),
            asked("GET", "/_vestibule/status?queue=other", &[]),
            asked("GET", "/_vestibule/status?queue=%FF", &[]),
            asked("OPTIONS", "/_vestibule/status?queue=tour", &[("origin", "https://tickets.example.com")]),
            asked("GET", "/_vestibule/status?queue=tour", &[("origin", "https://evil.example")]),
            asked("DELETE", "/_vestibule/leave?queue=tour", &[]),
        ],
    )
    .await;
}

#[tokio::test]
async fn admitted_visitors_see_the_same() {
    let origin = Origin::start();
    let doors = Doors::open(&StoreSetup::memory(), &document(&origin.url(), &json!({ "quota": 99 }))).await;
    let mut posted = with_ticket(&doors, &[("content-type", "text/plain")], "/status/201").await;
    (posted.method, posted.body) = ("POST", "gr\u{fc}n");
    let mut head = with_ticket(&doors, &PAGE, "/tour").await;
    head.method = "HEAD";
    are_alike(
        &doors,
        &[
            with_ticket(&doors, &PAGE, "/a%2Fb//c?a=%20b+%2B&c==").await,
            with_ticket(&doors, &PAGE, "/cookies").await,
            with_ticket(&doors, &PAGE, "/stream").await,
            with_ticket(&doors, &[], "/status/204").await,
            with_ticket(&doors, &[], "/status/304").await,
            with_ticket(&doors, &[], "/status/404").await,
            with_ticket(&doors, &[], "/status/500").await,
            with_ticket(&doors, &[("x-vestibule-ticket", "")], "/_vestibule/check").await,
            posted,
            head,
        ],
    )
    .await;
}

#[tokio::test]
async fn redirects_keep_path_and_query() {
    let changes = json!({ "quota": 99, "handover": { "kind": "redirect", "origin": "https://www.example.com" } });
    let doors = Doors::open(&StoreSetup::memory(), &document("https://www.example.com", &changes)).await;
    let requests = [
        with_ticket(&doors, &PAGE, "/tour?a=%20b+%2B&c==&d=").await,
        with_ticket(&doors, &PAGE, "//evil.example/%2e%2e/x").await,
        with_ticket(&doors, &[], "/api").await,
    ];
    let answer = doors.call(&requests[0].load_balancer(true)).await;
    let location = answer.header("location").unwrap();
    assert!(location.starts_with("https://www.example.com/tour?a=%20b+%2B&c==&d=&vestibule_pass="), "{location}");
    are_alike(&doors, &requests).await;
}
