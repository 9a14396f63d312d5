//! Proof of work: challenges and their verification (rules W3 and W4), in the format of ALTCHA v2.
//!
//! A challenge costs the server one key derivation and the solver half of `max_counter` in the mean. The server chooses the
//! counter, so no device meets a long tail. A solution is verified with two MACs, and belongs to one session of one queue.
//!
//! ```text
//! password  = nonce, then u32(counter)
//! key       = PBKDF2-HMAC-SHA-256(password, salt, cost, keyLength); solved if it starts with keyPrefix
//! signature = HMAC-SHA-256(S1, parameters as compact JSON with sorted keys)
//! ```

use hex::FromHex;
use pbkdf2::pbkdf2_hmac;
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::time::MICROS_PER_SECOND;
use crate::token::{MAC_LEN, Mac};
use crate::{KeyError, KeyList, Micros, QueueId, SessionId};

/// Iterations of one derivation.
const COST: u32 = 1000;
/// Length of a derived key in bytes.
const KEY_LEN: usize = 32;
/// Length of the published prefix of the key, of the nonce and of the salt, in bytes.
const BLOCK_LEN: usize = 16;
/// A challenge made in one minute is valid until the end of the second one after it: 120 to 180 seconds.
const VALID_MINUTES: u64 = 3;
const MINUTE: u64 = 60;
/// Derivations at most, in the mean number of them.
const MOST_OF_MEAN: u64 = 2;
const ALGORITHM: &str = "PBKDF2/SHA-256";

const SIGNATURE_LABEL: &str = "vestibule challenge signature 1";
const KEY_LABEL: &str = "vestibule challenge key 1";
const BLOCK_LABEL: &str = "vestibule challenge 1";

/// Which session has to prove how much.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ChallengeTerms {
    /// The queue.
    pub queue: QueueId,
    /// Its epoch.
    pub epoch: u64,
    /// The session of the pre-ticket.
    pub session: SessionId,
    /// The work in multiples of `effort`, 1 to [`DIFFICULTY_MAX`](crate::DIFFICULTY_MAX).
    pub difficulty: u64,
    /// The difficulty that is proven already. A proof adds to it.
    pub base: u64,
    /// Mean number of derivations at difficulty 1, 1 to 100 000.
    pub effort: u64,
}

/// What a solution belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChallengeData {
    /// The difficulty that was proven before; absent if none was.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub base: u64,
    /// The difficulty that is proven.
    pub difficulty: u64,
    /// The largest counter that solves the challenge.
    pub max_counter: u64,
    /// The queue.
    pub queue: String,
    /// The session that may join.
    pub session: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The signed part of a challenge. The fields are sorted, as the signature requires.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChallengeParameters {
    /// Always `PBKDF2/SHA-256`.
    pub algorithm: String,
    /// Iterations of one derivation.
    pub cost: u32,
    /// What a solution belongs to.
    pub data: ChallengeData,
    /// When the challenge expires, in seconds since 1970 by the store's clock.
    pub expires_at: u64,
    /// Length of the derived key in bytes.
    pub key_length: u32,
    /// The first bytes of the key to be found, as hexadecimal digits.
    pub key_prefix: String,
    /// The MAC of that key.
    pub key_signature: String,
    /// The start of the password, as hexadecimal digits.
    pub nonce: String,
    /// The salt, as hexadecimal digits.
    pub salt: String,
}

/// A challenge as a client gets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Challenge {
    /// The signed part.
    pub parameters: ChallengeParameters,
    /// The signature.
    pub signature: String,
}

impl Challenge {
    /// Solves the challenge, as a client without other means does: counter after counter. `None` if no counter solves it.
    pub fn solve(&self) -> Option<Solution> {
        self.solve_from(1)
    }

    fn solve_from(&self, first: u64) -> Option<Solution> {
        let ChallengeParameters { nonce, salt, key_prefix, data, .. } = &self.parameters;
        let (nonce, salt) = (hex::decode(nonce).ok()?, hex::decode(salt).ok()?);
        (first..=data.max_counter).find_map(|counter| {
            let derived_key = hex::encode(derive(&nonce, &salt, u32::try_from(counter).ok()?));
            derived_key.starts_with(key_prefix).then_some(Solution { counter, derived_key })
        })
    }
}

/// What a client found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Solution {
    /// The counter whose key starts with the prefix.
    pub counter: u64,
    /// The key, as hexadecimal digits.
    pub derived_key: String,
}

/// A challenge with its solution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// The challenge as the client got it.
    pub challenge: Challenge,
    /// What the client found.
    pub solution: Solution,
}

/// What a proof proves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proven {
    /// The difficulty that was proven before it.
    pub base: u64,
    /// The difficulty that it adds.
    pub difficulty: u64,
}

/// Why a proof is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidProof {
    /// The challenge was not made with one of the keys, or was changed.
    #[error("the challenge is not signed by this deployment")]
    Signature,
    /// The key does not solve the challenge.
    #[error("the solution is wrong")]
    Solution,
    /// The challenge has expired.
    #[error("the challenge has expired; get another one")]
    Expired,
    /// The challenge belongs to another session or queue.
    #[error("the challenge belongs to another session")]
    Session,
}

/// Makes and verifies challenges with keys that derive from the ticket keys.
pub struct ChallengeSigner {
    /// By ticket key; the first one signs.
    keys: Vec<ChallengeKey>,
}

struct ChallengeKey {
    signature: Mac,
    key: Mac,
    block: Mac,
}

impl ChallengeKey {
    fn new(secret: &[u8]) -> Self {
        // Secrets of ALTCHA are text.
        let text_key = |label: &str| Mac::new(hex::encode(Mac::new(secret).of(&[label.as_bytes()])).as_bytes());
        Self {
            signature: text_key(SIGNATURE_LABEL),
            key: text_key(KEY_LABEL),
            block: Mac::labeled(secret, BLOCK_LABEL),
        }
    }

    fn block(&self, name: &str, terms: &ChallengeTerms, minute: u64) -> [u8; MAC_LEN] {
        let (queue, session) = (terms.queue.to_string(), terms.session.to_string());
        let (epoch, minute) = (terms.epoch.to_be_bytes(), minute.to_be_bytes());
        let (difficulty, base) = ((terms.difficulty as u32).to_be_bytes(), (terms.base as u32).to_be_bytes());
        let parts: [&[u8]; 7] =
            [name.as_bytes(), queue.as_bytes(), &epoch, session.as_bytes(), &difficulty, &minute, &base];
        // With the base, the puzzle for more work is another one than that for the first.
        self.block.of(if terms.base == 0 { &parts[..6] } else { &parts })
    }
}

impl ChallengeSigner {
    /// Derives the keys.
    ///
    /// # Errors
    /// A ticket key has the wrong length.
    pub fn new(keys: &KeyList) -> Result<Self, KeyError> {
        Ok(Self { keys: keys.for_tickets()?.iter().map(|key| ChallengeKey::new(&key.secret)).collect() })
    }

    /// Makes the challenge of these terms, at the cost of one derivation. The same terms have the same challenge for a minute.
    ///
    /// Returns `None` if the parameters can't be written as JSON, which does not happen.
    pub fn challenge(&self, terms: &ChallengeTerms, now: Micros) -> Option<Challenge> {
        let key = self.keys.first()?;
        let minute = now.0 / MICROS_PER_SECOND / MINUTE;
        let first = |block: [u8; MAC_LEN]| block.first_chunk::<BLOCK_LEN>().copied();
        let nonce = first(key.block("nonce", terms, minute))?;
        let salt = first(key.block("salt", terms, minute))?;
        let max_counter = MOST_OF_MEAN * terms.effort.max(1) * terms.difficulty.max(1);
        let number = u64::from_be_bytes(*key.block("counter", terms, minute).first_chunk()?);
        let counter = 1 + number % max_counter;
        let derived = derive(&nonce, &salt, u32::try_from(counter).ok()?);
        let parameters = ChallengeParameters {
            algorithm: ALGORITHM.to_owned(),
            cost: COST,
            data: ChallengeData {
                base: terms.base,
                difficulty: terms.difficulty,
                max_counter,
                queue: terms.queue.to_string(),
                session: terms.session.to_string(),
            },
            expires_at: MINUTE * (minute + VALID_MINUTES),
            key_length: KEY_LEN as u32,
            key_prefix: hex::encode(&derived[..BLOCK_LEN]),
            key_signature: hex::encode(key.key.of(&[&derived])),
            nonce: hex::encode(nonce),
            salt: hex::encode(salt),
        };
        let signature = hex::encode(key.signature.of(&[&serde_json::to_vec(&parameters).ok()?]));
        Some(Challenge { parameters, signature })
    }

    /// Verifies a proof for a session and returns the difficulty that it proves, and what was proven before it. It costs two MACs
    /// per key.
    ///
    /// # Errors
    /// Returns why the proof is not accepted.
    pub fn verify(
        &self,
        proof: &Proof,
        queue: &QueueId,
        session: SessionId,
        now: Micros,
    ) -> Result<Proven, InvalidProof> {
        let Challenge { parameters, signature } = &proof.challenge;
        let message = serde_json::to_vec(parameters).map_err(|_| InvalidProof::Signature)?;
        let signature = unhex(signature).ok_or(InvalidProof::Signature)?;
        let is_signed = |key: &&ChallengeKey| key.signature.verifies(&[&message], &signature);
        let key = self.keys.iter().find(is_signed).ok_or(InvalidProof::Signature)?;
        let derived = unhex(&proof.solution.derived_key).ok_or(InvalidProof::Solution)?;
        let expected = unhex(&parameters.key_signature).ok_or(InvalidProof::Solution)?;
        if !key.key.verifies(&[&derived], &expected) {
            return Err(InvalidProof::Solution);
        }
        if now.0 >= parameters.expires_at.saturating_mul(MICROS_PER_SECOND) {
            return Err(InvalidProof::Expired);
        }
        if parameters.data.queue != queue.to_string() || parameters.data.session != session.to_string() {
            return Err(InvalidProof::Session);
        }
        Ok(Proven { base: parameters.data.base, difficulty: parameters.data.difficulty })
    }
}

/// The key of a counter.
fn derive(nonce: &[u8], salt: &[u8], counter: u32) -> [u8; KEY_LEN] {
    let password = [nonce, &counter.to_be_bytes()].concat();
    let mut key = [0; KEY_LEN];
    pbkdf2_hmac::<Sha256>(&password, salt, COST, &mut key);
    key
}

/// The bytes of lowercase hexadecimal digits, so that a proof has one spelling.
fn unhex(text: &str) -> Option<[u8; MAC_LEN]> {
    let is_lowercase = !text.bytes().any(|byte| byte.is_ascii_uppercase());
    is_lowercase.then(|| FromHex::from_hex(text).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::*;

    const ONE: Proven = Proven { base: 0, difficulty: 1 };
    const NOW: Micros = Micros(1_795_340_943 * MICROS_PER_SECOND);

    fn signer(byte: u8) -> ChallengeSigner {
        ChallengeSigner::new(&KeyList::of_bytes("k1", [byte; 32])).unwrap()
    }

    fn queue() -> QueueId {
        "tour".parse().unwrap()
    }

    fn session() -> SessionId {
        "2b6e6c34-6dd6-402e-80cd-e3f03456f3f7".parse().unwrap()
    }

    fn challenge(session: SessionId, difficulty: u64) -> Challenge {
        let terms = ChallengeTerms { queue: queue(), epoch: 1, session, difficulty, base: 0, effort: 2_500 };
        signer(1).challenge(&terms, NOW).unwrap()
    }

    fn proof() -> Proof {
        let challenge = challenge(session(), 1);
        let solution = challenge.solve_from(3_220).unwrap();
        Proof { challenge, solution }
    }

    fn verify(proof: &Proof) -> Result<Proven, InvalidProof> {
        signer(1).verify(proof, &queue(), session(), NOW)
    }

    #[test]
    fn challenge_matches_the_known_answer() {
        let expected = json!({
            "parameters": {
                "algorithm": "PBKDF2/SHA-256", "cost": 1000,
                "data": { "difficulty": 1, "max_counter": 5000, "queue": "tour", "session": "2b6e6c34-6dd6-402e-80cd-e3f03456f3f7" },
                "expiresAt": 1_795_341_120, "keyLength": 32, "keyPrefix": "0433962eda4b1eb235541d7119693caf",
                "keySignature": "d013266fa7ffcb28ebbd834912803368a445fa6312920f9e6010841d5787c430",
                "nonce": "fe16678ab0defb9ee34a6f6a4f9150d8", "salt": "2093699a0d09f960af5c9b9fdcf20473",
            },
            "signature": "d1b841028d9bf6788e533d6f7cf058735d9171daab002971c8cbd593a027a8a6",
        });
        assert_eq!(serde_json::to_value(challenge(session(), 1)).unwrap(), expected);
        assert_eq!(proof().solution.counter, 3_227);
        assert_eq!(verify(&proof()), Ok(ONE));
    }

    /// The vector that ALTCHA publishes for version 2: compact JSON with sorted keys, signed with `signature.secret`.
    #[test]
    fn signature_matches_the_vector_of_altcha() {
        let parameters = challenge(session(), 1).parameters;
        let own = serde_json::to_string(&parameters).unwrap();
        let mut map: BTreeMap<String, Value> = serde_json::from_str(&own).unwrap();
        assert_eq!(own, serde_json::to_string(&map).unwrap(), "the keys are sorted");
        for absent in ["data", "expiresAt", "keySignature"] {
            map.remove(absent).unwrap();
        }
        let published = [
            ("nonce", "39baf91a19d671f8231217f9e28342a6"),
            ("salt", "5e00d5d152e1a5db7d44fb6404a40a5e"),
            ("keyPrefix", "00"),
        ];
        for (name, value) in published {
            map.insert(name.to_owned(), json!(value)).unwrap();
        }
        let signature = hex::encode(Mac::new(b"signature.secret").of(&[&serde_json::to_vec(&map).unwrap()]));
        assert_eq!(signature, "a10045ef3381d5516e0c3fd6bf0b90e02fab68d576ffe9e0e1c2d1cd1e404f2a");
    }

    #[test]
    fn challenge_is_the_same_for_a_minute() {
        let terms =
            ChallengeTerms { queue: queue(), epoch: 1, session: session(), difficulty: 1, base: 0, effort: 2_500 };
        let at = |seconds| signer(1).challenge(&terms, NOW.add_seconds(seconds)).unwrap();
        assert_eq!(at(0), at(30));
        assert_ne!(at(0), at(60));
    }

    #[test]
    fn proof_is_valid_until_its_challenge_expires() {
        let verify = |seconds| signer(1).verify(&proof(), &queue(), session(), NOW.add_seconds(seconds));
        assert_eq!(verify(176), Ok(ONE));
        assert_eq!(verify(177), Err(InvalidProof::Expired));
    }

    #[test]
    fn key_rotation_keeps_proofs_valid() {
        let keys: KeyList =
            format!("{},{}", KeyList::of_bytes("new", [2; 32]).expose(), KeyList::of_bytes("k1", [1; 32]).expose())
                .parse()
                .unwrap();
        let both = ChallengeSigner::new(&keys).unwrap();
        assert_eq!(both.verify(&proof(), &queue(), session(), NOW), Ok(ONE));
        assert_eq!(signer(2).verify(&proof(), &queue(), session(), NOW), Err(InvalidProof::Signature));
    }

    #[test]
    fn proof_of_another_session_or_queue_is_rejected() {
        let other = SessionId::from_bytes([9; SessionId::SIZE]);
        assert_eq!(signer(1).verify(&proof(), &queue(), other, NOW), Err(InvalidProof::Session));
        let other = "other".parse().unwrap();
        assert_eq!(signer(1).verify(&proof(), &other, session(), NOW), Err(InvalidProof::Session));
    }

    #[test]
    fn changed_proof_is_rejected() {
        let proof = proof();
        let changed = |change: &dyn Fn(&mut Proof)| {
            let mut changed = proof.clone();
            change(&mut changed);
            verify(&changed)
        };
        let unsigned: [&dyn Fn(&mut Proof); 9] = [
            &|it| it.challenge.parameters.data.difficulty = 64,
            &|it| it.challenge.parameters.data.max_counter = 1,
            &|it| it.challenge.parameters.cost = 1,
            &|it| it.challenge.parameters.expires_at += 60,
            &|it| it.challenge.parameters.key_prefix.truncate(2),
            &|it| {
                let spliced = it.challenge.parameters.salt.split_off(2);
                it.challenge.parameters.nonce.push_str(&std::mem::replace(&mut it.challenge.parameters.salt, spliced));
            },
            &|it| it.challenge.signature.make_ascii_uppercase(),
            &|it| it.challenge.signature.truncate(62),
            &|it| it.challenge.parameters.key_signature.make_ascii_uppercase(),
        ];
        for (index, change) in unsigned.into_iter().enumerate() {
            assert_eq!(changed(change), Err(InvalidProof::Signature), "change {index}");
        }
        let wrong: [&dyn Fn(&mut Proof); 4] = [
            &|it| it.solution.derived_key.make_ascii_uppercase(),
            &|it| it.solution.derived_key.truncate(32),
            &|it| it.solution.derived_key.replace_range(63.., "x"),
            &|it| it.solution.derived_key = hex::encode([7; KEY_LEN]),
        ];
        for (index, change) in wrong.into_iter().enumerate() {
            assert_eq!(changed(change), Err(InvalidProof::Solution), "change {index}");
        }
    }

    #[test]
    fn signature_of_the_other_secret_is_rejected() {
        let mut proof = proof();
        let message = serde_json::to_vec(&proof.challenge.parameters).unwrap();
        proof.challenge.signature = hex::encode(signer(1).keys[0].key.of(&[&message]));
        assert_eq!(verify(&proof), Err(InvalidProof::Signature));
    }

    #[test]
    fn unknown_parameters_are_rejected() {
        let mut proof: Value = serde_json::to_value(proof()).unwrap();
        assert!(serde_json::from_value::<Proof>(proof.clone()).is_ok());
        proof["challenge"]["parameters"]["extra"] = json!(1);
        assert!(serde_json::from_value::<Proof>(proof).is_err());
    }

    #[test]
    fn proof_of_more_work_is_another_puzzle() {
        let terms =
            |base| ChallengeTerms { queue: queue(), epoch: 1, session: session(), difficulty: 1, base, effort: 10 };
        let [first, second] = [0, 1].map(|base| signer(1).challenge(&terms(base), NOW).unwrap());
        assert_ne!(first.parameters.nonce, second.parameters.nonce);
        let solution = second.solve().unwrap();
        let mut proof = Proof { challenge: second, solution };
        assert_eq!(verify(&proof), Ok(Proven { base: 1, difficulty: 1 }));
        proof.challenge.parameters.data.base = 0;
        assert_eq!(verify(&proof), Err(InvalidProof::Signature));
    }

    /// With difficulty 2 the counter is one of twice as many.
    #[test]
    fn counters_span_the_whole_range() {
        let counters: Vec<u64> = (0..8)
            .map(|number| {
                let terms = ChallengeTerms {
                    queue: queue(),
                    epoch: 1,
                    session: SessionId::from_bytes([number; SessionId::SIZE]),
                    difficulty: 2,
                    base: 0,
                    effort: 10,
                };
                let challenge = signer(1).challenge(&terms, NOW).unwrap();
                assert_eq!(challenge.parameters.data.max_counter, 40);
                challenge.solve().unwrap().counter
            })
            .collect();
        assert!(counters.iter().any(|it| *it <= 20) && counters.iter().any(|it| *it > 20), "{counters:?}");
    }
}
