//! What another client feels while a million expired sessions are purged.
//!
//! A visitor polls on a connection of its own, one poll after the other, in a queue with 10 000 in line: first alone,
//! then while the purge empties 200 other queues, and so on in turns. Prints a table; asserts nothing but that all was
//! purged.

#![expect(clippy::unwrap_used, reason = "a benchmark that can't be set up has failed")]

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;
use vestibule_core::line::Visit;
use vestibule_core::settings::Settings;
use vestibule_core::store::{SettingsStore as _, VisitStore as _};
use vestibule_core::{KeyList, PutMode, QueueId, SessionId, ShownStatus, Ticket, TicketOrigin, TicketSigner};
use vestibule_store_redis::{Keys, RedisOptions, RedisStore};
use vestibule_tests::{Redis, Value};

const QUEUES: usize = 200;
const EXPIRED_WAITING: usize = 4_500;
const EXPIRED_ACTIVE: usize = 500;
const WAITING: usize = 10_000;
const TURNS: usize = 3;

/// Sessions that expired long ago: `ARGV[1]` active and `ARGV[2]` in line.
const FILL: &str = "
    local admitted, waiting = tonumber(ARGV[1]), tonumber(ARGV[2])
    for i = 1, admitted + waiting do
        local session = string.format('%016d', i)
        redis.call('ZADD', i <= admitted and KEYS[1] or KEYS[2], 1000000 + i, session)
        redis.call('ZADD', KEYS[3], 2000000 + i, session)
    end";

fn settings(id: &str, quota: usize) -> Settings {
    let document = json!({
        "id": id, "tenant": "bench", "hosts": ["*"], "quota": quota, "waiting_ttl": 3600, "claim_ttl": 1200,
        "hold_ttl": 3600, "handover": { "kind": "check" }, "protection": { "pre_ticket_from": "none" },
    });
    Settings::from_value(&document).unwrap()
}

fn connected(redis: &Redis) -> RedisStore {
    RedisStore::connect(&redis.url(), RedisOptions { timeout: Duration::from_secs(10), ..Default::default() }).unwrap()
}

async fn fill(redis: &Redis, store: &RedisStore) {
    for number in 0..QUEUES {
        let settings = settings(&format!("expired-{number}"), EXPIRED_ACTIVE);
        store.put_settings(&settings, PutMode::Always).await.unwrap();
        let keys = Keys::of(&settings.id);
        let (active, line, pool) = (keys.active(), keys.line(), keys.pool());
        let (admitted, waiting) = (EXPIRED_ACTIVE.to_string(), EXPIRED_WAITING.to_string());
        let answer = redis.command(&["EVAL", FILL, "3", &active, &line, &pool, &admitted, &waiting]).await;
        assert_eq!(answer, Value::Nil);
    }
}

/// A queue in which people wait, and the ticket of one of them.
async fn a_line(store: &RedisStore) -> (QueueId, Ticket) {
    let settings = settings("waiting", 0);
    store.put_settings(&settings, PutMode::Always).await.unwrap();
    let visits = stream::iter(0..WAITING)
        .map(|_| async { store.visit(&settings.id, Visit::joining(SessionId::random())).await.unwrap() });
    let answers: Vec<_> = visits.buffered(64).collect().await;
    let (signer, answer) = (TicketSigner::new(&KeyList::of_bytes("bench", [7; 32])).unwrap(), answers[WAITING / 2]);
    let token = signer.sign(&settings.id, &answer, ShownStatus::default(), TicketOrigin::default()).unwrap();
    let ticket = signer.verify(&settings.id, token.as_bytes()).unwrap();
    (settings.id, ticket)
}

/// Polls until it is stopped; returns how long each poll took, the shortest first.
async fn poll(store: Arc<RedisStore>, queue: QueueId, ticket: Ticket, stop: watch::Receiver<bool>) -> Vec<Duration> {
    let mut times = Vec::new();
    while !*stop.borrow() {
        let began = Instant::now();
        store.visit(&queue, Visit::keeping(ticket.clone())).await.unwrap();
        times.push(began.elapsed());
    }
    times.sort();
    times
}

fn row(beside: &str, times: &[Duration], scripts: &str) {
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1000.0;
    println!(
        "| {beside} | {} | {:.2} ms | {:.2} ms | {:.2} ms | {:.2} ms | {scripts} |",
        times.len(),
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0)
    );
}

/// How long one script held the server at most since its memory of them was emptied, in milliseconds.
async fn longest_script(redis: &Redis) -> f64 {
    let slow = redis.command(&["SLOWLOG", "GET", "10000"]).await;
    let times = slow.array().iter().map(|entry| entry.array()[2].integer());
    times.max().unwrap_or(0) as f64 / 1000.0
}

async fn beside<T>(
    visitor: (&Arc<RedisStore>, &QueueId, &Ticket),
    doing: impl Future<Output = T>,
) -> (T, Vec<Duration>) {
    let (tell, stop) = watch::channel(false);
    let polling = tokio::spawn(poll(Arc::clone(visitor.0), visitor.1.clone(), visitor.2.clone(), stop));
    let done = doing.await;
    tell.send_replace(true);
    (done, polling.await.unwrap())
}

#[tokio::main]
async fn main() {
    let redis = Redis::start().await;
    let (purger, visitor) = (connected(&redis), Arc::new(connected(&redis)));
    let (queue, ticket) = a_line(&visitor).await;
    for threshold in
        [["CONFIG", "SET", "slowlog-log-slower-than", "200"], ["CONFIG", "SET", "slowlog-max-len", "10000"]]
    {
        redis.command(&threshold).await;
    }
    println!("| beside | polls | p50 | p99 | p99.9 | longest | longest script on Redis |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    for _ in 0..TURNS {
        fill(&redis, &purger).await;
        redis.command(&["SLOWLOG", "RESET"]).await;
        let alone = Duration::from_secs(3);
        let ((), quiet) = beside((&visitor, &queue, &ticket), tokio::time::sleep(alone)).await;
        row("nothing", &quiet, &format!("{:.2} ms", longest_script(&redis).await));

        redis.command(&["SLOWLOG", "RESET"]).await;
        let budget = Duration::from_mins(5);
        let (round, busy) = beside((&visitor, &queue, &ticket), vestibule_purge::run(&purger, budget)).await;
        let scripts = format!("{:.2} ms", longest_script(&redis).await);
        row(&format!("a purge of {} ms", round.record.took_ms), &busy, &scripts);
        assert!(!round.record.unfinished && round.record.failed == 0, "{round:?}");
        assert_eq!(left(&redis).await, 0, "all was purged");
    }
}

async fn left(redis: &Redis) -> i64 {
    let mut left = 0;
    for number in 0..QUEUES {
        let queue: QueueId = format!("expired-{number}").parse().unwrap();
        left += redis.command(&["ZCARD", &Keys::of(&queue).pool()]).await.integer();
    }
    left
}
