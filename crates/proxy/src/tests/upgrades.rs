use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{sleep, timeout},
};
use tokio_tungstenite::{accept_async, connect_async, tungstenite::Message};

use super::support::{Gate, PATIENCE, SHORT, handed, has, head_of, origin, recorder, rest_of, values};

async fn echo() -> http::Uri {
    origin(|socket| async move {
        let mut socket = accept_async(socket).await.unwrap();
        while let Some(Ok(message)) = socket.next().await {
            if message.is_text() || message.is_binary() {
                socket.send(message).await.unwrap();
            }
        }
    })
    .await
}

#[tokio::test]
async fn websocket_is_tunneled_and_can_be_idle() {
    let gate = Gate::before(echo().await).with_read_timeout(SHORT).open().await;
    let (mut socket, _) = connect_async(format!("ws://{gate}/live?x=1")).await.unwrap();
    for text in ["one", "two"] {
        socket.send(Message::text(text)).await.unwrap();
        let echoed = timeout(PATIENCE, socket.next()).await.unwrap().unwrap().unwrap();
        assert_eq!(echoed, Message::text(text));
        sleep(SHORT * 3).await;
    }
    let long = Message::binary(vec![7; 8 << 20]);
    socket.send(long.clone()).await.unwrap();
    assert_eq!(timeout(PATIENCE, socket.next()).await.unwrap().unwrap().unwrap(), long);
    socket.close(None).await.unwrap();
    let end = timeout(PATIENCE, async { while socket.next().await.is_some_and(|message| message.is_ok()) {} });
    end.await.expect("the closing is answered");
}

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: tea/1\r\n\r\n";
const CONSENT: &[u8] = b"HTTP/1.1 101 Go\r\nConnection: Upgrade\r\nUpgrade: tea/1\r\nX-Kept: 1\r\n\r\nfirst";

/// Both ends of an upgraded connection: the visitor's and the origin's.
async fn upgraded(closing_timeout: Duration) -> (TcpStream, TcpStream) {
    upgraded_with(|gate| gate.limits.closing_timeout = closing_timeout).await
}

async fn upgraded_with(setup: impl FnOnce(&mut Gate)) -> (TcpStream, TcpStream) {
    let (origin, handed) = handed().await;
    let mut gate = Gate::before(origin);
    setup(&mut gate);
    let mut visitor = TcpStream::connect(gate.open().await).await.unwrap();
    visitor.write_all(REQUEST).await.unwrap();
    let mut server = handed.await.unwrap();
    let head = head_of(&mut server).await.unwrap();
    assert_eq!((values(&head, "connection"), values(&head, "upgrade")), (vec!["upgrade"], vec!["tea/1"]));
    server.write_all(CONSENT).await.unwrap();
    let head = head_of(&mut visitor).await.unwrap();
    assert!(head.starts_with("HTTP/1.1 101 ") && has(&head, "x-kept: 1"), "{head}");
    assert_eq!((values(&head, "connection"), values(&head, "upgrade")), (vec!["upgrade"], vec!["tea/1"]));
    (visitor, server)
}

#[tokio::test]
async fn any_upgrade_protocol_is_tunneled() {
    let (mut visitor, mut server) = upgraded(SHORT).await;
    let mut word = [0; 5];
    visitor.read_exact(&mut word).await.unwrap();
    assert_eq!(&word, b"first");
    visitor.write_all(b"after").await.unwrap();
    server.read_exact(&mut word).await.unwrap();
    assert_eq!(&word, b"after");
}

#[tokio::test]
async fn the_end_of_either_side_ends_an_upgraded_connection() {
    let (mut visitor, mut server) = upgraded(SHORT).await;
    server.write_all(b" last").await.unwrap();
    drop(server);
    assert_eq!(rest_of(&mut visitor).await, "first last");
    let (visitor, mut server) = upgraded(SHORT).await;
    drop(visitor);
    end_of(&mut server).await;
}

#[tokio::test]
async fn half_close_is_forwarded() {
    let (mut visitor, mut server) = upgraded(PATIENCE * 2).await;
    server.shutdown().await.unwrap();
    assert_eq!(rest_of(&mut visitor).await, "first");
    visitor.write_all(b"last").await.unwrap();
    visitor.shutdown().await.unwrap();
    assert_eq!(rest_of(&mut server).await, "last");
}

#[tokio::test]
async fn half_closed_tunnel_is_closed_after_a_timeout() {
    let (mut visitor, mut server) = upgraded(SHORT).await;
    server.shutdown().await.unwrap();
    end_of(&mut server).await;
    drop(visitor);
    (visitor, server) = upgraded(SHORT).await;
    visitor.shutdown().await.unwrap();
    end_of(&mut visitor).await;
    drop(server);
}

async fn end_of(socket: &mut TcpStream) {
    let mut rest = Vec::new();
    let _end_or_reset = timeout(PATIENCE, socket.read_to_end(&mut rest)).await.expect("an end");
}

#[tokio::test]
async fn tunnel_end_closes_an_upgraded_connection() {
    let (mut visitor, mut server) = upgraded_with(|gate| gate.tunnel_time = Some(SHORT)).await;
    end_of(&mut visitor).await;
    end_of(&mut server).await;
}

#[tokio::test]
async fn a_rejected_upgrade_is_forwarded() {
    let (origin, _heads) =
        recorder(b"HTTP/1.1 426 No\r\nUpgrade: tea/2\r\nConnection: upgrade\r\nContent-Length: 2\r\n\r\nno").await;
    let mut visitor = TcpStream::connect(Gate::before(origin).open().await).await.unwrap();
    visitor.write_all(REQUEST).await.unwrap();
    assert!(head_of(&mut visitor).await.unwrap().starts_with("HTTP/1.1 426 No"));
    let mut body = [0; 2];
    visitor.read_exact(&mut body).await.unwrap();
    assert_eq!(&body, b"no");
}

#[tokio::test]
async fn upgrades_cannot_carry_other_requests() {
    let (origin, mut heads) = recorder(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let gate = Gate::before(origin).open().await;
    for protocols in ["h2c", "H2C", "HTTP/2.0", "TLS/1.3, h2c"] {
        let mut visitor = TcpStream::connect(&gate).await.unwrap();
        let request = format!(
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: {protocols}\r\n\
             HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"
        );
        visitor.write_all(request.as_bytes()).await.unwrap();
        assert!(head_of(&mut visitor).await.unwrap().starts_with("HTTP/1.1 200 "));
        let head = heads.recv().await.unwrap();
        for name in ["upgrade", "connection", "http2-settings"] {
            assert!(values(&head, name).is_empty(), "{head}");
        }
    }
}

#[tokio::test]
async fn unrequested_upgrade_returns_502() {
    let (origin, _heads) = recorder(CONSENT).await;
    let gate = Gate::before(origin).open().await;
    let got = timeout(Duration::from_secs(5), super::support::ask(&gate, &["GET / HTTP/1.1"])).await.unwrap();
    assert!(got.starts_with("HTTP/1.1 502 "), "{got}");
}
