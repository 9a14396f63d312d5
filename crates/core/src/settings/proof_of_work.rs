//! When newcomers prove work, and how much.

use serde::{Deserialize, Serialize};

use crate::ProofMode;
use crate::fields::Bounded;

/// Default of `effort`.
const EFFORT: u64 = 2_500;
/// Minimum of `effort`.
const EFFORT_MIN: u64 = 100;
/// Maximum of `effort`.
const EFFORT_MAX: u64 = 100_000;
/// Default of `from`.
const FROM: u64 = 50;
/// Maximum of `from`.
const FROM_MAX: u64 = 100_000;

crate::word_field!(ProofMode { Off = "off", Auto = "auto", Always = "always" });

crate::fields! {
    /// Proof of work of newcomers.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default)]
    pub struct ProofOfWork {
        /// When newcomers prove work before they join: `off` (never), `auto` (when many join from one address, one network, or in the
        /// whole queue) or `always`.
        pub mode: ProofMode = ProofMode::Off,
        /// Mean number of key derivations at difficulty 1. A phone computes 2,500 in one second or so.
        pub effort: Bounded<EFFORT_MIN, EFFORT_MAX> = EFFORT,
        /// Joins per second from which the difficulty rises.
        pub from: Bounded<1, FROM_MAX> = FROM,
    }
}

impl Default for ProofOfWork {
    fn default() -> Self {
        Self { mode: ProofMode::default(), effort: EFFORT, from: FROM }
    }
}
