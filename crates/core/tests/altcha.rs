//! Challenges and solutions of other implementations of ALTCHA v2.

use serde_json::json;
use vestibule_core::{ChallengeSigner, KeyList, Micros, Proof, Proven, SessionId};

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
