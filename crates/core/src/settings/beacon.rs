//! Rule 16: the beacon of a draw, a public random value that nobody knows before a time that is named in advance.

use sha2::{Digest as _, Sha256};

use crate::fields::{Bounded, FieldErrorCode as Code};
use crate::hex32::Hex32;
use crate::time::{Micros, Timestamp};

/// A public relay of drand, operated by the League of Entropy.
pub const DRAND_RELAY: &str = "https://api.drand.sh";
/// The chain quicknet: its hash, its first round in seconds since 1970, and the seconds between rounds.
const QUICKNET_CHAIN: &str = "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971";
const QUICKNET_GENESIS: u64 = 1_692_803_367;
const QUICKNET_PERIOD: u64 = 3;
/// A draw uses the first round that is published at least this many seconds after the start.
const ROUND_AFTER_START: u64 = 10;
/// Highest round: integers that a double represents exactly.
pub const BEACON_ROUND_MAX: u64 = 1 << 53;
/// Maximum length of a signature in bytes: the longest of the schemes of drand.
const SIGNATURE_MAX: usize = 96;

/// A public source of random values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beacon {
    /// The chain quicknet of drand, which publishes a value every 3 seconds.
    DrandQuicknet,
}

// A draw without its beacon would be another draw, so one that this version does not know is an error.
crate::word_field!(Beacon { DrandQuicknet = "drand-quicknet" }, NEVER_IGNORED);

impl Beacon {
    /// The hash of the chain, in hexadecimal digits.
    pub const fn chain(self) -> &'static str {
        match self {
            Self::DrandQuicknet => QUICKNET_CHAIN,
        }
    }

    /// The round that the draw of an event uses which starts at this time.
    pub fn round_of(self, starts_at: Timestamp) -> u64 {
        let after_genesis = (starts_at.seconds() + ROUND_AFTER_START).saturating_sub(QUICKNET_GENESIS);
        after_genesis.div_ceil(QUICKNET_PERIOD) + 1
    }

    /// When a round is published.
    pub const fn published_at(self, round: u64) -> Timestamp {
        let seconds = QUICKNET_GENESIS.saturating_add(QUICKNET_PERIOD.saturating_mul(round.saturating_sub(1)));
        Timestamp::of(Micros(0).add_seconds(seconds))
    }

    /// The address of a round at a relay.
    pub fn address(self, relay: &str, round: u64) -> String {
        format!("{}/{}/public/{round}", relay.trim_end_matches('/'), self.chain())
    }
}

crate::fields! {
    /// The recorded value of a beacon. Anyone can compare it with what the beacon has published.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct BeaconValue {
        /// The round.
        pub round: Bounded<1, BEACON_ROUND_MAX>,
        /// SHA-256 of the signature, in hexadecimal digits.
        pub randomness: Hex32,
        /// The signature of the round, in hexadecimal digits.
        pub signature: Signature,
        /// When the value was recorded, by the clock of the store. The order is drawn then.
        pub received_at: Timestamp,
    }
    const NEVER_IGNORED;
}

crate::text_kind! {
    /// The signature of a round.
    pub Signature: Code::Signature, { "pattern": "^([0-9a-fA-F]{2}){1,96}$" }, |text| {
        signature_bytes(text).map(|_| text.to_ascii_lowercase())
    };
}

/// The bytes of a signature, if the text is one.
fn signature_bytes(text: &str) -> Option<Vec<u8>> {
    let fits = !text.is_empty() && text.len() <= 2 * SIGNATURE_MAX;
    fits.then(|| hex::decode(text).ok()).flatten()
}

/// The randomness of a round: SHA-256 of its signature. `None` if the text is not a signature in hexadecimal digits.
pub fn beacon_randomness(signature: &str) -> Option<Hex32> {
    Some(Hex32(Sha256::digest(signature_bytes(signature)?).into()))
}

/// Why the value of a beacon is not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BeaconRefusal {
    /// The event has no beacon, or is suspended.
    #[error("the event has no beacon, or is suspended")]
    NoBeacon,
    /// A value was recorded before.
    #[error("the value of the beacon was recorded before")]
    Recorded,
    /// It is not the round that the event names, or was not published yet, or the event is over.
    #[error("not the round that the event names, or outside the time from its publication to the end of the event")]
    Round,
    /// The signature is not one.
    #[error("the signature is not in hexadecimal digits")]
    Signature,
}

/// The round of a beacon that a draw uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BeaconRound {
    /// The beacon.
    pub beacon: Beacon,
    /// The number of the round.
    pub round: u64,
    /// When it is published.
    pub published_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::settings::draws::complete_draws;
    use crate::settings::{Event, Settings, locked_event_changes, settle_removed_beacons};
    use crate::{KeyList, SaleKeys};

    const START: &str = "2027-03-04T10:00:00Z";
    /// The hexadecimal digits of "example signature".
    const SIGNATURE: &str = "6578616d706c65207369676e6174757265";
    const RANDOMNESS: &str = "c6686d2de1a96947b4625d7c57d30ff26d0afef6415ee7db2b378e54f7e19bd7";
    const ROUND: u64 = 37_117_016;

    fn settings(changes: &Value) -> Result<Settings, Vec<String>> {
        let mut event = json!({
            "id": "spring-sale", "key": "s1", "salt": "b7f3a1", "starts_at": START, "ends_at": "2027-03-04T14:00:00Z",
            "beacon": "drand-quicknet",
        });
        event.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        let settings = Settings::from_value(&json!({
            "id": "acme-tour", "tenant": "acme", "hosts": ["*"], "quota": 1, "handover": { "kind": "check" },
            "mode": "scheduled", "events": [event],
        }));
        settings.map_err(|errors| errors.iter().map(ToString::to_string).collect())
    }

    fn event(changes: &Value) -> Event {
        settings(changes).unwrap().line.events[0].clone()
    }

    fn at(seconds: u64) -> Micros {
        START.parse::<Timestamp>().unwrap().micros().add_seconds(seconds)
    }

    fn recorded(received_at: &str) -> Value {
        json!({ "round": ROUND, "randomness": RANDOMNESS, "signature": SIGNATURE, "received_at": received_at })
    }

    #[test]
    fn round_is_named_in_advance() {
        let named = event(&json!({})).beacon_round().unwrap();
        assert_eq!((named.round, named.published_at.to_string().as_str()), (ROUND, "2027-03-04T10:00:12Z"));
        let beacon = Beacon::DrandQuicknet;
        for start in 1_804_154_400..1_804_154_410 {
            let round = beacon.round_of(Timestamp::of(Micros(0).add_seconds(start)));
            let delays = [round, round - 1].map(|round| beacon.published_at(round).seconds() - start);
            assert!((10..13).contains(&delays[0]) && delays[1] < 10, "{start}: {delays:?}");
        }
        assert_eq!(beacon.round_of(Timestamp::of(Micros(0))), 1, "before the chain began");
        let address = beacon.address("https://api.drand.sh/", 7);
        assert_eq!(address, format!("https://api.drand.sh/{QUICKNET_CHAIN}/public/7"));
    }

    #[test]
    fn value_is_recorded_once_and_in_time() {
        let event = event(&json!({}));
        let record = |round, seconds| event.with_beacon_value(round, SIGNATURE, at(seconds)).map(|it| it.beacon_value);
        assert_eq!(record(ROUND, 11), Err(BeaconRefusal::Round), "not published yet");
        assert_eq!(record(ROUND + 1, 20), Err(BeaconRefusal::Round));
        assert_eq!(record(ROUND, 4 * 3600), Err(BeaconRefusal::Round), "the event is over");
        let value = record(ROUND, 12).unwrap().unwrap();
        assert_eq!((value.randomness.to_string().as_str(), value.received_at.micros()), (RANDOMNESS, at(12)));
        let event = event.with_beacon_value(ROUND, &SIGNATURE.to_ascii_uppercase(), at(12)).unwrap();
        assert_eq!((event.beacon_value.as_ref(), event.drawn_at()), (Some(&value), Some(at(12))));
        assert_eq!(event.draw_ends_at(), Some(at(12 + 45)));
        assert_eq!(event.with_beacon_value(ROUND, SIGNATURE, at(13)), Err(BeaconRefusal::Recorded));
        for wrong in ["", "6", "zz", &"00".repeat(97)] {
            let open = self::event(&json!({}));
            assert_eq!(open.with_beacon_value(ROUND, wrong, at(12)), Err(BeaconRefusal::Signature), "{wrong}");
        }
        for other in [json!({ "beacon": null }), json!({ "suspended": true })] {
            let refused = self::event(&other).with_beacon_value(ROUND, SIGNATURE, at(12));
            assert_eq!(refused, Err(BeaconRefusal::NoBeacon), "{other}");
        }
    }

    #[test]
    fn nothing_is_drawn_while_the_value_is_missing() {
        let event = event(&json!({}));
        assert_eq!((event.drawn_at(), event.draw_ends_at()), (None, None));
        assert_eq!([0, 4 * 3600 - 1].map(|seconds| event.awaits_beacon(at(seconds))), [true; 2]);
        assert!(!event.awaits_beacon(Micros(at(0).0 - 1)) && !event.awaits_beacon(at(4 * 3600)));
        assert_eq!([4 * 3600 - 1, 4 * 3600].map(|seconds| event.missed_beacon(at(seconds))), [false, true]);
        let keys = SaleKeys::new(&KeyList::of_bytes("s1", std::array::from_fn(|byte| byte as u8))).unwrap();
        let queue = "acme-tour".parse().unwrap();
        assert!(keys.draw(&queue, &event).is_none());
        let commitment = keys.commitment(&queue, &event).unwrap().to_string();
        assert_eq!(commitment, "58634f96a38bcb2b841e4cc0cbc451f68ca0aae969d79db2e5f60e068012f90d");
        let event = event.with_beacon_value(ROUND, SIGNATURE, at(12)).unwrap();
        let draw = keys.draw(&queue, &event).unwrap();
        let seed = "21ce2e36d51d451857875b998fe6080c60b6eddb956c3f9db1616d0923830c3b";
        assert_eq!((draw.seed().to_string().as_str(), draw.commitment().to_string()), (seed, commitment));
    }

    #[test]
    fn beacons_have_bounds() {
        let errors = |changes: &Value| settings(changes).unwrap_err().join("; ");
        assert!(errors(&json!({ "order": "arrival" })).contains("events[0].beacon: "));
        assert!(errors(&json!({ "draw_seconds": 44 })).starts_with("events[0].draw_seconds: must be at least 45"));
        assert_eq!(event(&json!({ "draw_seconds": 45 })).draw_seconds(), 45);
        assert_eq!([json!({}), json!({ "beacon": null })].map(|it| event(&it).draw_seconds()), [45, 30]);
        assert!(errors(&json!({ "beacon": "dice" })).contains("drand-quicknet"));
        let good = recorded("2027-03-04T10:00:12Z");
        assert!(event(&json!({ "beacon_value": good })).drawn_at().is_some());
        for (field, value) in [
            ("round", json!(ROUND + 1)),
            ("randomness", json!("0".repeat(64))),
            ("signature", json!("00")),
            ("received_at", json!("2027-03-04T10:00:11Z")),
        ] {
            let mut wrong = good.clone();
            wrong[field] = value;
            assert!(errors(&json!({ "beacon_value": wrong })).starts_with("events[0].beacon_value: "), "{field}");
        }
        assert!(errors(&json!({ "beacon": null, "beacon_value": good })).starts_with("events[0].beacon_value: "));
        let removed = |at: &str| json!({ "beacon": null, "beacon_removed_at": at });
        assert!(errors(&removed("2027-03-04T09:59:59Z")).starts_with("events[0].beacon_removed_at: "));
        assert_eq!(event(&removed("2027-03-04T10:05:00Z")).drawn_at(), Some(at(300)));
        assert!(errors(&json!({ "beacon_removed_at": START })).starts_with("events[0].beacon_removed_at: "));
    }

    #[test]
    fn stored_value_of_a_newer_version_is_never_ignored() {
        let mut stored = settings(&json!({ "beacon_value": recorded("2027-03-04T10:00:12Z") })).unwrap().to_value();
        assert!(Settings::from_stored(&stored).is_ok());
        stored["events"][0]["beacon_value"]["signature"] = 7.into();
        assert!(Settings::from_stored(&stored).is_err());
        stored["events"][0]["beacon_value"] = "none".into();
        assert!(Settings::from_stored(&stored).is_err());
    }

    #[test]
    fn recorded_values_come_from_the_server() {
        let keys = SaleKeys::new(&KeyList::of_bytes("s1", [1; 32])).unwrap();
        let complete = |before: &Value, after: &Value| {
            let (before, mut after) = (settings(before).unwrap(), settings(after).unwrap());
            let errors =
                complete_draws(Some(&before.line), &mut after.line, &keys, crate::settings::SaltPolicy::AsGiven);
            let fields: Vec<_> = errors.into_iter().map(|error| error.field).collect();
            (fields, after.line.events[0].beacon_value.is_some())
        };
        let value = json!({ "beacon_value": recorded("2027-03-04T10:00:12Z") });
        let later = json!({ "beacon_value": recorded("2027-03-04T10:00:13Z") });
        assert_eq!(complete(&value, &json!({})), (vec![], true), "a document without it keeps it");
        assert_eq!(complete(&value, &value), (vec![], true));
        assert_eq!(complete(&value, &later).0, ["events[0].beacon_value"]);
        assert_eq!(complete(&json!({}), &value).0, ["events[0].beacon_value"]);
        let removed = json!({ "beacon": null, "beacon_removed_at": "2027-03-04T10:05:00Z" });
        assert_eq!(complete(&json!({}), &removed).0, ["events[0].beacon_removed_at"]);
        assert_eq!(complete(&removed, &json!({ "beacon": null })).0, [""; 0]);
    }

    #[test]
    fn beacon_can_be_removed_until_the_draw() {
        let (with, without) = (settings(&json!({})).unwrap().line, settings(&json!({ "beacon": null })).unwrap().line);
        let drawn = settings(&json!({ "beacon_value": recorded("2027-03-04T10:00:12Z") })).unwrap().line;
        let locked = |before, after, at| {
            let errors = locked_event_changes(before, after, at);
            errors.into_iter().map(|error| error.field).collect::<Vec<_>>()
        };
        let (early, lobby) = (Micros(at(0).0 - 1_800_000_001), Micros(at(0).0 - 1_800_000_000));
        assert_eq!(locked(&without, &with, early), [""; 0]);
        assert_eq!(locked(&without, &with, lobby), ["events[0].beacon"], "a beacon cannot be added");
        for now in [lobby, at(0), at(4 * 3600 - 1)] {
            assert_eq!(locked(&with, &without, now), [""; 0]);
        }
        assert_eq!(locked(&drawn, &without, at(20)), ["events[0].beacon"], "the order is drawn");
        assert_eq!(locked(&with, &without, at(4 * 3600)), ["events[0].beacon"], "lobby tickets are void");
        let removed_at = |now| {
            let mut after = without.clone();
            settle_removed_beacons(&with, &mut after, now);
            after.events[0].drawn_at()
        };
        assert_eq!(removed_at(lobby), Some(at(0)), "an ordinary draw");
        assert_eq!(removed_at(at(300)), Some(at(300)), "drawn when the beacon was removed");
    }
}
