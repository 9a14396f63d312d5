//! Rule 16: what the beacon of an event and its recorded value mean for the draw.

use super::beacon::{BeaconRefusal, BeaconRound, BeaconValue, beacon_randomness};
use super::event::Event;
use crate::time::{Micros, Timestamp};

impl Event {
    /// The round of the beacon that the draw uses; `None` for an event without a beacon.
    pub fn beacon_round(&self) -> Option<BeaconRound> {
        let beacon = self.beacon?;
        let round = beacon.round_of(self.starts_at);
        Some(BeaconRound { beacon, round, published_at: beacon.published_at(round) })
    }

    /// Whether the draw has a beacon whose value was not recorded yet.
    pub const fn lacks_beacon_value(&self) -> bool {
        self.beacon.is_some() && self.beacon_value.is_none()
    }

    /// Whether the draw waits for the value of its beacon at `now`: from the start to the end of the event.
    pub fn awaits_beacon(&self, now: Micros) -> bool {
        self.lacks_beacon_value() && self.starts_at.micros() <= now && now < self.ends_at.micros()
    }

    /// Whether the value of the beacon was not recorded before the end of the event: the order is not drawn, and lobby tickets
    /// are void.
    pub fn missed_beacon(&self, now: Micros) -> bool {
        self.lacks_beacon_value() && self.ends_at.micros() <= now
    }

    /// The event with the value of its beacon, received at `now` by the clock of the store.
    ///
    /// # Errors
    /// Returns why this signature of this round is not recorded.
    pub fn with_beacon_value(&self, round: u64, signature: &str, now: Micros) -> Result<Self, BeaconRefusal> {
        let named = self.beacon_round().filter(|_| !self.suspended).ok_or(BeaconRefusal::NoBeacon)?;
        if self.beacon_value.is_some() {
            return Err(BeaconRefusal::Recorded);
        }
        if round != named.round || now < named.published_at.micros() || self.ends_at.micros() <= now {
            return Err(BeaconRefusal::Round);
        }
        let randomness = beacon_randomness(signature).ok_or(BeaconRefusal::Signature)?;
        let (signature, received_at) = (signature.to_ascii_lowercase(), Timestamp::of(now));
        let value = BeaconValue { round, randomness, signature, received_at };
        Ok(Self { beacon_value: Some(value), ..self.clone() })
    }

    /// Completes what the server has recorded about the beacon from the stored event.
    pub(super) fn complete_beacon(&mut self, before: Option<&Self>) -> Result<(), &'static str> {
        let Some(before) = before else { return Ok(()) };
        if self.beacon == before.beacon && self.beacon_value.is_none() {
            self.beacon_value.clone_from(&before.beacon_value);
        }
        if self.beacon.is_none() && self.beacon_removed_at.is_none() {
            self.beacon_removed_at = before.beacon_removed_at;
        }
        if self.beacon_value != before.beacon_value && self.beacon_value.is_some() {
            Err("beacon_value")
        } else if self.beacon_removed_at != before.beacon_removed_at && self.beacon_removed_at.is_some() {
            Err("beacon_removed_at")
        } else {
            Ok(())
        }
    }

    /// Rule 16: without its beacon, the order of an event that has started is drawn when the beacon is removed.
    pub(super) fn draw_at_removal(&mut self, before: &Self, now: Micros) {
        if self.beacon.is_none() && before.awaits_beacon(now) {
            self.beacon_removed_at = Some(Timestamp::of(now));
        }
    }
}
