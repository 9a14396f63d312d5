use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::support::{Gate, PATIENCE, SHORT, handed, head_of, rest_of};

const TOTAL: usize = 64 << 20;
const CHUNK: usize = 64 << 10;
/// More than the buffers of four sockets and two HTTP connections can hold, and much less than a complete body.
const BUFFERS: usize = 24 << 20;

/// The connection of a visitor whose request was sent, and the origin's end of it.
async fn connected(request: &str) -> (TcpStream, TcpStream) {
    let (origin, handed) = handed().await;
    let gate = Gate::before(origin).open().await;
    let mut visitor = TcpStream::connect(gate).await.unwrap();
    visitor.write_all(request.as_bytes()).await.unwrap();
    let mut server = timeout(PATIENCE, handed).await.unwrap().unwrap();
    head_of(&mut server).await.unwrap();
    (visitor, server)
}

/// Sends chunk by chunk; each must arrive before the next is sent.
async fn lockstep(from: &mut TcpStream, to: &mut TcpStream) {
    let mut received = vec![0; CHUNK];
    for number in 0..TOTAL / CHUNK {
        let chunk = vec![number as u8; CHUNK];
        let (sent, read) = tokio::join!(from.write_all(&chunk), timeout(PATIENCE, to.read_exact(&mut received)));
        sent.unwrap();
        read.expect("a chunk arrives before the body ends").unwrap();
        assert_eq!(received, chunk);
    }
}

/// Sends until no more bytes are accepted. Returns the number of bytes.
async fn fill(socket: &mut TcpStream) -> usize {
    let chunk = vec![7; CHUNK];
    let mut sent = 0;
    while sent < TOTAL {
        match timeout(Duration::from_secs(1), socket.write(&chunk)).await {
            Ok(written) => sent += written.unwrap(),
            Err(_) => break,
        }
    }
    sent
}

fn upload() -> String {
    format!("POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {TOTAL}\r\n\r\n")
}

fn download() -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {TOTAL}\r\n\r\n")
}

#[tokio::test]
async fn a_long_upload_flows_through() {
    let (mut visitor, mut server) = connected(&upload()).await;
    lockstep(&mut visitor, &mut server).await;
    server.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi").await.unwrap();
    assert!(rest_of(&mut visitor).await.ends_with("\r\n\r\nhi"));
}

#[tokio::test]
async fn a_long_download_flows_through() {
    let (mut visitor, mut server) = connected("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await;
    server.write_all(download().as_bytes()).await.unwrap();
    head_of(&mut visitor).await.unwrap();
    lockstep(&mut server, &mut visitor).await;
    assert_eq!(rest_of(&mut visitor).await, "");
}

#[tokio::test]
async fn response_can_start_before_the_request_ends() {
    let request = "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n";
    let (mut visitor, mut server) = connected(request).await;
    server.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx").await.unwrap();
    head_of(&mut visitor).await.unwrap();
    assert_eq!(timeout(PATIENCE, visitor.read_u8()).await.unwrap().unwrap(), b'x');
    visitor.write_all(b"1\r\nb\r\n0\r\n\r\n").await.unwrap();
    let mut body = [0; 17];
    timeout(PATIENCE, server.read_exact(&mut body)).await.unwrap().unwrap();
    assert_eq!(&body, b"1\r\na\r\n1\r\nb\r\n0\r\n\r\n");
    server.write_all(b"y").await.unwrap();
    assert_eq!(rest_of(&mut visitor).await, "y");
}

#[tokio::test]
async fn slow_visitor_applies_backpressure_to_the_origin() {
    let (visitor, mut server) = connected("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    server.write_all(download().as_bytes()).await.unwrap();
    let sent = fill(&mut server).await;
    assert!(sent < BUFFERS, "{sent} bytes were taken in");
    drop(visitor);
}

#[tokio::test]
async fn slow_origin_applies_backpressure_to_the_visitor() {
    let (mut visitor, server) = connected(&upload()).await;
    let sent = fill(&mut visitor).await;
    assert!(sent < BUFFERS, "{sent} bytes were taken in");
    drop(server);
}

#[tokio::test]
async fn slow_reader_is_not_an_origin_timeout() {
    let (origin, handed) = handed().await;
    let gate = Gate::before(origin).with_read_timeout(SHORT).open().await;
    let mut visitor = TcpStream::connect(gate).await.unwrap();
    visitor.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut server = handed.await.unwrap();
    head_of(&mut server).await.unwrap();
    tokio::spawn(async move {
        server.write_all(download().as_bytes()).await.unwrap();
        server.write_all(&vec![7; TOTAL]).await.unwrap();
    });
    tokio::time::sleep(SHORT * 4).await;
    head_of(&mut visitor).await.unwrap();
    assert_eq!(rest_of(&mut visitor).await.len(), TOTAL);
}
