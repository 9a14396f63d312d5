use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep};
use tracing_subscriber::fmt::MakeWriter;

use super::support::{Gate, PATIENCE, SHORT, ask, handed, head_of, origin, rest_of, say};
use crate::Forwarded;

async fn silent() -> http::Uri {
    origin(|mut socket| async move {
        head_of(&mut socket).await;
        sleep(PATIENCE).await;
    })
    .await
}

#[tokio::test]
async fn an_origin_that_is_down_is_unreachable_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    drop(listener);
    let started = Instant::now();
    let got = ask(&Gate::before(origin).open().await, &["GET / HTTP/1.1"]).await;
    assert!(got.starts_with("HTTP/1.1 502 ") && got.ends_with("Unreachable"), "{got}");
    assert!(started.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn an_origin_that_never_answers_runs_out_of_time() {
    let gate = Gate::before(silent().await).with_read_timeout(SHORT).open().await;
    let started = Instant::now();
    let got = ask(&gate, &["GET / HTTP/1.1"]).await;
    assert!(got.starts_with("HTTP/1.1 504 ") && got.ends_with("Timeout"), "{got}");
    assert!((SHORT..SHORT * 5).contains(&started.elapsed()), "{:?}", started.elapsed());
}

#[tokio::test]
async fn slow_handshake_times_out() {
    let plain = silent().await;
    let mut gate = Gate::before(format!("https://{}", plain.authority().unwrap()).parse().unwrap());
    gate.limits.connect_timeout = SHORT;
    let got = ask(&gate.open().await, &["GET / HTTP/1.1"]).await;
    assert!(got.starts_with("HTTP/1.1 504 "), "{got}");
}

#[tokio::test]
async fn an_origin_without_tls_is_unreachable_by_https() {
    let plain = origin(|mut socket| async move { socket.write_all(b"HTTP/1.1 400 Bad\r\n\r\n").await.unwrap() }).await;
    let gate = Gate::before(format!("https://{}", plain.authority().unwrap()).parse().unwrap());
    let got = ask(&gate.open().await, &["GET / HTTP/1.1"]).await;
    assert!(got.starts_with("HTTP/1.1 502 ") && got.ends_with("Unreachable"), "{got}");
}

#[tokio::test]
async fn interrupted_and_invalid_responses_are_errors() {
    for words in ["", "HTTP/1.1 200 OK\r\nContent-", "SSH-2.0-OpenSSH\r\n\r\n"] {
        let origin = origin(move |mut socket| async move {
            head_of(&mut socket).await;
            socket.write_all(words.as_bytes()).await.unwrap();
        })
        .await;
        let got = ask(&Gate::before(origin).open().await, &["GET / HTTP/1.1"]).await;
        assert!(got.starts_with("HTTP/1.1 502 ") && got.ends_with("BadResponse"), "{words}: {got}");
    }
}

#[tokio::test]
async fn long_upload_with_progress_does_not_time_out() {
    let (origin, handed) = handed().await;
    let gate = Gate::before(origin).with_read_timeout(SHORT).open().await;
    let mut visitor = TcpStream::connect(gate).await.unwrap();
    visitor.write_all(b"POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 9\r\n\r\n").await.unwrap();
    for _ in 0..9 {
        sleep(SHORT / 3).await;
        visitor.write_all(b"x").await.unwrap();
    }
    let mut server = handed.await.unwrap();
    head_of(&mut server).await.unwrap();
    server.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi").await.unwrap();
    assert!(rest_of(&mut visitor).await.ends_with("\r\n\r\nhi"));
}

#[tokio::test]
async fn stalled_request_body_returns_408() {
    let gate = Gate::before(silent().await).with_read_timeout(SHORT).open().await;
    let got = say(&gate, b"POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 9\r\n\r\nx").await;
    assert!(got.starts_with("HTTP/1.1 408 "), "{got}");
}

#[tokio::test]
async fn an_upload_beyond_the_limit_is_refused() {
    for request in
        ["Content-Length: 4\r\n\r\nabcd", "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n"]
    {
        let mut gate = Gate::before(silent().await);
        gate.limits.upload_bytes = Some(3);
        let request = format!("POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{request}");
        let got = say(&gate.open().await, request.as_bytes()).await;
        assert!(got.starts_with("HTTP/1.1 413 ") && got.ends_with("TooLarge"), "{got}");
    }
}

#[tokio::test]
async fn a_broken_upload_is_the_visitors_fault() {
    let gate = Gate::before(silent().await).open().await;
    let request = b"POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n";
    let got = say(&gate, request).await;
    assert!(got.is_empty() || got.starts_with("HTTP/1.1 400 "), "{got}");
}

/// A log that a test can read.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn keep(&self) -> tracing::subscriber::DefaultGuard {
        let log = tracing_subscriber::fmt().with_ansi(false).with_writer(self.clone());
        tracing::subscriber::set_default(log.finish())
    }

    fn lines(&self) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().clone()).unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn an_answer_that_stops_midway_is_cut_and_logged_once() {
    for (framing, end) in [("Content-Length: 9", "part"), ("Transfer-Encoding: chunked", "4\r\npart\r\n")] {
        for stay in [PATIENCE, Duration::ZERO] {
            let log = Log::default();
            let _kept = log.keep();
            let origin = origin(move |mut socket| async move {
                head_of(&mut socket).await;
                socket.write_all(format!("HTTP/1.1 200 OK\r\n{framing}\r\n\r\n{end}").as_bytes()).await.unwrap();
                sleep(stay).await;
            })
            .await;
            let authority = origin.authority().unwrap().to_string();
            let gate = Gate::before(origin).with_read_timeout(SHORT).open().await;
            let got = ask(&gate, &["GET / HTTP/1.1"]).await;
            assert!(got.starts_with("HTTP/1.1 200 ") && got.ends_with(end), "{got}");
            assert_eq!(log.lines().len(), 1, "{:?}", log.lines());
            assert!(log.lines()[0].contains(&authority), "{:?}", log.lines());
        }
    }
}

#[tokio::test]
async fn a_failure_is_logged_once_and_without_the_visitor() {
    let log = Log::default();
    let _kept = log.keep();
    let mut gate = Gate::before("http://user:hunter2@127.0.0.1:1".parse().unwrap());
    gate.peer = Some([192, 0, 2, 7].into());
    ask(&gate.open().await, &["GET /secret HTTP/1.1", "Cookie: a=secret"]).await;
    let lines = log.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("127.0.0.1:1") && lines[0].contains("refused"), "{lines:?}");
    for private in ["secret", "192.0.2.7", "hunter2"] {
        assert!(!lines[0].contains(private), "{lines:?}");
    }
}

#[tokio::test]
async fn an_invalid_host_cannot_be_forwarded() {
    let proxy = crate::Proxy::new(crate::ProxyLimits::default()).unwrap();
    let headers = http::HeaderMap::new();
    let context = Forwarded { peer: None, proto: "http", host: "a\r\nb: c", trusted: false, headers, tunnel_end: None };
    let origin = "http://127.0.0.1:1".parse().unwrap();
    let failure = proxy
        .forward(&origin, vestibule_core::settings::Reach::Any, http::Request::default(), context)
        .await
        .unwrap_err();
    assert_eq!(failure, crate::ProxyError::BadRequest);
}
