//! A visit on Redis, by the length of the line: what the server works for it, and what a visitor takes of its memory.
//!
//! The yardstick is what the least poll imaginable would cost the same server in the same run: ZRANK and ZADD XX over
//! sets of the same size, as a pipeline. Prints a table; asserts nothing.

#![expect(clippy::unwrap_used, reason = "a benchmark that can't be set up has failed")]

mod connections;
mod joins;
mod sales;

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use rand::SeedableRng as _;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom as _;
use serde_json::{Value, json};
use vestibule_core::line::{Visit, VisitAnswer};
use vestibule_core::settings::Settings;
use vestibule_core::store::{SettingsStore as _, VisitStore as _};
use vestibule_core::{KeyList, PutMode, QueueId, SessionId, ShownStatus, Ticket, TicketOrigin, TicketSigner};
use vestibule_store_redis::{Keys, RedisOptions, RedisStore};
use vestibule_tests::Redis;

/// Requests under way at once, over one connection.
const IN_FLIGHT: usize = 64;
/// Visits that a figure is taken from.
const SAMPLE: usize = 20_000;
/// How long a call may take: longer than a busy machine needs.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The settings of a queue with these changes.
fn settings(id: &str, changes: &Value) -> Settings {
    let mut document = json!({
        "id": id, "tenant": "bench", "hosts": [format!("{id}.example.com")], "quota": 0, "waiting_ttl": 3600,
        "claim_ttl": 1200, "hold_ttl": 3600, "handover": { "kind": "check" }, "protection": { "pre_ticket_from": "none" },
    });
    document.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    Settings::from_value(&document).unwrap()
}

struct StoreFixture {
    redis: Redis,
    store: Arc<RedisStore>,
    /// The same, but every visit has a script for itself.
    apart: Arc<RedisStore>,
    signer: TicketSigner,
    queue: QueueId,
}

/// What the server worked in between: seconds of its CPU, and what it says of the time in commands.
struct Work {
    cpu_us: f64,
    commands: Vec<(String, f64)>,
}

impl StoreFixture {
    async fn start() -> Self {
        Self::over(Redis::start().await).await
    }

    async fn over(redis: Redis) -> Self {
        let options = RedisOptions { timeout: TIMEOUT, ..RedisOptions::default() };
        let store = Arc::new(RedisStore::connect(&redis.url(), options.clone()).unwrap());
        let apart = RedisOptions { batch_max: 1, ..options };
        let apart = Arc::new(RedisStore::connect(&redis.url(), apart).unwrap());
        let settings = settings("bench", &json!({}));
        store.put_settings(&settings, PutMode::Always).await.unwrap();
        let signer = TicketSigner::new(&KeyList::of_bytes("bench", [7; 32])).unwrap();
        Self { redis, store, apart, signer, queue: settings.id }
    }

    async fn join(&self, queue: &QueueId, count: usize) -> Vec<Ticket> {
        let visits = stream::iter(0..count).map(|_| async {
            let visit = Visit::joining(SessionId::random());
            self.ticket_of(queue, &self.store.visit(queue, visit).await.unwrap())
        });
        visits.buffered(IN_FLIGHT).collect().await
    }

    /// Lets this many join, and returns some of them. Visitors of a long line come in no order that a cache would like.
    async fn shuffled(&self, waiting: usize) -> Vec<Ticket> {
        let mut sample = self.join(&self.queue, waiting).await;
        sample.shuffle(&mut SmallRng::seed_from_u64(1));
        sample.truncate(SAMPLE);
        sample
    }

    /// Returns the tickets that they are given.
    async fn poll(&self, store: &RedisStore, queue: &QueueId, tickets: &[Ticket]) -> Vec<Ticket> {
        let visits = stream::iter(tickets.to_vec()).map(|ticket| async {
            let visit = Visit::keeping(ticket);
            self.ticket_of(queue, &store.visit(queue, visit).await.unwrap())
        });
        visits.buffer_unordered(IN_FLIGHT).collect().await
    }

    fn ticket_of(&self, queue: &QueueId, answer: &VisitAnswer) -> Ticket {
        let session = answer.session.unwrap();
        let shown = ShownStatus { position: Some(session.position), ..ShownStatus::default() };
        let token = self.signer.sign(queue, answer, shown, TicketOrigin::default()).unwrap();
        self.signer.verify(queue, token.as_bytes()).unwrap()
    }

    /// ZRANK and ZADD XX for each of these sessions, pipelined as deep as the visits are.
    async fn yardstick(&self, sessions: &[SessionId]) {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let mut connection = tokio::net::TcpStream::connect(("127.0.0.1", self.redis.port())).await.unwrap();
        let keys = Keys::of(&self.queue);
        let mut answer = vec![0; 1 << 20];
        for (round, chunk) in sessions.chunks(IN_FLIGHT).enumerate() {
            let mut pipeline = Vec::new();
            for session in chunk {
                resp(&mut pipeline, &[b"ZRANK", keys.line().as_bytes(), session.as_bytes()]);
                let score = (9_000_000_000_000_000_u64 - round as u64).to_string();
                resp(&mut pipeline, &[b"ZADD", b"yardstick", b"XX", score.as_bytes(), session.as_bytes()]);
            }
            connection.write_all(&pipeline).await.unwrap();
            let mut replies = 0;
            while replies < 2 * chunk.len() {
                let read = connection.read(&mut answer).await.unwrap();
                replies += answer[..read].split(|byte| *byte == b'\n').count() - 1;
            }
        }
    }

    async fn work<T>(&self, doing: impl Future<Output = T>, times: usize) -> (Work, T) {
        self.redis.command(&["CONFIG", "RESETSTAT"]).await;
        let before = self.redis.cpu().await;
        let done = doing.await;
        let cpu_us = (self.redis.cpu().await - before) * 1e6 / times as f64;
        let mut commands = Vec::new();
        for name in ["fcall", "zrank", "zadd"] {
            if let Some(text) = self.redis.info("commandstats", &format!("cmdstat_{name}")).await {
                let usec = text.split(',').find_map(|part| part.strip_prefix("usec=")).unwrap_or("0");
                commands.push((name.to_owned(), usec.parse::<f64>().unwrap() / times as f64));
            }
        }
        (Work { cpu_us, commands }, done)
    }

    async fn used_memory(&self) -> f64 {
        self.redis.info("memory", "used_memory").await.unwrap().parse().unwrap()
    }
}

fn resp(out: &mut Vec<u8>, words: &[&[u8]]) {
    out.extend(format!("*{}\r\n", words.len()).bytes());
    for word in words {
        out.extend(format!("${}\r\n", word.len()).bytes());
        out.extend(*word);
        out.extend(b"\r\n");
    }
}

fn row(waiting: usize, what: &str, work: &Work, yard: &Work) {
    let within: f64 = work.commands.iter().filter(|(name, _)| name == "fcall").map(|(_, usec)| usec).sum();
    let yard_within: f64 = yard.commands.iter().map(|(_, usec)| usec).sum();
    println!(
        "| {waiting} | {what} | {:.1} | {:.2} | {within:.1} | {:.2} |",
        work.cpu_us,
        work.cpu_us / yard.cpu_us,
        within / yard_within
    );
}

/// Lines that are measured.
const WAITING: [usize; 3] = [1_000, 100_000, 1_000_000];

#[tokio::main]
async fn main() {
    // One table alone: `cargo bench -p vestibule-tests --bench redis -- sales`, `-- joins` or `-- connections`.
    let only = |table: &str| std::env::args().any(|argument| argument == table);
    if only("connections") {
        return connections::run().await;
    }
    if only("joins") {
        return joins::run().await;
    }
    if !only("sales") {
        visits().await;
        println!();
        connections::run().await;
        println!();
        joins::run().await;
    }
    println!("\n| waiting | operation | CPU of Redis, us | beside | CPU of that, us | ratio |");
    println!("| ---: | --- | ---: | --- | ---: | ---: |");
    for waiting in WAITING {
        let bench = StoreFixture::start().await;
        let sample = bench.shuffled(waiting).await;
        let sample = bench.poll(&bench.store, &bench.queue, &sample).await;
        sales::rows(&bench, waiting, &sample).await;
    }
}

async fn visits() {
    println!(
        "| waiting | operation | CPU of Redis, us | to the yardstick | of it in the script, us | to the yardstick's |"
    );
    println!("| ---: | --- | ---: | ---: | ---: | ---: |");
    for waiting in WAITING {
        let bench = StoreFixture::start().await;
        let empty = bench.used_memory().await;
        let sample = bench.shuffled(waiting).await;
        let memory = (bench.used_memory().await - empty) / waiting as f64;
        let sessions: Vec<SessionId> = sample.iter().cycle().take(SAMPLE).map(Ticket::session).collect();

        // The yardstick's set is a copy of the pool, so that it is as large.
        let keys = Keys::of(&bench.queue);
        bench.redis.command(&["COPY", &keys.pool(), "yardstick"]).await;
        let (yard, ()) = bench.work(bench.yardstick(&sessions), SAMPLE).await;
        let yard_within: f64 = yard.commands.iter().map(|(_, usec)| usec).sum();
        println!("| {waiting} | yardstick: ZRANK + ZADD XX | {:.1} | 1 | {yard_within:.1} | 1 |", yard.cpu_us);
        bench.redis.command(&["UNLINK", "yardstick"]).await;

        // The first visit after joining moves the expiry from claim_ttl to waiting_ttl; the next leave it where it is.
        let repeated = |tickets: &[Ticket]| tickets.iter().cycle().take(SAMPLE).cloned().collect::<Vec<_>>();
        let (first, tickets) = bench.work(bench.poll(&bench.store, &bench.queue, &sample), sample.len()).await;
        row(waiting, "first poll, which moves its expiry", &first, &yard);
        let (together, _) = bench.work(bench.poll(&bench.store, &bench.queue, &repeated(&tickets)), SAMPLE).await;
        row(waiting, "poll", &together, &yard);
        bench.poll(&bench.apart, &bench.queue, &sample[..1]).await;
        let tickets = bench.poll(&bench.apart, &bench.queue, &tickets).await;
        let (apart, _) = bench.work(bench.poll(&bench.apart, &bench.queue, &repeated(&tickets)), SAMPLE).await;
        row(waiting, "poll with a script for itself", &apart, &yard);
        let (joining, _) = bench.work(bench.join(&bench.queue, SAMPLE), SAMPLE).await;
        row(waiting, "first visit", &joining, &yard);
        println!("| {waiting} | memory of a visitor | {memory:.1} bytes | | | |");
    }
}
