//! The workload of the demo.

use std::time::Duration;

use vestibule_workload::{Arrivals, Behavior, Shopping, Workload};

use super::queue::ACTIVE_TTL;

/// Time on the site, in seconds.
const SHOPPING: (f64, f64) = (5.0, 15.0);
/// Time until visitors come back after they have left, in seconds.
const PAUSE: (f64, f64) = (20.0, 55.0);
/// Seconds in which all visitors arrive.
const ARRIVALS: f64 = 3.0;
/// Mean delay until a visitor learns of the admission and opens the site, in seconds.
const ENTRY_DELAY: f64 = 2.5;
/// Share of visitors who leave with the button; the slots of the others are free after `active_ttl`.
const LEAVE_SHARE: f64 = 0.96;

/// The virtual visitors, who come back again and again.
pub(super) fn workload(visitors: u32, seed: u64) -> Workload {
    let behavior = Behavior {
        shopping: Shopping::Uniform(SHOPPING.0, SHOPPING.1),
        leave: LEAVE_SHARE,
        close: 0.12,
        patience: 20.0,
        come_back: 2.0 / 3.0,
        away: 10.0,
        sleep: 0.0,
        reload: 0.02,
        second_tab: 0.02,
        ..Behavior::default()
    };
    Workload {
        visitors,
        arrivals: Arrivals::Steady(ARRIVALS),
        behavior,
        seed,
        repeat: Some(PAUSE),
        hostile: Vec::new(),
    }
}

/// The approximate wait of a visitor who arrives when all virtual visitors have just come and are waiting or active.
pub(super) fn approximate_wait(visitors: u32, quota: u64) -> Duration {
    let (visitors, quota) = (f64::from(visitors), quota.max(1) as f64);
    let shopping = f64::midpoint(SHOPPING.0, SHOPPING.1);
    let session = ENTRY_DELAY + shopping + (1.0 - LEAVE_SHARE) * ACTIVE_TTL as f64;
    Duration::from_secs_f64((visitors - quota).max(0.0) * session / quota)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_of_the_default_demo_is_about_two_minutes() {
        let wait = |visitors, quota| approximate_wait(visitors, quota).as_secs();
        assert!((90..150).contains(&wait(200, 20)), "{}", wait(200, 20));
        assert_eq!(wait(0, 20), 0);
        assert_eq!(wait(20, 20), 0);
        assert!(wait(200, 1) > 1500);
    }
}
