//! Streams: the memory of each, and the CPU of the gate for a read-only visit and for an update, beside a waiting poll of the
//! same server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::process::{Resource, getrlimit};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use vestibule_tests::Redis;

use crate::clients::{Client, Visitors, open};
use crate::server::{Processors, Server};
use crate::{AT_ONCE, ROUNDS, address, median};

/// Open streams, as far as the limit of descriptors allows.
const STREAMS: [usize; 3] = [1_000, 10_000, 37_000];
/// Descriptors that are not for streams.
const OTHER_DESCRIPTORS: usize = 600;
/// Streams with the same address.
const STREAMS_PER_ADDRESS: usize = 10_000;
/// The interval of read-only visits with fewer than 37,500 streams: 750 ms on the grid of 50 ms.
const READS_PER_SECOND: f64 = 1.0 / 0.8;
/// For how long the streams are measured.
const MEASURED: Duration = Duration::from_secs(15);
/// Time between two visitors ahead of all streams who leave, so that every read-only visit finds another position.
const MOVES_EVERY: Duration = Duration::from_millis(300);
/// Visitors who can leave.
const AHEAD: usize = 100;
const HOST: &str = "Host: q0-0.test\r\nAccept: application/json\r\n";

/// Prints a row for each number of streams over this store.
pub(crate) async fn rows(kind: &str, processors: &Processors) {
    println!(
        "\n| store | streams | memory of one, KB | waiting poll, us | read-only visit, us | to the poll's | update, us | to the poll's |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    let limit = getrlimit(Resource::Nofile).current.map_or(usize::MAX, |limit| limit as usize);
    let mut measured = 0;
    for streams in STREAMS.map(|streams| streams.min(limit.saturating_sub(OTHER_DESCRIPTORS))) {
        if streams > measured {
            row(kind, streams, processors).await;
            measured = streams;
        }
    }
}

async fn row(kind: &str, streams: usize, processors: &Processors) {
    let redis = Redis::start().await;
    let server = Server::start(&address(kind, &redis), 0, processors).await;
    let status = format!("GET /_vestibule/status?queue=q0-0 HTTP/1.1\r\n{HOST}");
    let mut ahead = Vec::new();
    for _ in 0..AHEAD {
        let mut client = Client::connect(server.port, &status, true).await;
        client.ask(&status).await;
        ahead.push(client);
    }
    let (mut polling, _) = Visitors::new(server, None, &status, true, AT_ONCE).await;
    let mut polls = Vec::new();
    for _ in 0..ROUNDS {
        polls.push(polling.ask().await.cpu_us);
    }
    let (server, poll) = (polling.server, median(polls));

    let before = server.memory();
    let updates = Arc::new(AtomicU64::new(0));
    let mut open_streams = Vec::new();
    for number in 0..streams {
        let from = (2 + number / STREAMS_PER_ADDRESS) as u8;
        open_streams.push(listen(server.port, from, &status, updates.clone()).await);
    }
    let memory = (server.memory() - before) / streams as f64;

    sleep(Duration::from_secs(2)).await;
    let (cpu, _, seconds) = measure(&server, &updates, async || sleep(MEASURED).await).await;
    let read = cpu * 1e6 / (streams as f64 * seconds * READS_PER_SECOND);

    let leave = format!("POST /_vestibule/leave?queue=q0-0 HTTP/1.1\r\nContent-Length: 0\r\n{HOST}");
    let moving = async || {
        let until = Instant::now() + MEASURED;
        while Instant::now() < until
            && let Some(mut client) = ahead.pop()
        {
            client.ask(&leave).await;
            sleep(MOVES_EVERY).await;
        }
    };
    let (cpu, count, _) = measure(&server, &updates, moving).await;
    let update = cpu * 1e6 / count as f64;
    println!(
        "| {kind} | {streams} | {:.1} | {poll:.1} | {read:.1} | {:.2} | {update:.1} | {:.2} |",
        memory / 1024.0,
        read / poll,
        update / poll
    );
    open_streams.iter().for_each(JoinHandle::abort);
}

/// The CPU seconds of the server and the updates meanwhile, and how long it took.
async fn measure(server: &Server, updates: &AtomicU64, doing: impl AsyncFnOnce()) -> (f64, u64, f64) {
    let (cpu, count, started) = (server.cpu(), updates.load(Ordering::Relaxed), Instant::now());
    doing().await;
    let (cpu, count) = (server.cpu() - cpu, updates.load(Ordering::Relaxed) - count);
    (cpu, count, started.elapsed().as_secs_f64())
}

/// A visitor who joins and listens. Counts the updates.
async fn listen(port: u16, from: u8, status: &str, updates: Arc<AtomicU64>) -> JoinHandle<()> {
    let mut client = Client::connect(port, status, true).await;
    client.ask(status).await;
    let cookie = client.cookie.clone().unwrap();
    drop(client);
    let mut stream = open(port, from).await;
    let request = format!("GET /_vestibule/stream?queue=q0-0 HTTP/1.1\r\n{HOST}Cookie: {cookie}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut bytes = vec![0; 2048];
    // The head and the first status.
    let read = stream.read(&mut bytes).await.unwrap();
    assert!(bytes[..read].starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&bytes[..read]));
    tokio::spawn(async move {
        while let Ok(read) = stream.read(&mut bytes).await
            && read > 0
        {
            let found = bytes[..read].windows(13).filter(|part| *part == b"event: status").count();
            updates.fetch_add(found as u64, Ordering::Relaxed);
        }
    })
}
