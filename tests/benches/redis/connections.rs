//! A poll over a connection of its own, one at a time, as a function makes it: the server reads, decrypts and answers each by itself.

use std::path::Path;
use std::process::Command;

use futures_util::future::join_all;
use vestibule_core::Ticket;
use vestibule_store_redis::{RedisOptions, RedisStore};
use vestibule_tests::{Redis, free_port, write_certificates};

use super::{SAMPLE, StoreFixture};

/// Sessions in line.
const WAITING: usize = 100_000;
/// Connections at once.
const CONNECTIONS: [usize; 2] = [64, 500];
/// The folder with the certificates of the server, in the process that trusts them.
const CERTIFICATES: &str = "VESTIBULE_BENCH_CERTIFICATES";

/// Prints the table. The trusted authority is named in the environment, so a process of its own measures.
pub(super) async fn run() {
    if let Ok(folder) = std::env::var(CERTIFICATES) {
        return measure(Path::new(&folder)).await;
    }
    let folder = tempfile::tempdir().unwrap();
    write_certificates(folder.path());
    let mut process = Command::new(std::env::current_exe().unwrap());
    process.env(CERTIFICATES, folder.path()).env("SSL_CERT_FILE", folder.path().join("authority.pem"));
    assert!(process.arg("connections").status().unwrap().success());
}

async fn measure(certificates: &Path) {
    let port = free_port();
    let file = |name: &str| certificates.join(name).display().to_string();
    let (tls_port, authority) = (port.to_string(), file("authority.pem"));
    let (certificate, key) = (file("certificate.pem"), file("key.pem"));
    let tls = [
        ["--tls-port", &tls_port],
        ["--tls-cert-file", &certificate],
        ["--tls-key-file", &key],
        ["--tls-ca-cert-file", &authority],
        ["--tls-auth-clients", "no"],
    ];
    let bench = StoreFixture::over(Redis::start_with(&tls.concat()).await).await;
    let tickets = bench.shuffled(WAITING).await;
    let tickets = bench.poll(&bench.store, &bench.queue, &tickets).await;
    let tickets = bench.poll(&bench.apart, &bench.queue, &tickets).await;
    let (pipelined, _) = bench.work(bench.poll(&bench.apart, &bench.queue, &tickets), tickets.len()).await;
    println!("| connections | | CPU of Redis per poll, us | more than pipelined, us |");
    println!("| ---: | --- | ---: | ---: |");
    println!("| 1 | 64 polls pipelined | {:.1} | - |", pipelined.cpu_us);
    for connections in CONNECTIONS {
        for (name, url) in [("plain", bench.redis.url()), ("TLS", format!("rediss://127.0.0.1:{port}"))] {
            let options = RedisOptions { timeout: super::TIMEOUT, batch_max: 1, ..RedisOptions::default() };
            let stores: Vec<_> =
                (0..connections).map(|_| RedisStore::connect(&url, options.clone()).unwrap()).collect();
            // Handshakes are not measured.
            poll_each(&bench, &stores, &tickets[..connections]).await;
            let (work, ()) = bench.work(poll_each(&bench, &stores, &tickets), SAMPLE).await;
            println!("| {connections} | {name} | {:.1} | {:.1} |", work.cpu_us, work.cpu_us - pipelined.cpu_us);
        }
    }
}

/// Each store makes its share of the polls, one after the other.
async fn poll_each(bench: &StoreFixture, stores: &[RedisStore], tickets: &[Ticket]) {
    let share = tickets.len().div_ceil(stores.len());
    let polls = stores.iter().zip(tickets.chunks(share)).map(|(store, tickets)| async move {
        for ticket in tickets {
            bench.poll(store, &bench.queue, std::slice::from_ref(ticket)).await;
        }
    });
    join_all(polls).await;
}
