use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// A proxy of a server on this machine: responses have a given delay, and requests are recorded. It forwards bytes, so\n/// that a server which refuses, closes or does not answer connections behaves the same to its clients.
pub(super) struct Route {
    port: u16,
    heard: Arc<Heard>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct Heard {
    delay_ms: AtomicU64,
    asked: Mutex<Vec<String>>,
    headers: Mutex<Vec<String>>,
    refused: AtomicU64,
    drops: AtomicU64,
}

impl Route {
    pub(super) async fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::<Heard>::default();
        let task = tokio::spawn(accept(listener, server, Arc::clone(&heard)));
        Self { port, heard, task }
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn delay(&self, time: Duration) {
        self.heard.delay_ms.store(time.as_millis() as u64, Ordering::Relaxed);
    }

    pub(super) fn drop_next(&self, answers: u64) {
        self.heard.drops.store(answers, Ordering::Relaxed);
    }

    pub(super) fn refused(&self) -> u64 {
        self.heard.refused.load(Ordering::Relaxed)
    }

    pub(super) fn headers(&self) -> Vec<String> {
        self.heard.headers.lock().clone()
    }

    pub(super) fn asked(&self) -> Vec<String> {
        self.heard.asked.lock().clone()
    }
}

impl Drop for Route {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, server: u16, heard: Arc<Heard>) {
    while let Ok((client, _)) = listener.accept().await {
        let Ok(server) = TcpStream::connect(("127.0.0.1", server)).await else {
            heard.refused.fetch_add(1, Ordering::Relaxed);
            continue;
        };
        let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
        tokio::spawn(carry(from_client, to_server, Arc::clone(&heard), |heard, piece| {
            heard.note(piece);
            Some(Duration::ZERO)
        }));
        tokio::spawn(carry(from_server, to_client, Arc::clone(&heard), Heard::hold));
    }
}

async fn carry(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    heard: Arc<Heard>,
    meet: impl Fn(&Heard, &[u8]) -> Option<Duration>,
) {
    let mut buffer = vec![0; 65_536];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        let Some(delay) = meet(&heard, &buffer[..count]) else { return };
        sleep(delay).await;
        if to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}

impl Heard {
    /// Whoever reads from S3 sends a request in one piece, and no body.
    fn note(&self, piece: &[u8]) {
        let line = piece.split(|byte| *byte == b'\r').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line);
        if let Some(request) = line.strip_suffix(" HTTP/1.1") {
            self.asked.lock().push(request.to_owned());
            let head = String::from_utf8_lossy(piece);
            let head = head.split("\r\n\r\n").next().unwrap_or_default();
            self.headers.lock().extend(head.lines().skip(1).map(str::to_owned));
        }
    }

    /// `None` for an answer that is not handed on: the connection ends instead.
    fn hold(&self, _: &[u8]) -> Option<Duration> {
        let dropped = self.drops.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        dropped.is_err().then(|| Duration::from_millis(self.delay_ms.load(Ordering::Relaxed)))
    }
}
