//! Forged tokens of accounts: what a thousand a second cost the gate, and the polls of others.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use futures_util::future::{join, join_all};
use serde_json::json;
use tokio::time::{Instant, interval};
use vestibule_tests::{Redis, account_token, forged_account_token};

use crate::clients::Client;
use crate::server::{Processors, Server};
use crate::{AT_ONCE, ROUNDS, WAITING, address, median};

/// Forgers, each on a connection of its own.
const FORGERS: u32 = 16;
/// Requests a second of all forgers.
const TOKENS_PER_SECOND: u32 = 1_000;
/// Polls a second of all others: a gate with one core has time left.
const POLLS_PER_SECOND: u32 = 10_000;
/// How long polls are measured at a time, with and without forgers.
const MEASURED: Duration = Duration::from_secs(2);
const POLL: &str = "GET /_vestibule/status?queue=q0-0 HTTP/1.1\r\nHost: q0-0.test\r\nAccept: application/json\r\n";
const NEWCOMER: &str =
    "GET /_vestibule/status?queue=accounts HTTP/1.1\r\nHost: accounts.test\r\nAccept: application/json\r\n";

/// What forgers send: its name, and a token whose header and signature they use with claims of their own.
type Forgery = (&'static str, fn() -> Option<String>);
const FORGERIES: [Forgery; 5] = [
    ("none", || None),
    ("HS256 with the public key", || Some(forged_account_token(&json!({})))),
    ("RS256, wrong signature", || Some(account_token("RS256", &json!({})))),
    ("ES256, wrong signature", || Some(account_token("ES256", &json!({})))),
    ("EdDSA, wrong signature", || Some(account_token("EdDSA", &json!({})))),
];

/// Header and signature of a token, for tokens of one invented account after the other. The gate has seen none of them before.
struct Forger {
    header: String,
    signature: String,
    account: u64,
}

impl Forger {
    fn new(token: &str, number: u32) -> Self {
        let parts: Vec<&str> = token.split('.').collect();
        let [header, _, signature] = parts[..] else { unreachable!("a token has three parts") };
        Self { header: header.to_owned(), signature: signature.to_owned(), account: u64::from(number) << 32 }
    }

    fn cookie(&mut self) -> String {
        self.account += 1;
        let claims = json!({
            "iss": "https://www.example.com", "aud": "bench", "sub": self.account.to_string(), "exp": 4_000_000_000_u64,
        });
        let claims = BASE64_URL_SAFE_NO_PAD.encode(claims.to_string());
        format!("shop_id={}.{claims}.{}", self.header, self.signature)
    }
}

/// Polls of visitors in line, in turns with and without each kind of forged token.
pub(crate) async fn rows(kind: &str, processors: &Processors) {
    let redis = Redis::start().await;
    let server = Server::start(&address(kind, &redis), WAITING, processors).await;
    let mut pollers = Vec::new();
    for _ in 0..AT_ONCE {
        let mut client = Client::connect(server.port, POLL, true).await;
        client.ask(POLL).await;
        pollers.push(client);
    }
    println!(
        "\n| store | tokens | a second | CPU of the gate for one, us | p99 of polls alone, us | beside, us | ratio |"
    );
    println!("| --- | --- | ---: | ---: | ---: | ---: | ---: |");
    for (number, (name, token)) in (0..).zip(FORGERIES) {
        let mut forgers = Vec::new();
        for forger in 0..FORGERS {
            let client = Client::connect(server.port, NEWCOMER, false).await;
            forgers.push((client, token().map(|token| Forger::new(&token, number * FORGERS + forger))));
        }
        let [mut sent, mut costs, mut alone, mut beside, mut ratios] = [const { Vec::new() }; 5];
        for _ in 0..ROUNDS {
            let before = server.cpu();
            let polled = polls(&mut pollers).await;
            let between = server.cpu();
            let (polled_beside, tokens) = join(polls(&mut pollers), forge(&mut forgers)).await;
            let cpu = (server.cpu() - between) - (between - before);
            sent.push(tokens as f64 / MEASURED.as_secs_f64());
            costs.push(cpu * 1e6 / tokens as f64);
            alone.push(polled);
            beside.push(polled_beside);
            ratios.push(polled_beside / polled);
        }
        println!(
            "| {kind} | {name} | {:.0} | {:.0} | {:.0} | {:.0} | {:.2} |",
            median(sent),
            median(costs),
            median(alone),
            median(beside),
            median(ratios)
        );
    }
}

/// Polls. Returns how many microseconds 99 of a hundred took at most.
async fn polls(pollers: &mut [Client]) -> f64 {
    let every = Duration::from_secs(1) * pollers.len() as u32 / POLLS_PER_SECOND;
    let polls = pollers.iter_mut().map(|client| ask_every(client, POLL, every, None));
    let mut times = join_all(polls).await.concat();
    times.sort_unstable();
    times[times.len() * 99 / 100].as_secs_f64() * 1e6
}

/// Sends forged tokens. Returns how many.
async fn forge(forgers: &mut [(Client, Option<Forger>)]) -> usize {
    let every = Duration::from_secs(1) * FORGERS / TOKENS_PER_SECOND;
    let sent = forgers.iter_mut().map(|(client, forger)| ask_every(client, NEWCOMER, every, forger.as_mut()));
    join_all(sent).await.concat().len()
}

/// Asks at this interval, with a new token each time. Returns how long each answer took.
async fn ask_every(
    client: &mut Client,
    request: &str,
    every: Duration,
    mut forger: Option<&mut Forger>,
) -> Vec<Duration> {
    let (until, mut ticks, mut times) = (Instant::now() + MEASURED, interval(every), Vec::new());
    while ticks.tick().await < until {
        if let Some(forger) = &mut forger {
            client.cookie = Some(forger.cookie());
        }
        let asked_at = Instant::now();
        client.ask(request).await;
        times.push(asked_at.elapsed());
    }
    times
}
