//! Rule L4: the work that a join has to prove, in multiples of the queue's `effort`.

use crate::client_network::NetworkClass;

/// Maximum difficulty. A low-end phone computes it within the time of a challenge.
pub const DIFFICULTY_MAX: u64 = 64;
/// Joins of an address in ten minutes that raise the difficulty by 1.
pub const ADDRESS_SHARE: u64 = 4;
/// Joins of a network in ten minutes that raise the difficulty by 1.
pub const NETWORK_SHARE: u64 = 64;
/// Joins of a shared network count as this part.
pub const SHARED_PART: u64 = 16;
/// Maximum difficulty by the joins of an address or network.
pub const BASE_MAX: u64 = 16;
/// Maximum factor by the joins of a queue per second.
pub const RATE_FACTOR_MAX: u64 = 4;
/// Factor in attack mode.
pub const ATTACK_FACTOR: u64 = 4;
/// Least difficulty for suspicious networks.
pub const SUSPICIOUS_MIN: u64 = 16;

/// When proof of work is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProofMode {
    /// Never.
    #[default]
    Off,
    /// By the number of joins.
    Auto,
    /// For each join.
    Always,
}

/// What the difficulty of a join depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JoinLoad {
    /// Joins of the client's address in both windows, this one included; 0 if the address is not usable.
    pub address: u64,
    /// Joins of the client's network in both windows, this one included; 0 if the address is not usable.
    pub network: u64,
    /// Joins of the queue per second.
    pub per_second: f64,
    /// The class of the client's network.
    pub class: Option<NetworkClass>,
}

impl JoinLoad {
    /// Joins of an address or network as limits count them: those of a shared network count as a part.
    pub fn counted(&self, joins: u64) -> f64 {
        let part = if self.class == Some(NetworkClass::Shared) { SHARED_PART } else { 1 };
        joins as f64 / part as f64
    }
}

/// The difficulty of a join, 0 to [`DIFFICULTY_MAX`]. `from` is the number of joins per second from which it rises.
///
/// # Panics
/// If `from` is 0.
pub fn difficulty(load: &JoinLoad, mode: ProofMode, from: u64, attack_mode: bool) -> u64 {
    assert!(from > 0, "from is 1 or more");
    let (address, network) = (load.counted(load.address), load.counted(load.network));
    let base = (address / ADDRESS_SHARE as f64).max(network / NETWORK_SHARE as f64).clamp(1.0, BASE_MAX as f64);
    let rate = (load.per_second / from as f64).sqrt().clamp(1.0, RATE_FACTOR_MAX as f64);
    let is_suspicious = load.class == Some(NetworkClass::Suspicious);
    let is_calm = base <= 1.0 && rate <= 1.0 && !is_suspicious;
    if load.class == Some(NetworkClass::Trusted) || mode == ProofMode::Off || (mode == ProofMode::Auto && is_calm) {
        return 0;
    }
    let product = (base * rate).ceil() as u64 * if attack_mode { ATTACK_FACTOR } else { 1 };
    let least = if is_suspicious { SUSPICIOUS_MIN } else { 1 };
    product.max(least).min(DIFFICULTY_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(address: u64, network: u64, per_second: f64) -> JoinLoad {
        JoinLoad { address, network, per_second, class: None }
    }

    fn auto(load: JoinLoad) -> u64 {
        difficulty(&load, ProofMode::Auto, 50, false)
    }

    #[test]
    fn household_and_office_are_not_asked() {
        assert_eq!(auto(load(4, 4, 1.0)), 0);
        assert_eq!(auto(load(4, 64, 50.0)), 0);
        assert_eq!(difficulty(&load(4, 64, 50.0), ProofMode::Always, 50, false), 1);
        assert_eq!(auto(load(5, 5, 1.0)), 2);
        assert_eq!(auto(load(1, 65, 1.0)), 2);
        assert_eq!(auto(load(0, 0, 1.0)), 0, "no usable address");
    }

    #[test]
    fn difficulty_rises_with_joins_up_to_its_cap() {
        assert_eq!(auto(load(40, 40, 1.0)), 10);
        assert_eq!(auto(load(1_000, 1_000, 1.0)), 16);
        assert_eq!(auto(load(1, 1, 200.0)), 2);
        assert_eq!(auto(load(1, 1, 1_000_000.0)), 4);
        assert_eq!(auto(load(1_000, 1_000, 1_000_000.0)), DIFFICULTY_MAX);
        assert_eq!(difficulty(&load(1, 1, 1.0), ProofMode::Always, 50, true), 4);
        assert_eq!(difficulty(&load(1_000, 1_000, 1.0), ProofMode::Always, 50, true), DIFFICULTY_MAX);
        assert_eq!(difficulty(&load(1_000, 1_000, 1.0), ProofMode::Off, 50, false), 0);
    }

    #[test]
    fn class_of_a_network_changes_the_difficulty() {
        let class = |class, joins| auto(JoinLoad { class: Some(class), ..load(1, joins, 1.0) });
        assert_eq!(class(NetworkClass::Shared, 4_000), 4);
        assert_eq!(auto(load(31, 4_000, 1.0)), 16);
        assert_eq!(class(NetworkClass::Trusted, 4_000), 0);
        assert_eq!(class(NetworkClass::Suspicious, 1), 16, "though nobody else joins");
    }
}
