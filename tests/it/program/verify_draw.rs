//! `vestibule verify-draw`, and the same check in a few lines of Python, on what a gate published.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use vestibule_core::{Clock as _, Micros, SystemClock, Timestamp};

use super::{RunningGate, run};

/// Visitors in the lobby.
const VISITORS: usize = 5;
const LINE: &str = "/_vestibule/line?queue=tour";
const STATUS: &str = "/_vestibule/status?queue=tour";

fn workspace(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// What a gate published before and after a draw, and the sessions in the order of their numbers.
struct PublishedDraw {
    folder: TempDir,
    before: Value,
    after: Value,
    sessions: Vec<(String, String)>,
}

impl PublishedDraw {
    /// Runs a sale with a draw.
    async fn publish() -> Self {
        let now = SystemClock::new().now().seconds();
        let at = |seconds: u64| Timestamp::of(Micros(seconds * 1_000_000));
        let event = format!(
            "quota = 0\nmode = \"scheduled\"\n[[queues.events]]\nid = \"sale\"\nlobby_at = {}\nstarts_at = {}\nends_at = {}\ndraw_seconds = 10",
            at(now - 600),
            at(now + 4),
            at(now + 3_600)
        );
        let gate = RunningGate::with(&event).await;
        let mut visitors: Vec<_> = (0..VISITORS).map(|_| gate.visitor()).collect();
        for visitor in &mut visitors {
            assert!(visitor.navigate("/").await.text().contains(">Start of "));
        }
        let before = gate.visitor().fetch(LINE).await.json();
        assert_eq!(before["event"]["lobby_tickets"], VISITORS, "{before}");
        let mut sessions = Vec::new();
        for visitor in &mut visitors {
            let status = loop {
                let status = visitor.fetch(STATUS).await.json();
                if status["event"]["phase"] == "draw" {
                    break status;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            };
            let number = status["event"]["number"].as_str().unwrap().to_owned();
            sessions.push((number, status["session"].as_str().unwrap().to_owned()));
        }
        sessions.sort();
        tokio::time::sleep(Duration::from_millis(1_100)).await;
        let after = gate.visitor().fetch(LINE).await.json();
        let published = Self { folder: TempDir::new().unwrap(), before, after, sessions };
        published.write("before.json", &published.before);
        published.write("after.json", &published.after);
        published
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, document: &Value) {
        fs::write(self.folder.path().join(name), document.to_string()).unwrap();
    }

    fn write_order(&self, sessions: &[(String, String)]) {
        let lines: Vec<&str> = sessions.iter().map(|(_, session)| session.as_str()).collect();
        fs::write(self.folder.path().join("sessions.txt"), lines.join("\n")).unwrap();
    }

    /// The program's answer about this document.
    async fn verify(&self, document: &Value, more: &[&str]) -> (i32, String) {
        self.write("changed.json", document);
        let shown = self.path("changed.json");
        run(&[&["verify-draw", &shown], more].concat()).await
    }
}

#[tokio::test]
async fn published_draw_can_be_verified_by_anybody() {
    let draw = PublishedDraw::publish().await;
    let (before, sessions) = (draw.path("before.json"), draw.path("sessions.txt"));
    draw.write_order(&draw.sessions);
    let (number, session) = &draw.sessions[1];
    let more = ["--committed", &before, "--session", session, "--sessions", &sessions];
    let (code, output) = draw.verify(&draw.after, &more).await;
    assert_eq!(code, 0, "{output}");
    for words in ["unchanged since", "(0 inversions): yes", &format!("number {number}, arrival")] {
        assert!(output.contains(words), "{words}: {output}");
    }

    for (field, value) in [("lobby_at", json!(1_795_000_000)), ("starts_at", json!(1_795_000_060))] {
        let mut changed = draw.after.clone();
        changed["event"][field] = value;
        let (code, output) = draw.verify(&changed, &["--committed", &before]).await;
        assert!(
            code == 1 && output.contains(&format!("{field} unchanged since")) && output.contains(": NO"),
            "{output}"
        );
    }
    let mut changed = draw.after.clone();
    changed["event"]["draw"]["secret"] = "0".repeat(64).into();
    let (code, output) = draw.verify(&changed, &["--committed", &before]).await;
    assert!(code == 1 && output.contains("commitment matches the secret: NO"), "{output}");

    let [own, other] = [&draw.sessions[0], &draw.sessions[1]].map(|(number, session)| (number.as_str(), session));
    let (code, output) = draw.verify(&draw.after, &["--session", &format!("{}={}", own.1, own.0)]).await;
    assert!(code == 0 && output.contains(&format!("has number {}: yes", own.0)), "{output}");
    let (code, output) = draw.verify(&draw.after, &["--session", &format!("{}={}", own.1, other.0)]).await;
    assert!(code == 1 && output.contains(&format!("has number {}: NO", other.0)), "{output}");

    let mut swapped = draw.sessions.clone();
    swapped.swap(1, 2);
    draw.write_order(&swapped);
    let (code, output) = draw.verify(&draw.after, &["--sessions", &sessions]).await;
    assert!(code == 1 && output.contains("line 3: ") && output.contains("(1 inversions): NO"), "{output}");

    let (code, output) = draw.verify(&draw.before, &[]).await;
    assert!(
        code == 2 && output.starts_with("nothing to verify: the draw of the event \"sale\" takes place at "),
        "{output}"
    );
    let (code, output) = draw.verify(&json!({ "queue": "tour" }), &[]).await;
    assert!(code == 2 && output.contains("is not a line document"), "{output}");
    let (code, output) = draw.verify(&draw.after, &["--committed", &draw.path("after.json")]).await;
    assert!(code == 2 && output.contains("was saved after the draw"), "{output}");
}

/// The program in docs/events.md agrees with the numbers that visitors were shown.
#[tokio::test]
async fn documented_python_verifies_a_draw() {
    let draw = PublishedDraw::publish().await;
    let page = fs::read_to_string(workspace("docs/events.md")).unwrap();
    let (_, rest) = page.split_once("```python\n").unwrap();
    draw.write_program(rest.split_once("```").unwrap().0);
    let sessions: Vec<&str> = draw.sessions.iter().map(|(_, session)| session.as_str()).collect();
    let python = |before: &str| {
        let output = Command::new(workspace(".tools/python/bin/python"))
            .args([&draw.path("verify.py"), before, &draw.path("after.json")])
            .args(&sessions)
            .output()
            .unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (verified, output) = python(&draw.path("before.json"));
    let expected: Vec<String> = draw.sessions.iter().map(|(number, session)| format!("{session} {number}")).collect();
    assert!(verified && output.lines().eq(expected.iter().map(String::as_str)), "{output}");
    let mut changed = draw.before.clone();
    changed["event"]["draw"]["commitment"] = "0".repeat(64).into();
    draw.write("changed.json", &changed);
    assert!(!python(&draw.path("changed.json")).0);
}

/// The line documents of the known draw with a beacon, before and after it.
fn known_draw_with_beacon() -> [Value; 2] {
    let document = |is_drawn: bool| {
        let shown = |text: &str| if is_drawn { json!(text) } else { Value::Null };
        let beacon = json!({
            "chain": "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971", "round": 37_117_016, "at": 1_804_154_412,
            "randomness": shown("c6686d2de1a96947b4625d7c57d30ff26d0afef6415ee7db2b378e54f7e19bd7"),
            "signature": shown("6578616d706c65207369676e6174757265"),
        });
        let draw = json!({
            "key": "s1", "salt": "b7f3a1", "beacon": beacon,
            "commitment": "58634f96a38bcb2b841e4cc0cbc451f68ca0aae969d79db2e5f60e068012f90d",
            "secret": shown("eadb926a4097359da14079ae8ae8480270a333162da16a27413e77836f4620cb"),
            "seed": shown("21ce2e36d51d451857875b998fe6080c60b6eddb956c3f9db1616d0923830c3b"),
        });
        json!({
            "queue": "acme-tour", "at": if is_drawn { 1_804_154_461.2 } else { 1_804_153_000.5 }, "event": {
                "id": "spring-sale", "lobby_at": 1_804_152_600, "starts_at": 1_804_154_400, "ends_at": 1_804_168_800,
                "lobby_tickets": 3, "draw": draw,
            },
        })
    };
    [document(false), document(true)]
}

#[tokio::test]
async fn known_draw_with_a_beacon_is_verified() {
    let [before, after] = known_draw_with_beacon();
    let draw = PublishedDraw { folder: TempDir::new().unwrap(), before, after, sessions: Vec::new() };
    draw.write("before.json", &draw.before);
    draw.write("after.json", &draw.after);
    let committed = draw.path("before.json");
    let session = vestibule_core::SessionId::from_bytes([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]).to_string();
    let (code, output) = draw.verify(&draw.after, &["--committed", &committed, "--session", &session]).await;
    assert_eq!(code, 0, "{output}");
    let address =
        "https://api.drand.sh/52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971/public/37117016";
    for words in ["number 0.344354", address, "randomness c6686d2d", "chain 52db9ba7", "and beacon unchanged since"] {
        assert!(output.contains(words), "{words}: {output}");
    }
    let (code, output) = draw.verify(&draw.before, &[]).await;
    assert!(code == 2 && output.contains("round 37117016 of its beacon"), "{output}");

    // The lobby of the next event is open, or another mode is set.
    for event in [draw.before["event"].clone(), Value::Null] {
        let mut later = draw.after.clone();
        later["last_draw"] = later["event"].take();
        later["event"] = event;
        if later["event"].is_object() {
            later["event"]["id"] = "summer-sale".into();
        }
        let (code, output) = draw.verify(&later, &["--committed", &committed, "--session", &session]).await;
        assert_eq!(code, 0, "{output}");
    }

    let change = |field: &str, value: Value| {
        let mut changed = draw.after.clone();
        changed["event"]["draw"]["beacon"][field] = value;
        changed
    };
    for (field, value, words) in [
        ("randomness", json!("0".repeat(64)), "randomness is SHA-256 of the signature: NO"),
        ("signature", json!("00"), "randomness is SHA-256 of the signature: NO"),
        ("round", json!(37_117_017), "round is the first that is published 10 seconds after the start or later: NO"),
    ] {
        let (code, output) = draw.verify(&change(field, value), &["--committed", &committed]).await;
        assert!(code == 1 && output.contains(words), "{field}: {output}");
    }
    let mut removed = draw.after.clone();
    removed["event"]["draw"]["beacon"] = Value::Null;
    removed["event"]["draw"]["seed"] = "1cba7187014e169c730a6bbb38e7d2ccfa4e66c1908b39ec422fe0ca0425b7f2".into();
    let (code, output) = draw.verify(&removed, &["--committed", &committed]).await;
    assert!(code == 1 && output.contains("beacon unchanged since") && output.contains(": NO"), "{output}");

    let page = fs::read_to_string(workspace("docs/events.md")).unwrap();
    draw.write_program(page.split_once("```python\n").unwrap().1.split_once("```").unwrap().0);
    let output = Command::new(workspace(".tools/python/bin/python"))
        .args([draw.path("verify.py"), committed, draw.path("after.json"), session.clone()])
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(stdout.trim(), format!("{session} 0.344354"), "{}", String::from_utf8_lossy(&output.stderr));
}

impl PublishedDraw {
    fn write_program(&self, text: &str) {
        fs::write(self.folder.path().join("verify.py"), text).unwrap();
    }
}
