//! What another quota would do to the line.

use vestibule_core::WaitSeconds;
use vestibule_core::line::{Flow, LineRules, Mode, Stats};

use crate::{WaitRange, estimate_wait};

/// What a queue would do with another quota, if nobody else joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaForecast {
    /// Waiting visitors who would be admitted at once. A rate admits nobody at once.
    pub admitted_now: u64,
    /// The wait until the last one who waits now is admitted, zero if nobody waits; `None` if there is no estimate, as
    /// with a quota of 0.
    pub last_wait: Option<WaitSeconds>,
}

/// The forecast for this quota and this many waiting visitors. While nobody is admitted, it presumes that the queue opens now.
pub fn quota_forecast(stats: &Stats, waiting: u64, quota: u64) -> QuotaForecast {
    let mode = if stats.mode.admits() { stats.mode } else { Mode::Open };
    let before = stats.rules.in_mode(mode);
    let rules = LineRules { quota, ..before.clone() };
    // While a lost state is restored, nobody is admitted, and slots are reserved for visitors who return.
    let is_held = rules.admissions_per_minute.is_some() || stats.recovering;
    let free = if is_held { 0 } else { quota.saturating_sub(stats.active + stats.reserved) };
    let admitted_now = free.min(waiting);
    let flow = Flow {
        waiting: waiting - admitted_now,
        active: stats.active + admitted_now,
        pace: stats.pace.under(before.quota, quota),
    };
    let last_wait = match flow.waiting {
        0 => Some(WaitSeconds { p50: 0, p90: 0 }),
        last => estimate_wait(&rules, &flow, stats.now, last).map(WaitRange::seconds),
    };
    QuotaForecast { admitted_now, last_wait }
}
