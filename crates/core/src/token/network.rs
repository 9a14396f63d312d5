//! Keyed digests of client addresses and networks: tokens and stores hold these, never an address.

use super::keys::Key;
use super::mac::Mac;
use crate::QueueId;

/// Purpose of the key of the digests.
const LABEL: &str = "vestibule network 1";
/// Rows of the join counters.
pub const COUNTER_ROWS: usize = 2;

/// What a digest is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrefixKind {
    /// A client's address.
    Address,
    /// A client's network.
    Network,
}

impl PrefixKind {
    const fn code(self) -> &'static [u8] {
        match self {
            Self::Address => b"a",
            Self::Network => b"n",
        }
    }
}

/// The keyed digest of a prefix in one epoch of a queue. Nobody without the key can aim at collisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrefixDigest {
    rows: [u32; COUNTER_ROWS],
    number: u32,
}

impl PrefixDigest {
    /// The digest with these numbers; its cells are their remainders.
    pub const fn of_rows(rows: [u32; COUNTER_ROWS]) -> Self {
        Self { rows, number: 0 }
    }

    /// The numbers from which the cells follow.
    pub const fn rows(&self) -> [u32; COUNTER_ROWS] {
        self.rows
    }

    /// The cells of the prefix in join counters with this many cells per row, one in each row.
    ///
    /// # Panics
    /// If `counters` is 0.
    pub fn cells(&self, counters: u64) -> [u32; COUNTER_ROWS] {
        self.rows.map(|row| (u64::from(row) % counters) as u32)
    }
}

/// The key of the digests of one ticket key.
pub(super) struct NetworkKey(Mac);

impl NetworkKey {
    /// Derives the key from a ticket key.
    pub(super) fn of(ticket_key: &Key) -> Self {
        Self(Mac::labeled(&ticket_key.secret, LABEL))
    }

    /// The digest of a prefix, such as `203.0.113.0/24`.
    pub(super) fn digest(&self, kind: PrefixKind, queue: &QueueId, epoch: u64, prefix: &str) -> PrefixDigest {
        let digest = self.0.of(&[kind.code(), queue.as_str().as_bytes(), &epoch.to_be_bytes(), prefix.as_bytes()]);
        let number = |from: usize| u32::from_be_bytes(std::array::from_fn(|index| digest[from + index]));
        PrefixDigest { rows: [number(0), number(4)], number: number(8) }
    }

    /// The number of a network in pre-tickets: 32 bits of its digest.
    pub(super) fn number(&self, queue: &QueueId, epoch: u64, prefix: &str) -> u32 {
        self.digest(PrefixKind::Network, queue, epoch, prefix).number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers that other programs can check.
    #[test]
    fn network_digests_match_the_known_answers() {
        let key = NetworkKey::of(&Key { kid: "k1".to_owned(), secret: vec![1; 32] });
        let queue = "tour".parse().unwrap();
        let cells = |kind, prefix| key.digest(kind, &queue, 1, prefix).cells(131_072);
        assert_eq!(cells(PrefixKind::Address, "203.0.113.9/32"), [117_600, 73_392]);
        assert_eq!(cells(PrefixKind::Network, "203.0.113.0/24"), [105_612, 21_235]);
        assert_eq!(key.number(&queue, 1, "203.0.113.0/24"), 672_172_536);
        assert_ne!(key.number(&queue, 2, "203.0.113.0/24"), 672_172_536, "another epoch");
    }
}
