//! A simulated sale.

use vestibule_core::line::LineRules;
use vestibule_core::settings::Protection;

use crate::rng::Rng;

/// Times in seconds. The TTLs of the rules are the defaults, except `active_ttl`. Visitors shop for five minutes on average,
/// which is ten times `claim_ttl`: a slot that is never claimed costs a tenth of a visit.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    pub(crate) quota: u64,
    pub(crate) per_minute: Option<u64>,
    /// How many come at the very start, within seconds.
    pub(crate) rush: usize,
    /// How many come one by one after it.
    pub(crate) stream: usize,
    /// Mean time between those.
    pub(crate) every: f64,
    /// Share of visitors who close the queue page if the wait is long.
    pub(crate) closed_tabs: f64,
    /// Share of phones, which fall asleep now and then.
    pub(crate) phones: f64,
    /// Share of visitors with two open tabs.
    pub(crate) second_tabs: f64,
    /// Mean time between the requests of robots: up to a fifth of those who can be admitted. While the line is shorter than
    /// `claim_ttl`, each of them takes a slot for that long.
    pub(crate) robots_every: f64,
    /// When the quota is lowered to a half and put back.
    pub(crate) lowered: Option<(f64, f64)>,
    /// When the quota is raised, and by which factor.
    pub(crate) raised: Option<(f64, f64)>,
    /// Whether visitors are shown waits, so that those far from the front poll less often.
    pub(crate) shows_waits: bool,
    /// Whether positions shown after the loss are compared with the true ones.
    pub(crate) compares_positions: bool,
    /// When the store loses all it has.
    pub(crate) flushed: Option<f64>,
    pub(crate) active_ttl: u64,
    /// Minimum and maximum interval of the site's keepalives.
    pub(crate) keepalive: (f64, f64),
}

pub(crate) const SHOPPING: f64 = 300.0;

impl Scenario {
    pub(crate) fn of(seed: u64, closed_tabs: f64) -> Self {
        let mut rng = Rng::of(seed ^ 0x5ce_a210);
        let quota = rng.one_of(&[15, 25, 40]);
        // The number of visitors who stay is the same for each share of closed tabs.
        let visitors = (quota as f64 * 6.0 / (1.0 - 0.85 * closed_tabs)) as usize;
        let rush = (visitors as f64 * rng.between(0.2, 0.8)) as usize;
        let lowers = rng.happens(0.4);
        let lowered_at = rng.between(200.0, 1200.0);
        Self {
            quota,
            per_minute: rng.one_of(&[None, None, Some(quota), Some(6 * quota)]),
            rush,
            stream: visitors - rush,
            every: SHOPPING / quota as f64 * rng.between(0.3, 0.9),
            closed_tabs,
            phones: rng.between(0.0, 0.3),
            second_tabs: rng.between(0.0, 0.2),
            robots_every: SHOPPING / quota as f64 * rng.one_of(&[5.0, 10.0, 20.0]),
            lowered: lowers.then_some((lowered_at, lowered_at + 400.0)),
            raised: rng.happens(0.3).then(|| (rng.between(300.0, 1500.0), 1.5)),
            shows_waits: true,
            compares_positions: false,
            flushed: rng.happens(0.4).then(|| rng.between(100.0, 1500.0)),
            active_ttl: 300,
            keepalive: (45.0, 45.1),
        }
    }

    /// Twenty slots, a much longer line of visitors who stay, and one loss of the state.
    pub(crate) fn of_a_loss(seed: u64) -> Self {
        let mut rng = Rng::of(seed);
        Self {
            quota: 20,
            per_minute: None,
            rush: 150,
            stream: 100,
            every: 15.0,
            closed_tabs: 0.0,
            phones: 0.0,
            second_tabs: 0.0,
            robots_every: 60.0,
            lowered: None,
            raised: None,
            shows_waits: true,
            compares_positions: true,
            flushed: Some(rng.between(600.0, 1500.0)),
            active_ttl: 600,
            keepalive: (150.0, 200.0),
        }
    }

    /// A long line with sleeping phones and closed tabs whose quota is multiplied by ten. With `limited`, a rate lets it
    /// become ten times faster; else nine times the quota is admitted at once.
    pub(crate) fn of_ten_times_the_quota(seed: u64, limited: bool) -> Self {
        let mut rng = Rng::of(seed ^ 0xfa57);
        let quota = rng.one_of(&[5, 10]);
        Self {
            quota,
            per_minute: limited.then_some(10 * quota * 60 / SHOPPING as u64),
            rush: 400,
            stream: 100,
            every: 5.0,
            closed_tabs: rng.between(0.0, 0.3),
            phones: rng.between(0.0, 0.3),
            second_tabs: 0.0,
            robots_every: 60.0,
            lowered: None,
            raised: Some((rng.between(300.0, 1500.0), 10.0)),
            shows_waits: true,
            compares_positions: false,
            flushed: None,
            active_ttl: 300,
            keepalive: (45.0, 45.1),
        }
    }

    pub(crate) fn rules(&self) -> LineRules {
        LineRules {
            admissions_per_minute: self.per_minute,
            active_ttl: self.active_ttl,
            protection: Protection::without_pre_tickets(),
            ..LineRules::with_quota(self.quota)
        }
    }

    /// Whether only slots, and no rate, limit admissions.
    pub(crate) fn waits_for_slots(&self) -> bool {
        self.per_minute.is_none_or(|per_minute| per_minute > self.quota)
    }
}
