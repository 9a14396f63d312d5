use std::{
    io::{Read, Write},
    time::Duration,
};

use tokio::{
    io::AsyncWriteExt,
    net::TcpStream,
    time::{sleep, timeout},
};

use super::support::{Gate, PATIENCE, ask, handed, has, head_of, origin, recorder, rest_of, say, until, values};
use crate::{Forwarded, Proxy, ProxyLimits};

const EMPTY: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

#[tokio::test]
async fn path_and_query_arrive_byte_for_byte() {
    let (origin, mut heads) = recorder(EMPTY).await;
    let gate = Gate::before(origin).open().await;
    for path in ["/", "/a%2Fb?x=%20&y=1;2", "//a/../b/./?", "/%7e%7E?a=b?c=d&&=", "/caf\u{e9}?\u{e9}", "/a:b@c/[d]|e"] {
        ask(&gate, &[&format!("GET {path} HTTP/1.1")]).await;
        let head = heads.recv().await.unwrap();
        let sent: String = path.bytes().map(char::from).collect();
        assert_eq!(head.lines().next().unwrap(), format!("GET {sent} HTTP/1.1"));
    }
}

#[tokio::test]
async fn any_method_arrives_as_it_was() {
    let (origin, mut heads) = recorder(EMPTY).await;
    let gate = Gate::before(origin).open().await;
    for line in ["OPTIONS * HTTP/1.1", "PROPFIND /dav HTTP/1.1", "pUrGe /x HTTP/1.1", "DELETE /x HTTP/1.1"] {
        ask(&gate, &[line]).await;
        assert_eq!(heads.recv().await.unwrap().lines().next(), Some(line));
    }
}

#[tokio::test]
async fn a_connect_is_refused() {
    let (origin, mut heads) = recorder(EMPTY).await;
    let gate = Gate::before(origin).open().await;
    assert!(ask(&gate, &["CONNECT other.example:443 HTTP/1.1"]).await.starts_with("HTTP/1.1 400 "));
    assert!(heads.try_recv().is_err());
}

#[tokio::test]
async fn answers_without_a_body_claim_no_length_of_their_own() {
    for (request, answer, length) in [
        ("HEAD / HTTP/1.1", "HTTP/1.1 200 OK\r\nContent-Length: 4711\r\n\r\n", vec!["4711"]),
        ("HEAD / HTTP/1.1", "HTTP/1.1 200 OK\r\n\r\n", vec![]),
        ("GET / HTTP/1.1", "HTTP/1.1 204 No Content\r\n\r\n", vec![]),
        ("GET / HTTP/1.1", "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nContent-Length: 12\r\n\r\n", vec![]),
        ("GET / HTTP/1.1", "HTTP/1.1 304 Not Modified\r\n\r\n", vec![]),
    ] {
        let (origin, _heads) = recorder(answer.as_bytes()).await;
        let gate = Gate::before(origin).open().await;
        let got = ask(&gate, &[request]).await;
        assert_eq!(got.lines().next(), answer.lines().next());
        assert_eq!(values(&got, "content-length"), length, "{request} {answer}");
        assert!(got.ends_with("\r\n\r\n"), "{got}");
    }
}

#[tokio::test]
async fn repeated_headers_keep_their_order() {
    let answer =
        b"HTTP/1.1 200 OK\r\nSet-Cookie: c=3\r\nX-A: 1\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\nContent-Length: 0\r\n\r\n";
    let (origin, mut heads) = recorder(answer).await;
    let gate = Gate::before(origin).open().await;
    let got = ask(&gate, &["GET / HTTP/1.1", "X-Tag: z", "Accept: a", "x-tag: y", "X-Tag: x"]).await;
    assert_eq!(values(&got, "set-cookie"), ["c=3", "a=1", "b=2"]);
    assert_eq!(values(&heads.recv().await.unwrap(), "x-tag"), ["z", "y", "x"]);
}

#[tokio::test]
async fn interim_answers_are_passed_over() {
    let (origin, _heads) = recorder(
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
    )
    .await;
    let gate = Gate::before(origin).open().await;
    let got = ask(&gate, &["GET / HTTP/1.1"]).await;
    assert!(got.starts_with("HTTP/1.1 200 OK\r\n") && got.ends_with("\r\n\r\nhi"), "{got}");
}

#[tokio::test]
async fn an_old_origin_is_answered_for_in_the_visitors_version() {
    let origin = origin(|mut socket| async move {
        head_of(&mut socket).await;
        socket.write_all(b"HTTP/1.0 200 Fine\r\n\r\nto the end").await.unwrap();
    })
    .await;
    let gate = Gate::before(origin).open().await;
    let got = ask(&gate, &["GET / HTTP/1.1"]).await;
    assert!(got.starts_with("HTTP/1.1 200 Fine\r\n") && got.contains("to the end"), "{got}");
}

#[tokio::test]
async fn only_trailers_of_the_origin_are_forwarded() {
    let (origin, handed) = handed().await;
    let gate = Gate::before(origin).open().await;
    let visitor = tokio::spawn(async move {
        say(
            &gate,
            b"POST / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: close, te\r\nTrailer: X-Vestibule-Pass\r\n\
              Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Vestibule-Pass: forged\r\n\r\n",
        )
        .await
    });
    let mut server = handed.await.unwrap();
    let head = head_of(&mut server).await.unwrap();
    assert!(has(&head, "te: trailers") && values(&head, "trailer").is_empty(), "{head}");
    assert_eq!(until(&mut server, b"\r\n0\r\n\r\n").await.unwrap(), "2\r\nhi\r\n0\r\n\r\n");
    let answer =
        b"HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Sum: 7\r\n\r\n";
    server.write_all(answer).await.unwrap();
    let got = visitor.await.unwrap().to_lowercase();
    assert!(got.ends_with("\r\n0\r\nx-sum: 7\r\n\r\n"), "{got}");
}

#[tokio::test]
async fn expect_continue_is_answered_before_the_body() {
    let (origin, handed) = handed().await;
    let gate = Gate::before(origin).open().await;
    let mut visitor = TcpStream::connect(gate).await.unwrap();
    let head = b"PUT / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
    visitor.write_all(head).await.unwrap();
    assert_eq!(head_of(&mut visitor).await.unwrap(), "HTTP/1.1 100 Continue\r\n\r\n");
    visitor.write_all(b"hi").await.unwrap();
    let mut server = handed.await.unwrap();
    assert!(values(&head_of(&mut server).await.unwrap(), "expect").is_empty());
    assert_eq!(until(&mut server, b"hi").await.unwrap(), "hi");
    server.write_all(EMPTY).await.unwrap();
    assert!(rest_of(&mut visitor).await.starts_with("HTTP/1.1 200 OK\r\n"));
}

#[tokio::test]
async fn a_message_of_two_lengths_reaches_the_origin_with_one() {
    let (origin, handed) = handed().await;
    let gate = Gate::before(origin).open().await;
    let mut visitor = TcpStream::connect(gate).await.unwrap();
    let request =
        b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 40\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n";
    visitor.write_all(request).await.unwrap();
    let mut server = handed.await.unwrap();
    let head = head_of(&mut server).await.unwrap();
    assert_eq!((values(&head, "transfer-encoding"), values(&head, "content-length")), (vec!["chunked"], vec![]));
    assert_eq!(until(&mut server, b"0\r\n\r\n").await.unwrap(), "2\r\nhi\r\n0\r\n\r\n");
    assert!(timeout(PATIENCE / 100, head_of(&mut server)).await.is_err(), "a second request appeared");
}

#[tokio::test]
async fn connections_are_reused_and_closed_ones_replaced() {
    let (opened, mut openings) = tokio::sync::mpsc::unbounded_channel();
    let origin = origin(move |mut socket| {
        opened.send(()).unwrap();
        async move {
            for _ in 0..2 {
                head_of(&mut socket).await;
                socket.write_all(EMPTY).await.unwrap();
            }
        }
    })
    .await;
    let gate = Gate::before(origin).open().await;
    for _ in 0..6 {
        assert!(ask(&gate, &["POST / HTTP/1.1", "Content-Length: 0"]).await.starts_with("HTTP/1.1 200 "));
        sleep(Duration::from_millis(20)).await;
    }
    let mut count = 0;
    while openings.try_recv().is_ok() {
        count += 1;
    }
    assert_eq!(count, 3);
}

/// The proxy picks the connection before it can notice its end, and notices the end before it sends: the pause blocks the
/// thread, and the runtime polls its sockets after every task.
#[test]
fn a_connection_that_closes_as_a_request_sets_out_is_replaced() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().event_interval(1).build().unwrap();
    runtime.block_on(async { tokio::spawn(close_as_a_request_sets_out()).await.unwrap() });
}

async fn close_as_a_request_sets_out() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let origin: http::Uri = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let (close, closing) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for _ in 0..2 {
            let (mut socket, _) = listener.accept().unwrap();
            let _head = socket.read(&mut [0; 4096]).unwrap();
            socket.write_all(EMPTY).unwrap();
            closing.recv().unwrap();
        }
    });
    let proxy = Proxy::new(ProxyLimits::default()).unwrap();
    for _ in 0..2 {
        let request = http::Request::post("/").body(axum::body::Body::empty()).unwrap();
        let headers = http::HeaderMap::new();
        let context = Forwarded { peer: None, proto: "http", host: "a", trusted: false, headers, tunnel_end: None };
        assert_eq!(
            proxy.forward(&origin, vestibule_core::settings::Reach::Any, request, context).await.unwrap().status(),
            200
        );
        sleep(Duration::from_millis(50)).await;
        close.send(()).unwrap();
        std::thread::sleep(Duration::from_millis(50));
    }
}
