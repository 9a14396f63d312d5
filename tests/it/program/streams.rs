//! Streams of a running program.

use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::Instant;
use vestibule_tests::{StreamBlock, Visitor, wait_until};

use super::{COOKIE, HOST, RunningGate};
use crate::gate_fixture::TIMEOUT;

const STREAM: &str = "/_vestibule/stream?queue=tour";

async fn waiting(served: &RunningGate) -> Visitor {
    let mut visitor = served.visitor();
    visitor.navigate("/").await;
    visitor.status("tour").await;
    visitor
}

#[tokio::test]
async fn client_that_stops_reading_expires() {
    let served = RunningGate::with("quota = 0\nwaiting_ttl = 4\nclaim_ttl = 4").await;
    let gone = waiting(&served).await;
    let mut younger = waiting(&served).await;
    let mut socket = TcpStream::connect(&served.address).await.unwrap();
    let cookie = gone.cookie(COOKIE).unwrap();
    let request = format!("GET {STREAM} HTTP/1.1\r\nHost: {HOST}\r\nCookie: {COOKIE}={cookie}\r\n\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    assert_eq!(younger.status("tour").await.json()["position"], 2);
    // Nothing is read, and the connection stays open.
    wait_until("the silent client has expired", TIMEOUT, async || {
        younger.status("tour").await.json()["position"] == json!(1)
    })
    .await;
    drop(socket);
}

#[tokio::test]
async fn shutdown_ends_streams() {
    let mut served = RunningGate::with("quota = 0").await;
    let mut streams = Vec::new();
    for _ in 0..5 {
        let mut visitor = waiting(&served).await;
        let mut stream = visitor.event_stream(STREAM).await.unwrap();
        assert_eq!(stream.event().await.unwrap()["state"], "waiting");
        streams.push(stream);
    }
    let stopped_at = Instant::now();
    served.program.signal("TERM");
    for stream in &mut streams {
        let retry = loop {
            match stream.next().await {
                Some(StreamBlock::Retry(retry)) => break retry,
                Some(_) => {}
                None => panic!("the stream ends without a time to reconnect"),
            }
        };
        assert!((500..=15_000).contains(&retry), "{retry}");
        assert_eq!(stream.next().await, None);
    }
    assert!(served.program.end().await.success());
    assert!(stopped_at.elapsed() < Duration::from_secs(30), "it does not wait for the grace period");
}

#[tokio::test]
async fn streams_can_be_turned_off() {
    let served = RunningGate::launched("quota = 0", &["--streams-max", "0"], |launch| launch).await;
    let mut visitor = waiting(&served).await;
    assert!(visitor.navigate("/").await.text().contains("\"stream_url\":null"));
    assert!(visitor.event_stream(STREAM).await.is_err());
    let served = RunningGate::with("quota = 0").await;
    let page = waiting(&served).await.navigate("/").await;
    assert!(page.text().contains("\"stream_url\":\"/_vestibule/stream?queue=tour\""));
}
