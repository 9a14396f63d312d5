//! Libraries for ALTCHA v2 solve and verify challenges of Vestibule, and Vestibule verifies theirs.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use vestibule_core::{
    ChallengeSigner, ChallengeTerms, Clock as _, InvalidProof, KeyList, Micros, Proof, Proven, QueueId, SessionId,
    SystemClock,
};

const KEY: [u8; 32] = [7; 32];
/// A puzzle that takes no time.
const EFFORT: u64 = 40;

fn workspace(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A secret that derives from the ticket key.
fn secret(label: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(&KEY).unwrap();
    mac.update(label.as_bytes());
    vestibule_core::hex(mac.finalize().into_bytes())
}

/// What the library says about a challenge.
fn ask(program: &Path, script: &str, challenge: &Value) -> Value {
    let mut running = Command::new(program)
        .arg(workspace(script))
        .args([secret("vestibule challenge signature 1"), secret("vestibule challenge key 1")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    running.stdin.take().unwrap().write_all(challenge.to_string().as_bytes()).unwrap();
    let output = running.wait_with_output().unwrap();
    assert!(output.status.success(), "{script}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn agrees(program: &Path, script: &str) {
    let signer = ChallengeSigner::new(&KeyList::of_bytes("k1", KEY)).unwrap();
    let (queue, session, now) =
        ("tour".parse::<QueueId>().unwrap(), SessionId::from_bytes([3; SessionId::SIZE]), SystemClock::new().now());
    let terms = ChallengeTerms { queue: queue.clone(), epoch: 1, session, difficulty: 2, base: 1, effort: EFFORT };
    let challenge = serde_json::to_value(signer.challenge(&terms, now).unwrap()).unwrap();
    let answer = ask(program, script, &challenge);
    assert_eq!(answer["verified"], true, "{answer}");
    let solved: Proof =
        serde_json::from_value(json!({ "challenge": challenge, "solution": answer["solution"] })).unwrap();
    let proven = Proven { base: 1, difficulty: 2 };
    assert_eq!(signer.verify(&solved, &queue, session, now), Ok(proven));
    let own: Proof = serde_json::from_value(answer["own"].clone()).unwrap();
    assert_eq!(signer.verify(&own, &queue, session, now), Ok(proven));
    let other = SessionId::from_bytes([4; SessionId::SIZE]);
    assert_eq!(signer.verify(&own, &queue, other, now), Err(InvalidProof::Session));
}

#[test]
fn altcha_lib_of_javascript_agrees() {
    agrees(Path::new("node"), "tests/browser/altcha.mjs");
}

#[test]
fn altcha_of_python_agrees() {
    agrees(&workspace(".tools/python/bin/python"), "crates/core/tests/altcha_library.py");
}

/// A challenge and its solution, both made with `altcha-lib` 2.8.0 (JavaScript) and the secrets that derive from the ticket key of
/// 32 bytes 0x01.
#[test]
fn proof_of_altcha_lib_is_accepted() {
    let proof: Proof = serde_json::from_value(json!({
        "challenge": {
            "parameters": {
                "algorithm": "PBKDF2/SHA-256", "cost": 1000,
                "data": { "difficulty": 1, "max_counter": 5000, "queue": "tour", "session": "2b6e6c34-6dd6-402e-80cd-e3f03456f3f7" },
                "expiresAt": 1_795_341_120, "keyLength": 32, "keyPrefix": "ab73946ae9ae9a1a6339930d5d4f961c",
                "keySignature": "459d5bc3848047683f318f350c38e400b6b8e6a9bbd64c417f3066155d55cccc",
                "nonce": "5e90ba85adc8881f665eb7f9706db9f9", "salt": "af7984805639e891d10bf7975c035959",
            },
            "signature": "8b1ce6fea48dbcfb6a77258e2673dcbf3aa5282f8197ba6e5b2ccb1bd569bf37",
        },
        "solution": {
            "counter": 7, "derivedKey": "ab73946ae9ae9a1a6339930d5d4f961cda07a6f878b49834572036abfe5acfe6", "time": 2,
        },
    }))
    .unwrap();
    let signer = ChallengeSigner::new(&KeyList::of_bytes("k1", [1; 32])).unwrap();
    let session: SessionId = "2b6e6c34-6dd6-402e-80cd-e3f03456f3f7".parse().unwrap();
    let now = Micros(1_795_340_943_000_000);
    assert_eq!(signer.verify(&proof, &"tour".parse().unwrap(), session, now), Ok(Proven { base: 0, difficulty: 1 }));
}
