//! `vestibule draw-beacon` and `vestibule serve --beacon-url`, with a relay of the test.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use vestibule_core::settings::Beacon;
use vestibule_core::{Micros, Timestamp};
use vestibule_tests::{Program, wait_until};

use super::{RunningGate, SettingsFile, now, run};
use crate::admin::backoffice::Backoffice;

/// The hexadecimal digits of "example signature", and their SHA-256.
const SIGNATURE: &str = "6578616d706c65207369676e6174757265";
const RANDOMNESS: &str = "c6686d2de1a96947b4625d7c57d30ff26d0afef6415ee7db2b378e54f7e19bd7";
const CHAIN: &str = "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971";
const LINE: &str = "/_vestibule/line?queue=tour";

/// Answers every request for a round with the same signature. Returns its address.
async fn relay() -> String {
    relay_without(None).await
}

/// A relay that does not have one of the rounds.
async fn relay_without(missing: Option<u64>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut buffer = [0; 2048];
            let read = stream.read(&mut buffer).await.unwrap_or_default();
            let request = String::from_utf8_lossy(&buffer[..read]).into_owned();
            let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
            let round = path.strip_prefix(&format!("/{CHAIN}/public/")).and_then(|round| round.parse::<u64>().ok());
            let (status, body) = match round.filter(|round| Some(*round) != missing) {
                Some(round) => ("200 OK", json!({ "round": round, "randomness": RANDOMNESS, "signature": SIGNATURE })),
                None => ("404 Not Found", json!({})),
            };
            let body = body.to_string();
            let answer =
                format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    address
}

/// A settings file's event with a beacon, which started this many seconds ago.
fn started(seconds: u64) -> String {
    let at = |seconds: u64| Timestamp::of(Micros(0).add_seconds(seconds));
    let start = now() - seconds;
    format!(
        "quota = 0\nmode = \"scheduled\"\n[[queues.events]]\nid = \"sale\"\nlobby_at = {}\nstarts_at = {}\nends_at = {}\nbeacon = \"drand-quicknet\"",
        at(start - 600),
        at(start),
        at(start + 3_600)
    )
}

#[tokio::test]
async fn serve_records_the_value_of_a_beacon() {
    let url = relay().await;
    let gate = RunningGate::launched(&started(60), &["--beacon-url", &url], |launch| launch).await;
    let mut document = Value::Null;
    wait_until("the order is drawn", Duration::from_mins(1), async || {
        document = gate.visitor().fetch(LINE).await.json();
        document["event"]["drawn_at"].is_u64()
    })
    .await;
    let beacon = &document["event"]["draw"]["beacon"];
    assert_eq!((&beacon["chain"], &beacon["randomness"]), (&json!(CHAIN), &json!(RANDOMNESS)), "{document}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("after.json");
    std::fs::write(&file, document.to_string()).unwrap();
    let (code, output) = run(&["verify-draw", &file.display().to_string()]).await;
    let address = format!("https://api.drand.sh/{CHAIN}/public/{}", beacon["round"]);
    assert!(code == 0 && output.contains(&address) && output.contains(RANDOMNESS), "{output}");
    // A restart with the same file keeps the value.
    let reloaded = gate.file.shown();
    let (code, output) = run(&["check", &reloaded]).await;
    assert!(code == 0 && output.contains("of drand-quicknet, published"), "{output}");
}

#[tokio::test]
async fn draw_that_fails_does_not_keep_others_waiting() {
    let earlier = Timestamp::of(Micros(0).add_seconds(now() - 120));
    let url = relay_without(Some(Beacon::DrandQuicknet.round_of(earlier))).await;
    let other =
        "[[queues]]\nid = \"fair\"\ntenant = \"acme\"\nhosts = [\"fair.example.com\"]\nhandover = { kind = \"check\" }";
    let starts_at = |seconds: u64| started(seconds).replace("id = \"sale\"", &format!("id = \"sale-{seconds}\""));
    let lines = format!("{}\n{other}\n{}", starts_at(60), starts_at(120));
    let mut gate = RunningGate::launched(&lines, &["--beacon-url", &url], |launch| launch).await;
    gate.program.until_logged("queue fair, event sale-120: cannot read ").await;
    wait_until("the order of the other is drawn", Duration::from_mins(1), async || {
        gate.visitor().fetch(LINE).await.json()["event"]["drawn_at"].is_u64()
    })
    .await;
}

#[tokio::test]
async fn relay_must_be_a_url() {
    let file = SettingsFile::of(&super::settings("https://www.example.com", "quota = 1"));
    let (code, output) =
        run(&["serve", "--settings", &file.shown(), "--listen", "127.0.0.1:0", "--beacon-url", "drand"]).await;
    assert!(code == 1 && output.contains("--beacon-url") && output.contains("must be a URL"), "{output}");
}

/// A backoffice with an event whose beacon is missing, and a token of an operator.
async fn backoffice() -> (Backoffice, String) {
    let backoffice = Backoffice::memory().await;
    backoffice.tenant("acme").await;
    let at = |seconds: u64| Timestamp::of(Micros(0).add_seconds(backoffice.now() + seconds)).to_string();
    let sale = json!({
        "id": "sale", "lobby_at": at(100), "starts_at": at(200), "ends_at": at(4_000), "beacon": "drand-quicknet",
    });
    backoffice.queue("tour", "acme", json!({ "mode": "scheduled", "events": [sale] })).await;
    let token = json!({ "name": "beacon", "role": "operator", "tenants": ["acme"], "expires_in": 6_000 });
    let token = backoffice.root().create("/tokens", token).await["secret"].as_str().unwrap().to_owned();
    (backoffice, token)
}

async fn draw_beacon(backoffice: &Backoffice, token: &str, more: &[&str]) -> (i32, String) {
    let url = format!("http://{}", backoffice.admin.address());
    let arguments = [&["draw-beacon", "tour", "sale", "--to", &url], more].concat();
    let mut program = Program::vestibule(&arguments).env("VESTIBULE_ADMIN_TOKEN", token).start();
    let status = program.end().await;
    (status.code().unwrap_or(-1), program.log())
}

#[tokio::test]
async fn draw_beacon_records_the_named_round_of_a_relay() {
    let (backoffice, token) = backoffice().await;
    let url = relay().await;
    let relay = ["--relay", url.as_str()];
    let (code, output) = draw_beacon(&backoffice, &token, &relay).await;
    assert!(code == 1 && output.contains("is published at"), "{output}");
    backoffice.advance_seconds(300);
    let (code, output) = draw_beacon(&backoffice, &token, &["--round", "1", "--signature", "00"]).await;
    assert!(code == 1 && output.contains("The draw uses round"), "{output}");
    let (code, output) = draw_beacon(&backoffice, &token, &relay).await;
    assert!(code == 0 && output.contains(RANDOMNESS) && output.contains("admissions begin at"), "{output}");
    let (code, output) = draw_beacon(&backoffice, &token, &relay).await;
    assert!(code == 0 && output.contains("was recorded before"), "{output}");
    let stored = backoffice.root().get("/queues/tour").await.json();
    assert_eq!(stored["events"][0]["beacon_value"]["signature"], SIGNATURE);
    let (code, output) = draw_beacon(&backoffice, "none", &relay).await;
    assert!(code == 1 && output.contains("status 401"), "{output}");
}

#[tokio::test]
async fn draw_beacon_takes_round_and_signature() {
    let (backoffice, token) = backoffice().await;
    backoffice.advance_seconds(300);
    let event = backoffice.root().get("/queues/tour/events/sale").await.json();
    let round = event["draw"]["beacon"]["round"].to_string();
    let (code, output) = draw_beacon(&backoffice, &token, &["--round", &round, "--signature", "none"]).await;
    assert!(code == 1 && output.contains("\n  signature: ") && !output.contains("the file"), "{output}");
    let (code, output) = draw_beacon(&backoffice, &token, &["--round", &round, "--signature", SIGNATURE]).await;
    assert!(code == 0 && output.contains(RANDOMNESS), "{output}");
}
