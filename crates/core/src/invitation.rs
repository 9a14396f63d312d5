//! Rule 20: invitation codes. A code is a number of a batch with a message authentication code, so it needs no database: who
//! knows the sale key can write all codes of a batch, and verify each of them.
//!
//! ```text
//! batch key = HMAC-SHA256(sale key, "vestibule invite key 2\0" tenant "\0" queue "\0" u16be(batch))
//! number    = 1 | u16be(batch) | u32be(number), 7 bytes
//! code      = number | first 8 bytes of HMAC-SHA256(batch key, "vestibule invite 1\0" number)
//! session   = first 14 bytes of HMAC-SHA256(batch key, "vestibule invite session 1\0" u64be(epoch) number)
//! ```

use std::fmt;
use std::str::FromStr;

use crate::draw::{hmac, verify_start};
use crate::hex32::Hex32;
use crate::settings::{InvitationBatch, Settings};
use crate::support_code::{self, GROUP};
use crate::{MICROS_PER_SECOND, Micros, SaleKeys, SessionId};

/// Digits of a code, in Crockford's base 32.
const LENGTH: usize = 24;
/// The first byte of a code of this form.
const VERSION: u8 = 1;
/// Bytes of the numbers of a code, and of its authentication code.
const NUMBER_LEN: usize = 7;
const MAC_LEN: usize = 8;

/// An invitation code, genuine or not: `0400E0-0000N7-9KRDYN-K95R4C`. It is a secret: `Debug` shows the batch only.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct InvitationCode {
    batch: u16,
    number: u32,
    mac: [u8; MAC_LEN],
}

/// The text is not an invitation code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an invitation code")]
pub struct NotAnInvitation;

impl InvitationCode {
    /// The number of the batch.
    pub const fn batch(&self) -> u16 {
        self.batch
    }

    /// The number of the code in its batch, from 1.
    pub const fn number(&self) -> u32 {
        self.number
    }
}

impl fmt::Debug for InvitationCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InvitationCode").field("batch", &self.batch).finish_non_exhaustive()
    }
}

/// The code as visitors read it.
impl fmt::Display for InvitationCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = numbers(self.batch, self.number).into_iter().chain(self.mac);
        f.write_str(&support_code::write(bytes.fold(0, |all, byte| all << 8 | u128::from(byte)), LENGTH, GROUP))
    }
}

/// Case, separators and look-alikes (`O` for 0, `I` and `L` for 1) are accepted.
impl FromStr for InvitationCode {
    type Err = NotAnInvitation;

    fn from_str(text: &str) -> Result<Self, NotAnInvitation> {
        let [0, VERSION, b0, b1, n0, n1, n2, n3, mac @ ..] =
            support_code::read(text, LENGTH).ok_or(NotAnInvitation)?.to_be_bytes()
        else {
            return Err(NotAnInvitation);
        };
        Ok(Self { batch: u16::from_be_bytes([b0, b1]), number: u32::from_be_bytes([n0, n1, n2, n3]), mac })
    }
}

/// The part of a code that is authenticated.
fn numbers(batch: u16, number: u32) -> [u8; NUMBER_LEN] {
    let ([b0, b1], [n0, n1, n2, n3]) = (batch.to_be_bytes(), number.to_be_bytes());
    [VERSION, b0, b1, n0, n1, n2, n3]
}

/// The key of a batch, from which its codes and their sessions derive. `Debug` shows the batch only.
#[derive(Clone, Copy)]
pub struct BatchKey {
    key: Hex32,
    batch: u16,
}

impl fmt::Debug for BatchKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchKey").field("batch", &self.batch).finish_non_exhaustive()
    }
}

impl BatchKey {
    /// The tenant is a part of it: another one may have had a queue with this ID, and has its codes.
    fn new(sale_key: &[u8; 32], settings: &Settings, batch: u16) -> Self {
        let (tenant, queue) = (settings.tenant.as_str().as_bytes(), settings.id.as_str().as_bytes());
        let parts = [b"vestibule invite key 2\0", tenant, b"\0", queue, b"\0", &batch.to_be_bytes()];
        Self { key: hmac(sale_key, &parts), batch }
    }

    /// The code with this number.
    pub fn code(&self, number: u32) -> InvitationCode {
        let Hex32(mac) = hmac(&self.key.0, &[CODE, &numbers(self.batch, number)]);
        InvitationCode { batch: self.batch, number, mac: mac.first_chunk().copied().unwrap_or_default() }
    }

    /// Whether this key made the code. Takes the same time for every wrong code of the batch.
    pub fn made(&self, code: &InvitationCode) -> bool {
        let numbers = numbers(code.batch, code.number);
        code.batch == self.batch && verify_start(&self.key.0, &[CODE, &numbers], &code.mac)
    }

    /// The session of the code with this number in an epoch of the queue.
    pub fn session(&self, epoch: u64, number: u32) -> SessionId {
        let parts = [b"vestibule invite session 1\0", &epoch.to_be_bytes()[..], &numbers(self.batch, number)];
        let Hex32(session) = hmac(&self.key.0, &parts);
        SessionId::from_bytes(session.first_chunk().copied().unwrap_or_default())
    }
}

/// What authenticates a code begins with this.
const CODE: &[u8] = b"vestibule invite 1\0";

/// What a valid code is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Invitation {
    /// The only session of the code in this epoch.
    pub session: SessionId,
    /// The number of the batch.
    pub batch: u16,
    /// Head start in microseconds.
    pub head_start: u64,
}

impl SaleKeys {
    /// The key of a batch; `None` if its sale key is not known here.
    pub fn batch_key(&self, settings: &Settings, batch: &InvitationBatch) -> Option<BatchKey> {
        let key = self.key(batch.key.as_deref()?)?;
        Some(BatchKey::new(key, settings, batch.number()))
    }

    /// Whether the code was made for this queue with one of these keys, whatever the settings say about its batch.
    pub fn made(&self, settings: &Settings, code: &InvitationCode) -> bool {
        self.keys().any(|key| BatchKey::new(key, settings, code.batch).made(code))
    }

    /// What a code is worth at `now`; `None` if it is not valid for this queue.
    pub fn invitation(&self, settings: &Settings, code: &InvitationCode, now: Micros) -> Option<Invitation> {
        let batch = settings.invitations.iter().find(|batch| batch.number() == code.batch)?;
        let key = self.batch_key(settings, batch).filter(|key| key.made(code))?;
        let is_valid = batch.is_valid_at(now) && (1..=batch.count).contains(&u64::from(code.number));
        is_valid.then(|| Invitation {
            session: key.session(settings.line.epoch, code.number),
            batch: code.batch,
            head_start: batch.head_start * MICROS_PER_SECOND,
        })
    }
}

impl Settings {
    /// Head start in microseconds of the sessions of a batch that join now; 0 if it is revoked or was removed.
    pub fn head_start_of(&self, batch: u16) -> u64 {
        let batch = self.invitations.iter().find(|known| known.number() == batch && !known.revoked);
        batch.map_or(0, |batch| batch.head_start * MICROS_PER_SECOND)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::{KeyList, Timestamp};

    const CODE_42: &str = "0400E0-0000N7-9KRDYN-K95R4C";

    fn sale_keys() -> SaleKeys {
        let bytes: Vec<u8> = (0..32).collect();
        SaleKeys::new(&KeyList::of_bytes("s1", bytes.try_into().unwrap())).unwrap()
    }

    fn settings(id: &str, batches: &Value) -> Settings {
        let value = json!({
            "id": id, "tenant": "acme", "hosts": ["*"], "quota": 1, "handover": { "kind": "check" }, "invitations": batches,
        });
        Settings::from_value(&value).unwrap()
    }

    fn fans() -> Value {
        json!({ "number": 7, "id": "fans", "head_start": 600, "count": 5000, "key": "s1" })
    }

    const NOW: Micros = Micros(1_804_154_400_000_000);

    fn worth(settings: &Settings, code: &str, now: Micros) -> Option<Invitation> {
        sale_keys().invitation(settings, &code.parse().ok()?, now)
    }

    #[test]
    fn known_answers() {
        let settings = settings("acme-tour", &json!([fans()]));
        let key = sale_keys().batch_key(&settings, &settings.invitations[0]).unwrap();
        assert_eq!(key.key.to_string(), "746a3de405f5edfc3d93f1b2bab97bacaa358b831ea2c4615353ef6b084cc4b8");
        assert_eq!(key.code(42).to_string(), CODE_42);
        let session = key.session(1, 42);
        let bytes = [0xd7, 0xf6, 0xbd, 0xb7, 0x63, 0x58, 0x4d, 0xf2, 0x6f, 0xad, 0x05, 0xbe, 0x17, 0x5d];
        assert_eq!(session, SessionId::from_bytes(bytes));
        let invitation = worth(&settings, CODE_42, NOW).unwrap();
        assert_eq!(invitation, Invitation { session, batch: 7, head_start: 600_000_000 });
        assert_eq!(format!("{key:?} {:?}", key.code(42)), "BatchKey { batch: 7, .. } InvitationCode { batch: 7, .. }");
    }

    #[test]
    fn code_spellings_are_the_same_code() {
        let code: InvitationCode = CODE_42.parse().unwrap();
        for written in [CODE_42.to_lowercase(), CODE_42.replace('-', " "), CODE_42.replace('0', "o").replace('1', "l")]
        {
            assert_eq!(written.parse(), Ok(code), "{written}");
        }
        for wrong in ["", "0400E0", &CODE_42[1..], &format!("{CODE_42}0"), "0800E0-0000N7-9KRDYN-K95R4C"] {
            assert_eq!(wrong.parse::<InvitationCode>(), Err(NotAnInvitation), "{wrong}");
        }
    }

    #[test]
    fn altered_codes_and_those_of_other_queues_are_worth_nothing() {
        let tour = settings("acme-tour", &json!([fans()]));
        for (index, digit) in CODE_42.char_indices().filter(|(_, digit)| *digit != '-') {
            let mut altered = CODE_42.to_owned();
            altered.replace_range(index..=index, if digit == '7' { "8" } else { "7" });
            assert_eq!(worth(&tour, &altered, NOW), None, "{altered}");
        }
        assert_eq!(worth(&settings("acme-fair", &json!([fans()])), CODE_42, NOW), None);
        let of_other_tenant = Settings { tenant: "blue".parse().unwrap(), ..tour.clone() };
        assert_eq!(worth(&of_other_tenant, CODE_42, NOW), None, "which may have the same ID");
        assert!(sale_keys().made(&tour, &CODE_42.parse().unwrap()));
        let unknown = SaleKeys::new(&KeyList::of_bytes("s1", [9; 32])).unwrap();
        assert_eq!(unknown.invitation(&tour, &CODE_42.parse().unwrap(), NOW), None, "another key");
    }

    #[test]
    fn the_batch_says_which_codes_are_valid() {
        let valid = |changes: Value, now: Micros| {
            let mut batch = fans();
            batch.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
            worth(&settings("acme-tour", &json!([batch])), CODE_42, now).is_some()
        };
        assert!(valid(json!({ "count": 42 }), NOW) && !valid(json!({ "count": 41 }), NOW));
        assert!(!valid(json!({ "revoked": true }), NOW) && !valid(json!({ "number": 8 }), NOW));
        let [from, until] = [0, 60].map(|after| Timestamp::of(NOW.add_seconds(after)).to_string());
        let window = json!({ "from": from, "until": until });
        let at = |micros: i64| valid(window.clone(), Micros(NOW.0.saturating_add_signed(micros)));
        assert_eq!([-1, 0, 59_999_999, 60_000_000].map(at), [false, true, true, false]);
        let tour = settings("acme-tour", &json!([fans()]));
        let zero = sale_keys().batch_key(&tour, &tour.invitations[0]).unwrap().code(0).to_string();
        assert_eq!(worth(&tour, &zero, NOW), None, "numbers begin at 1");
    }

    #[test]
    fn a_code_has_one_session_in_an_epoch() {
        let mut tour = settings("acme-tour", &json!([fans()]));
        let first = worth(&tour, CODE_42, NOW).unwrap().session;
        assert_eq!(worth(&tour, &CODE_42.to_lowercase(), NOW).unwrap().session, first);
        tour.line.epoch = 2;
        assert_ne!(worth(&tour, CODE_42, NOW).unwrap().session, first, "a reset line");
    }

    #[test]
    fn random_codes_are_not_accepted() {
        const CODES: u64 = 1_000_000;
        let tour = settings("acme-tour", &json!([fans()]));
        let key = sale_keys().batch_key(&tour, &tour.invitations[0]).unwrap();
        let guess =
            |seed: u64| seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (seed << 7).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        let accepted = (1..=CODES).filter(|seed| {
            let number = (guess(*seed) % 5000) as u32 + 1;
            key.made(&InvitationCode { batch: 7, number, mac: guess(seed + CODES).to_be_bytes() })
        });
        assert_eq!(accepted.count(), 0);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,60}") {
            let _ = text.parse::<InvitationCode>();
        }

        #[test]
        fn codes_survive_their_text(batch: u16, number: u32, mac: [u8; 8]) {
            let code = InvitationCode { batch, number, mac };
            prop_assert_eq!(code.to_string().parse(), Ok(code));
        }
    }
}
