//! Drills: the store comes back empty and the gate starts anew while a crowd waits. The verdicts are the same, but for
//! what a lost store can't know: who was let in within the last seconds and has not heard of it waits once more, and
//! somebody who came an instant later and has heard of it is in.

use std::time::Duration;

use tokio::time::sleep;
use vestibule_rehearsal::Fault;

use super::line::Served;
use super::{assert_held, failed, mixed, rehearse, value};

const QUOTA: u64 = 12;
/// The verdicts on the order.
const ORDER: [&str; 2] = ["tau", "overtaking_seconds"];
/// When what goes wrong goes wrong: most still wait.
const STRUCK_AT: f64 = 6.0;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_comes_back_empty_costs_nobody_their_place() {
    let served = Served::with(QUOTA).await;
    let flush = format!("redis-cli -p {} flushall", served.redis.port());
    let fault = Fault { at: STRUCK_AT, name: "the store is empty".to_owned(), command: flush };
    let report = rehearse(mixed(80), &served.address, "shop.example.com", "default", QUOTA, vec![fault]).await;
    let others: Vec<_> = failed(&report).into_iter().filter(|name| !ORDER.contains(name)).collect();
    assert_eq!(others, [""; 0], "{}", report.to_text());
    assert!(value(&report, "tau") < 0.01 && value(&report, "overtaking_seconds") < 1.0, "{}", report.to_text());
    assert!(
        value(&report, "wait_longest") > 50.0,
        "all wait for waiting_ttl, or nothing was lost: {}",
        report.to_text()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gate_that_starts_anew_costs_nobody_their_place() {
    let mut served = Served::with(QUOTA).await;
    let address = served.address.clone();
    let rehearsal = rehearse(mixed(80), &address, "shop.example.com", "default", QUOTA, Vec::new());
    let restart = async {
        sleep(Duration::from_secs_f64(STRUCK_AT)).await;
        served.program.kill();
        sleep(Duration::from_secs(2)).await;
        served.program.restart();
    };
    let (report, ()) = tokio::join!(rehearsal, restart);
    assert_held(&report);
    assert!(value(&report, "failed_share") > 0.0, "nobody was answered for two seconds: {}", report.to_text());
}
