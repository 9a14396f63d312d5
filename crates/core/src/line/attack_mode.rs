//! Attack mode: measures against automated clients that an operator switches on for a limited time, whatever the settings
//! say. It belongs to the state of a queue and not to its settings, so that it applies to the next request and ends by itself.

use super::state::Line;
use super::types::Stats;
use crate::ProofMode;
use crate::settings::{LimitMode, Protection};
use crate::time::Micros;

/// Minimum duration of attack mode, in seconds.
pub const ATTACK_MODE_MIN: u64 = 60;
/// Maximum duration of attack mode, in seconds.
pub const ATTACK_MODE_MAX: u64 = 86_400;
/// Attack mode divides `per_address` and `per_network` by this number.
pub const ATTACK_LIMIT_PART: u64 = 2;

/// A change of attack mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AttackModeChange {
    /// When it would have ended; `None` if it was off.
    pub before: Option<Micros>,
    /// When it ends; `None` if it is off.
    pub until: Option<Micros>,
}

impl Line {
    /// Switches attack mode on for this number of seconds from now, at most [`ATTACK_MODE_MAX`]; 0 ends it.
    pub fn set_attack_mode(&mut self, now: Micros, seconds: u64) -> AttackModeChange {
        let before = self.attack_mode_until(now);
        self.attack_until = if seconds == 0 { Micros(0) } else { now.add_seconds(seconds.min(ATTACK_MODE_MAX)) };
        AttackModeChange { before, until: self.attack_mode_until(now) }
    }

    /// Whether the queue is in attack mode.
    pub fn attack_mode(&self, now: Micros) -> bool {
        now < self.attack_until
    }

    /// When attack mode ends; `None` if it is off.
    pub fn attack_mode_until(&self, now: Micros) -> Option<Micros> {
        self.attack_mode(now).then_some(self.attack_until)
    }

    /// After the clock stepped back from `used_at`, attack mode lasts as long as it would have.
    pub(super) fn reanchor_attack_mode(&mut self, now: Micros, used_at: Micros) {
        self.attack_until = Micros(self.attack_until.0.saturating_sub(used_at.since(now)));
    }
}

impl Stats {
    /// Whether limits of joins and proof of work apply.
    pub fn enforces_limits(&self) -> bool {
        self.rules.protection.in_force(self.attack_mode_until.is_some()).mode == LimitMode::Enforce
    }
}

impl Protection {
    /// The measures in force: in attack mode limits are enforced, those by address and network are half of the settings, and
    /// each newcomer proves work.
    pub fn in_force(&self, attack_mode: bool) -> LimitsInForce {
        let part = if attack_mode { ATTACK_LIMIT_PART } else { 1 };
        let limit = |limit: Option<u64>| limit.map(|limit| (limit / part).max(1));
        LimitsInForce {
            mode: if attack_mode { LimitMode::Enforce } else { self.mode },
            per_address: limit(self.per_address),
            per_network: limit(self.per_network),
            proof_mode: if attack_mode { ProofMode::Always } else { self.proof_of_work.mode },
        }
    }
}

/// The limits of joins that apply now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitsInForce {
    /// Whether joins are counted and limited.
    pub mode: LimitMode,
    /// Joins of one address in two windows.
    pub per_address: Option<u64>,
    /// Joins of one network in two windows.
    pub per_network: Option<u64>,
    /// When newcomers prove work.
    pub proof_mode: ProofMode,
}

#[cfg(test)]
mod tests {
    use super::super::LineRules;
    use super::*;

    const NOW: Micros = Micros(1_700_000_000_000_000);

    #[test]
    fn attack_mode_ends_by_itself() {
        let mut line = Line::new(LineRules::with_quota(1), NOW, false);
        assert_eq!(line.set_attack_mode(NOW, 60), AttackModeChange { before: None, until: Some(NOW.add_seconds(60)) });
        assert!(line.attack_mode(NOW.add_seconds(59)) && !line.attack_mode(NOW.add_seconds(60)));
        let change = line.set_attack_mode(NOW.add_seconds(1), 0);
        assert_eq!(change, AttackModeChange { before: Some(NOW.add_seconds(60)), until: None });
        let longest = line.set_attack_mode(NOW, u64::MAX).until;
        assert_eq!(longest, Some(NOW.add_seconds(ATTACK_MODE_MAX)));
    }

    #[test]
    fn limits_are_halved_in_attack_mode() {
        let settings = Protection { per_address: Some(1), per_network: Some(401), ..Protection::default() };
        let LimitsInForce { mode, per_address, per_network, .. } = settings.in_force(true);
        assert_eq!((mode, per_address, per_network), (LimitMode::Enforce, Some(1), Some(200)));
        let LimitsInForce { mode, per_address, per_network, .. } = settings.in_force(false);
        assert_eq!((mode, per_address, per_network), (LimitMode::Monitor, Some(1), Some(401)));
    }
}
