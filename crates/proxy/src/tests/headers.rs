use http::HeaderValue;

use super::support::{Gate, ask, has, recorder, values};

const EMPTY: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

async fn head_at_origin(setup: impl FnOnce(&mut Gate), lines: &[&str]) -> String {
    let (origin, mut heads) = recorder(EMPTY).await;
    let mut gate = Gate::before(origin);
    setup(&mut gate);
    ask(&gate.open().await, &[&["GET / HTTP/1.1"], lines].concat()).await;
    heads.recv().await.unwrap()
}

#[tokio::test]
async fn the_origin_learns_the_visitors_host_scheme_and_address() {
    let head = head_at_origin(|gate| gate.peer = Some([192, 0, 2, 7].into()), &[]).await;
    assert_eq!(values(&head, "host"), ["tickets.example:8443"]);
    assert_eq!(values(&head, "x-forwarded-host"), ["tickets.example:8443"]);
    assert_eq!(values(&head, "x-forwarded-proto"), ["https"]);
    assert_eq!(values(&head, "x-forwarded-for"), ["192.0.2.7"]);
}

const HEARSAY: [&str; 7] = [
    "X-Forwarded-For: 10.0.0.1, 10.0.0.2",
    "X-Forwarded-For: 10.0.0.3",
    "X-Forwarded-Host: forged",
    "X-Forwarded-Proto: gopher",
    "X-Forwarded-Port: 1",
    "Forwarded: for=10.0.0.1",
    "X_Forwarded_For: 10.0.0.4",
];

#[tokio::test]
async fn forwarded_for_of_visitors_is_replaced() {
    let head = head_at_origin(|gate| gate.peer = Some([192, 0, 2, 7].into()), &HEARSAY).await;
    assert_eq!(values(&head, "x-forwarded-for"), ["192.0.2.7"]);
    assert_eq!(values(&head, "x-forwarded-host"), ["tickets.example:8443"]);
    assert_eq!(values(&head, "x-forwarded-proto"), ["https"]);
    for name in ["x-forwarded-port", "forwarded", "x_forwarded_for"] {
        assert!(values(&head, name).is_empty(), "{head}");
    }
    let head = head_at_origin(|_| (), &HEARSAY).await;
    assert!(values(&head, "x-forwarded-for").is_empty(), "{head}");
}

#[tokio::test]
async fn forwarded_for_of_trusted_proxies_is_extended() {
    let trusting = |gate: &mut Gate| {
        gate.peer = Some("::ffff:192.0.2.7".parse().unwrap());
        gate.trusted = true;
    };
    let named = "Connection: X-Forwarded-For, X-Forwarded-Port";
    let head = head_at_origin(trusting, &[&HEARSAY[..], &[named]].concat()).await;
    assert_eq!(values(&head, "x-forwarded-for"), ["10.0.0.1, 10.0.0.2, 10.0.0.3, 192.0.2.7"]);
    assert_eq!(values(&head, "x-forwarded-host"), ["tickets.example:8443"]);
    assert_eq!(values(&head, "x-forwarded-port"), ["1"]);
    assert!(values(&head, "x_forwarded_for").is_empty(), "no proxy spells it so: {head}");
    assert!(values(&head, "forwarded").is_empty(), "only X-Forwarded-* is read, so only that is checked: {head}");
}

#[tokio::test]
async fn headers_with_underscores_replace_no_others() {
    let lines = ["X-Edge-Address: 192.0.2.7", "X_Edge_Address: forged", "X-Edge_Address: forged", "X_Page: 7"];
    let head = head_at_origin(|_| (), &lines).await;
    assert_eq!(values(&head, "x-edge-address"), ["192.0.2.7"]);
    for (name, expected) in [("x_edge_address", None), ("x-edge_address", None), ("x_page", Some("7"))] {
        assert_eq!(values(&head, name).first().copied(), expected, "{head}");
    }
}

/// An origin that reads them as their forms with hyphens would wait for a body, or take a part of the next request for it.
#[tokio::test]
async fn headers_of_the_connection_are_dropped_in_any_spelling() {
    let lines = [
        "Content_Length: 9",
        "Transfer_Encoding: chunked",
        "Transfer.Encoding: chunked",
        "Keep_Alive: 1",
        "Proxy_Authorization: secret",
        "CDN_Loop: forged",
        "X_Added: forged",
        "X.Forwarded.For: 10.0.0.1",
    ];
    let add = |gate: &mut Gate| {
        gate.headers.insert("x-added", HeaderValue::from_static("genuine"));
        gate.headers.insert("cdn-loop", HeaderValue::from_static("gate"));
    };
    let head = head_at_origin(add, &lines).await;
    for name in lines.iter().map(|line| line.split(':').next().unwrap()) {
        assert!(values(&head, &name.to_ascii_lowercase()).is_empty(), "{name} in {head}");
    }
    assert_eq!((values(&head, "x-added"), values(&head, "cdn-loop")), (vec!["genuine"], vec!["gate"]));
}

#[tokio::test]
async fn headers_that_change_the_request_are_dropped() {
    let lines = [
        "X-Original-URL: /checkout",
        "X-Rewrite-URL: /checkout",
        "X_Rewrite_URL: /checkout",
        "X-HTTP-Method-Override: DELETE",
        "X-Method-Override: DELETE",
        "X-Host: forged",
        "X-Real-IP: 10.0.0.1",
        "X-Client-IP: 10.0.0.1",
        "Client-IP: 10.0.0.1",
        "X-Forwarded-Prefix: /checkout",
        "X-Forwarded-Uri: /checkout",
        "True-Client-IP: 10.0.0.1",
        "CF-Connecting-IP: 10.0.0.1",
        "X-Original-Path: /checkout",
        "X-Envoy-Original-Path: /checkout",
        "X-HTTP-Path-Override: /checkout",
        "X-Method: DELETE",
        "X-Real-Host: forged",
        "X-Azure-ClientIP: 10.0.0.1",
        "X-Envoy-External-Address: 10.0.0.1",
    ];
    for trusted in [false, true] {
        let head = head_at_origin(|gate| gate.trusted = trusted, &lines).await;
        for name in lines.iter().map(|line| line.split(':').next().unwrap()) {
            assert!(values(&head, &name.to_ascii_lowercase()).is_empty(), "{name} in {head}");
        }
    }
}

#[tokio::test]
async fn headers_of_the_caller_replace_those_of_the_visitor() {
    let add = |gate: &mut Gate| drop(gate.headers.insert("x-added", HeaderValue::from_static("genuine")));
    let lines = ["Connection: x-added, x-forwarded-host, host", "X-Added: forged", "X-Added: forged again"];
    for lines in [&lines[..], &lines[1..]] {
        let head = head_at_origin(add, lines).await;
        assert_eq!(values(&head, "x-added"), ["genuine"]);
        assert_eq!(values(&head, "x-forwarded-host"), ["tickets.example:8443"]);
    }
}

#[tokio::test]
async fn hop_by_hop_request_headers_are_dropped() {
    let lines = [
        "Connection: X-Mine , keep-alive",
        "X-Mine: 1",
        "Keep-Alive: timeout=5",
        "Proxy: http://evil.example",
        "Proxy-Authorization: secret",
        "Proxy-Connection: close",
        "TE: gzip",
        "Trailer: X-Sum",
        "Upgrade: websocket",
        "X-Kept: 1",
    ];
    let head = head_at_origin(|_| (), &lines).await;
    for name in lines.iter().map(|line| line.split(':').next().unwrap()).filter(|name| *name != "X-Kept") {
        assert!(values(&head, name).is_empty(), "{name} in {head}");
    }
    assert!(has(&head, "x-kept: 1"));
}

#[tokio::test]
async fn hop_by_hop_response_headers_are_dropped() {
    let (origin, _heads) = recorder(
        b"HTTP/1.1 200 OK\r\nConnection: X-Mine\r\nConnection: keep-alive\r\nX-Mine: 1\r\nKeep-Alive: timeout=5\r\n\
          Proxy-Authenticate: Basic\r\nUpgrade: h2c\r\nX-Kept: 1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
    )
    .await;
    let got = ask(&Gate::before(origin).open().await, &["GET / HTTP/1.1"]).await;
    for name in ["x-mine", "keep-alive", "proxy-authenticate", "upgrade"] {
        assert!(values(&got, name).is_empty(), "{name} in {got}");
    }
    assert_eq!(values(&got, "connection"), ["close"]);
    assert_eq!(values(&got, "transfer-encoding"), ["chunked"]);
    assert!(has(&got, "x-kept: 1") && got.ends_with("\r\n\r\n2\r\nhi\r\n0\r\n\r\n"), "{got}");
}
