//! Sales with a lobby and a draw: admissions follow the numbers, whatever fails around the start.

use std::time::Duration;

use tokio::time::sleep;
use vestibule_core::{Clock as _, Micros, SystemClock, Timestamp};
use vestibule_tests::{Origin, Redis};
use vestibule_workload::report::Report;
use vestibule_workload::{Arrivals, Behavior, Fault, Shopping, Workload};

use super::program::{RunningGate, run};
use super::{assert_passed, assert_passed_except, rehearse};

const QUOTA: u64 = 20;
const VISITORS: u32 = 200;
/// Seconds from the beginning to the start of the sale. Most visitors come to the lobby, the others after it.
const STARTS: u64 = 14;

/// A gate in the lobby of an event. Stays are short: the line moves many times faster than the waits that are shown at first.
async fn gate_in_lobby() -> RunningGate {
    let now = SystemClock::new().now().seconds();
    let at = |seconds: u64| Timestamp::of(Micros(seconds * 1_000_000));
    let (redis, origin) = (Redis::start().await, Origin::start());
    let url = redis.url();
    let settings = format!(
        "[[tenants]]\nid = \"acme\"\nname = \"Acme\"\n[[queues]]\nid = \"tour\"\ntenant = \"acme\"\nhosts = [\"*\"]\n\
         quota = {QUOTA}\nmode = \"scheduled\"\nwaiting_ttl = 12\nclaim_ttl = 12\nhandover = {{ kind = \"proxy\", origin = \"{}\" }}\n\
         [[queues.events]]\nid = \"sale\"\nlobby_at = {}\nstarts_at = {}\nends_at = {}\ndraw_seconds = 10\n",
        origin.url(),
        at(now - 600),
        at(now + STARTS),
        at(now + 3_600),
    );
    let flags = ["--settings", "vestibule.toml"];
    RunningGate::launched(redis, &url, origin, &flags, |program| program.file("vestibule.toml", &settings)).await
}

fn workload() -> Workload {
    let behavior = Behavior::patient(Shopping::Uniform(0.5, 1.5));
    Workload {
        visitors: VISITORS,
        arrivals: Arrivals::Steady(STARTS as f64 + 3.0),
        behavior,
        seed: 5,
        repeat: None,
        hostile: Vec::new(),
    }
}

async fn sale(gate: &RunningGate, faults: Vec<Fault>) -> Report {
    rehearse(workload(), &gate.address, "shop.example.com", "tour", QUOTA, faults).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn admissions_follow_the_draw() {
    let gate = gate_in_lobby().await;
    assert_passed(&sale(&gate, Vec::new()).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flush_in_the_lobby_and_restart_change_no_position() {
    let mut gate = gate_in_lobby().await;
    let command = format!("redis-cli -p {} flushall", gate.redis.port());
    let flush = Fault { at: STARTS as f64 - 5.0, name: "the store is empty".to_owned(), command };
    let address = gate.address.clone();
    let test = rehearse(workload(), &address, "shop.example.com", "tour", QUOTA, vec![flush]);
    let restart = async {
        sleep(Duration::from_secs(STARTS)).await;
        gate.program.kill();
        sleep(Duration::from_secs(1)).await;
        gate.program.restart();
    };
    let (report, ()) = tokio::join!(test, restart);
    assert_passed_except(&report, &["failed_share"]);
}

/// Seconds in the lobby of a rehearsal that the program plays.
const LOBBY: &str = "6";

async fn rehearsal(url: &str, lobby: &str) -> (i32, String) {
    let workload = [
        "rehearse",
        url,
        "--queue",
        "tour",
        "--host",
        "shop.example.com",
        "--lobby",
        lobby,
        "--quota",
        "20",
        "--visitors",
        "120",
        "--arrivals",
        "steady:8",
        "--shopping",
        "uniform:0.5..1.5",
        "--streams",
        "0.5",
    ];
    let (status, said, _) = run(&[&workload[..], &super::PATIENT].concat()).await;
    (status, said)
}

#[tokio::test]
async fn program_rehearses_a_lobby_and_its_draw() {
    let gate = gate_in_lobby().await;
    let (status, said) = rehearsal(&gate.url(), LOBBY).await;
    assert_eq!(status, 0, "{said}");
    let drawn = said.lines().find(|line| line.contains("Visitors with a number of the draw")).unwrap_or_default();
    let drawn: f64 = drawn.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or_default();
    assert!((50.0..120.0).contains(&drawn), "most visitors, and not those who came after the start: {said}");
}

#[tokio::test]
async fn lobby_of_a_rehearsal_needs_an_event_in_time() {
    let gate = gate_in_lobby().await;
    let (status, said) = rehearsal(&gate.url(), "3600").await;
    assert!(status == 2 && said.contains("--lobby 3600: the event starts in"), "{said}");
    let gate = RunningGate::with(5).await;
    let (status, said, _) = run(&["rehearse", &gate.url(), "--lobby", "5"]).await;
    assert!(status == 2 && said.contains("no event with a draw"), "{said}");
}
