//! Rule 15: the draw. The order of everyone in the lobby of an event follows from one secret. The queue publishes a
//! commitment to the secret in advance and the secret afterwards, so anyone can check the draw.
//!
//! ```text
//! secret     = HMAC-SHA256(sale key, "vestibule draw secret 1\0" queue "\0" event "\0" salt)
//! commitment = SHA-256(secret)
//! seed       = HMAC-SHA256(secret, "vestibule draw 1\0" queue "\0" event "\0" u64be(starts_at in seconds) beacon)
//! number     = first 8 bytes of HMAC-SHA256(seed, the 14 bytes of the session), big-endian
//! arrival    = lobby_at + floor(number * (starts_at - lobby_at) / 2^64), in microseconds
//! ```

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

use crate::hex32::Hex32;
use crate::{Micros, SessionId, Timestamp};

/// A number is shown with six digits.
const SHOWN_UNITS: u128 = 1_000_000;

/// HMAC-SHA256 of these parts, one after the other.
pub(crate) fn hmac(key: &[u8; 32], parts: &[&[u8]]) -> Hex32 {
    Hex32(mac(key, parts).finalize().into_bytes().into())
}

/// Whether HMAC-SHA256 of these parts begins with `start`, compared in constant time.
pub(crate) fn verify_start(key: &[u8; 32], parts: &[&[u8]], start: &[u8]) -> bool {
    mac(key, parts).verify_truncated_left(start).is_ok()
}

fn mac(key: &[u8; 32], parts: &[&[u8]]) -> Hmac<Sha256> {
    #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key");
    for part in parts {
        mac.update(part);
    }
    mac
}

/// The commitment to a secret.
pub(crate) fn commitment_of(secret: Hex32) -> Hex32 {
    Hex32(Sha256::digest(secret.0).into())
}

/// What a draw is about, besides its secret.
#[derive(Debug, Clone, Copy)]
pub struct DrawTerms<'a> {
    /// The queue.
    pub queue: &'a str,
    /// The event.
    pub event: &'a str,
    /// When the lobby opens.
    pub lobby_at: Timestamp,
    /// When the sale starts.
    pub starts_at: Timestamp,
    /// A public random value that was not known in advance, if the event has one.
    pub beacon: Option<Hex32>,
}

/// A draw, whose secret determines the number of every session.
#[derive(Clone, Copy)]
pub struct Draw {
    secret: Hex32,
    seed: Hex32,
    lobby_at: Micros,
    starts_at: Micros,
}

impl Draw {
    /// The draw with this secret.
    pub fn new(secret: Hex32, terms: &DrawTerms<'_>) -> Self {
        let DrawTerms { queue, event, lobby_at, starts_at, beacon } = *terms;
        let start = starts_at.seconds().to_be_bytes();
        let beacon = beacon.as_ref().map_or(&[][..], |beacon| &beacon.0);
        let parts = [b"vestibule draw 1\0", queue.as_bytes(), b"\0", event.as_bytes(), b"\0", &start, beacon];
        let seed = hmac(&secret.0, &parts);
        Self { secret, seed, lobby_at: lobby_at.micros(), starts_at: starts_at.micros() }
    }

    /// The commitment to the secret, which is public from the start of the lobby on.
    pub fn commitment(&self) -> Hex32 {
        commitment_of(self.secret)
    }

    /// The secret, which is public once the draw has taken place.
    pub const fn secret(&self) -> Hex32 {
        self.secret
    }

    /// The seed of the numbers, which is public once the draw has taken place.
    pub const fn seed(&self) -> Hex32 {
        self.seed
    }

    /// The number of a session. Sessions are admitted in the order of their numbers.
    pub fn number(&self, session: SessionId) -> DrawNumber {
        let Hex32(drawn) = hmac(&self.seed.0, &[session.as_bytes()]);
        DrawNumber(drawn.first_chunk().map_or(0, |first| u64::from_be_bytes(*first)))
    }

    /// The arrival of a drawn session, between the start of the lobby and the start of the sale.
    pub fn arrival(&self, session: SessionId) -> Micros {
        let offset = u128::from(self.number(session).0) * u128::from(self.starts_at.since(self.lobby_at));
        Micros(self.lobby_at.0 + (offset >> u64::BITS) as u64)
    }
}

/// The number of a session in a draw. It is shown as the share of its range, cut off after six digits: `0.855761`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DrawNumber(pub u64);

impl fmt::Display for DrawNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0.{:06}", (u128::from(self.0) * SHOWN_UNITS) >> u64::BITS)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::settings::{Event, EventOrder, Settings};
    use crate::{KeyError, KeyList, SaleKeys};

    const EXAMPLE_BEACON: &str = "c6686d2de1a96947b4625d7c57d30ff26d0afef6415ee7db2b378e54f7e19bd7";

    fn sale_keys() -> SaleKeys {
        let bytes: Vec<u8> = (0..32).collect();
        SaleKeys::new(&KeyList::of_bytes("s1", bytes.try_into().unwrap())).unwrap()
    }

    fn event() -> Event {
        let settings = Settings::from_value(&json!({
            "id": "acme-tour", "tenant": "acme", "hosts": ["*"], "quota": 1, "handover": { "kind": "check" },
            "events": [{
                "id": "spring-sale", "order": "draw", "key": "s1", "salt": "b7f3a1",
                "starts_at": "2027-03-04T10:00:00Z", "ends_at": "2027-03-04T14:00:00Z",
            }],
        }));
        settings.unwrap().line.events[0].clone()
    }

    fn draw() -> Draw {
        sale_keys().draw(&"acme-tour".parse().unwrap(), &event()).unwrap()
    }

    fn sessions() -> [SessionId; 3] {
        let counted: Vec<u8> = (0..14).collect();
        [[0; 14], [3; 14], counted.try_into().unwrap()].map(SessionId::from_bytes)
    }

    fn numbers(draw: &Draw) -> [(u64, String, u64); 3] {
        sessions().map(|session| {
            let number = draw.number(session);
            (number.0, number.to_string(), draw.arrival(session).0)
        })
    }

    #[test]
    fn known_answers() {
        let draw = draw();
        assert_eq!(draw.secret().to_string(), "eadb926a4097359da14079ae8ae8480270a333162da16a27413e77836f4620cb");
        assert_eq!(draw.commitment().to_string(), "58634f96a38bcb2b841e4cc0cbc451f68ca0aae969d79db2e5f60e068012f90d");
        assert_eq!(draw.seed().to_string(), "1cba7187014e169c730a6bbb38e7d2ccfa4e66c1908b39ec422fe0ca0425b7f2");
        let expected = [
            (766_998_466_728_816_664, "0.041579", 1_804_152_674_842_326),
            (728_137_943_786_114_946, "0.039472", 1_804_152_671_050_386),
            (15_786_008_141_119_367_631, "0.855761", 1_804_154_140_370_188),
        ];
        assert_eq!(numbers(&draw), expected.map(|(number, shown, arrival)| (number, shown.to_owned(), arrival)));
    }

    #[test]
    fn known_answers_with_a_beacon() {
        let event = event();
        let terms = DrawTerms {
            queue: "acme-tour",
            event: "spring-sale",
            lobby_at: event.lobby_at(),
            starts_at: event.starts_at,
            beacon: Some(EXAMPLE_BEACON.parse().unwrap()),
        };
        let draw = Draw::new(draw().secret(), &terms);
        assert_eq!(draw.seed().to_string(), "21ce2e36d51d451857875b998fe6080c60b6eddb956c3f9db1616d0923830c3b");
        let expected = [
            (5_894_782_066_199_600_585, "0.319556", 1_804_153_175_202_197),
            (10_012_805_151_879_563_455, "0.542795", 1_804_153_577_031_458),
            (6_352_216_053_725_219_913, "0.344354", 1_804_153_219_837_780),
        ];
        assert_eq!(numbers(&draw), expected.map(|(number, shown, arrival)| (number, shown.to_owned(), arrival)));
    }

    #[test]
    fn postponed_event_keeps_its_commitment() {
        let queue = "acme-tour".parse().unwrap();
        let postponed = Event { starts_at: "2027-03-04T11:00:00Z".parse().unwrap(), ..event() };
        let postponed = sale_keys().draw(&queue, &postponed).unwrap();
        assert_eq!(postponed.commitment(), draw().commitment());
        assert_ne!(postponed.seed(), draw().seed(), "the numbers depend on the start");
    }

    #[test]
    fn draw_needs_the_key_of_the_event() {
        let queue = "acme-tour".parse().unwrap();
        let other = SaleKeys::new(&KeyList::of_bytes("s2", [1; 32])).unwrap();
        assert!(other.draw(&queue, &event()).is_none() && SaleKeys::default().draw(&queue, &event()).is_none());
        let in_order = Event { order: EventOrder::Arrival, ..event() };
        assert!(sale_keys().draw(&queue, &in_order).is_none());
        let short: KeyList = "s1:AAAA".parse().unwrap();
        assert_eq!(SaleKeys::new(&short).unwrap_err(), KeyError::Length("s1".to_owned()));
        assert_eq!(format!("{:?}", sale_keys()), "[\"s1\"]", "without the secret");
    }

    /// Numbers say nothing about when somebody came: no trend over a million visitors, and every hundredth of the range is
    /// equally likely.
    #[test]
    fn early_arrival_has_no_advantage() {
        const VISITORS: u64 = 1_000_000;
        const BINS: usize = 100;
        let draw = draw();
        let mut counts = [0_u64; BINS];
        let (mut sum, mut squares, mut product) = (0.0, 0.0, 0.0);
        for visitor in 0..VISITORS {
            let mut bytes = [0; 14];
            bytes[..8].copy_from_slice(&visitor.to_be_bytes());
            let DrawNumber(number) = draw.number(SessionId::from_bytes(bytes));
            counts[((u128::from(number) * BINS as u128) >> 64) as usize] += 1;
            let (rank, share) = (visitor as f64 / VISITORS as f64 - 0.5, number as f64 / 2_f64.powi(64) - 0.5);
            sum += share;
            squares += share * share;
            product += rank * share;
        }
        let visitors = VISITORS as f64;
        let deviation = (squares / visitors - (sum / visitors).powi(2)).sqrt();
        let correlation = product / visitors / (deviation / 12_f64.sqrt());
        assert!(correlation.abs() < 0.003, "{correlation}");
        let expected = visitors / BINS as f64;
        let chi_squared: f64 = counts.iter().map(|count| (*count as f64 - expected).powi(2) / expected).sum();
        assert!(chi_squared < 135.0, "{chi_squared}");
    }

    /// Over many draws every tenth of the arrivals gets every tenth of the ranks equally often.
    #[test]
    fn ranks_are_uniform_over_many_draws() {
        const DRAWS: usize = 1_000;
        const VISITORS: usize = 10_000;
        const BINS: usize = 10;
        /// Chi-squared at 1 %, for which both margins of the table are fixed: 81 degrees of freedom.
        const CHI_SQUARED_MAX: f64 = 113.5;
        /// Three standard errors of the mean of the correlations.
        const CORRELATION_MAX: f64 = 0.000_95;
        let queue = "acme-tour".parse().unwrap();
        let mut counts = [[0_u64; BINS]; BINS];
        let mut correlations = 0.0;
        for salt in 0..DRAWS {
            let draw = sale_keys().draw(&queue, &Event { salt: Some(salt.to_string()), ..event() }).unwrap();
            let session = |visitor: u64| {
                let mut bytes = [0; 14];
                bytes[..8].copy_from_slice(&visitor.to_be_bytes());
                SessionId::from_bytes(bytes)
            };
            let mut drawn: Vec<_> =
                (0..VISITORS as u64).map(|visitor| (draw.number(session(visitor)), visitor)).collect();
            drawn.sort_unstable();
            let middle = (VISITORS - 1) as f64 / 2.0;
            let mut product = 0.0;
            for (rank, (_, visitor)) in drawn.iter().enumerate() {
                counts[*visitor as usize * BINS / VISITORS][rank * BINS / VISITORS] += 1;
                product += (rank as f64 - middle) * (*visitor as f64 - middle);
            }
            let squares = VISITORS as f64 * (VISITORS as f64 * VISITORS as f64 - 1.0) / 12.0;
            correlations += product / squares;
        }
        let expected = (DRAWS * VISITORS / BINS / BINS) as f64;
        let chi_squared: f64 = counts.iter().flatten().map(|count| (*count as f64 - expected).powi(2) / expected).sum();
        assert!(chi_squared < CHI_SQUARED_MAX, "{chi_squared}");
        let correlation = correlations / DRAWS as f64;
        assert!(correlation.abs() < CORRELATION_MAX, "{correlation}");
    }
}
