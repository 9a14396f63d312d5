//! How the crowd behaves: seeded decisions, without clock or I/O.

use std::ops::Range;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

/// What is usual in a crowd; times in seconds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Habits {
    /// Within how long those come who want in from the start.
    pub(super) arrival: f64,
    /// How long somebody shops.
    pub(super) shopping: Range<f64>,
    /// How long somebody who was in the shop stays away before coming again.
    pub(super) pause: Range<f64>,
    /// How long somebody waits who then closes the queue page.
    pub(super) patience: Range<f64>,
    /// How long the page stays closed of those who open it again.
    pub(super) absence: Range<f64>,
    /// Share of visitors that close the queue page at some time; two of three of them open it again.
    pub(super) closes_page: f64,
    /// Share of shoppers that close the shop without leaving it.
    pub(super) closes_shop: f64,
}

impl Default for Habits {
    fn default() -> Self {
        Self {
            arrival: 3.0,
            shopping: 5.0..25.0,
            pause: 20.0..55.0,
            patience: 5.0..40.0,
            absence: 4.0..15.0,
            closes_page: 0.12,
            closes_shop: 0.04,
        }
    }
}

/// How somebody's wait goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Patience {
    /// StayCounts until let in.
    StayCounts,
    /// Closes the page after a while, and opens it again later: the ticket holds the place.
    LooksAway { after: Duration, during: Duration },
    /// Closes the page after a while, and that is it.
    GivesUp { after: Duration },
}

/// What somebody does with the place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// Buys, and leaves by the button.
    Buys,
    /// Leaves by the button without buying.
    Leaves,
    /// Closes the page: the place is free once it lapses.
    Closes,
}

/// One visit, decided ahead.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Plan {
    pub(super) patience: Patience,
    pub(super) shopping: Duration,
    pub(super) ending: Ending,
    /// Time after the visit before the next one.
    pub(super) pause: Duration,
}

impl Habits {
    /// Mean time in seconds for which a place is taken, when one that was closed lapses after `lapse`.
    pub(super) fn mean_stay(&self, lapse: f64) -> f64 {
        let shopping = self.shopping.start + (self.shopping.end - self.shopping.start) * SHORT_MEAN;
        CLAIM + shopping + self.closes_shop * (lapse - shopping / 2.0)
    }

    /// Share of those outside of the shop that are elsewhere, and not in line, while the line is as long as it stays.
    pub(super) fn share_elsewhere(&self, crowd: u64, quota: u64, lapse: f64) -> f64 {
        let elsewhere = quota as f64 * f64::midpoint(self.pause.start, self.pause.end) / self.mean_stay(lapse);
        (elsewhere / crowd.saturating_sub(quota).max(1) as f64).min(1.0)
    }

    /// How long a newcomer waits behind a crowd: who is neither in the shop nor elsewhere stands in line, and the line
    /// moves by `quota` places in each mean stay.
    pub(super) fn expected_wait(&self, crowd: u64, quota: u64, lapse: f64) -> Duration {
        let in_line = crowd.saturating_sub(quota) as f64 * (1.0 - self.share_elsewhere(crowd, quota, lapse));
        Duration::from_secs_f64(in_line * self.mean_stay(lapse) / quota.max(1) as f64)
    }
}

/// Mean of the share of the range of shopping times that [`Mind::plan`] draws: that of the cube of a uniform number.
const SHORT_MEAN: f64 = 0.25;
/// Seconds from being let in to hearing of it, on average: half the time between two polls near the front.
const CLAIM: f64 = 1.0;

/// Decides for one visitor.
pub(super) struct Mind {
    habits: Habits,
    random: SmallRng,
}

impl Mind {
    /// The mind of the visitor of this number in a crowd of this seed.
    pub(super) fn new(habits: Habits, seed: u64, number: u64) -> Self {
        // Numbers of one crowd must not run into the seeds of the next: a generator of their own spreads them.
        let spread: u64 = SmallRng::seed_from_u64(seed).random();
        Self { habits, random: SmallRng::seed_from_u64(spread.wrapping_add(number)) }
    }

    /// When the visitor comes first. This share of the crowd comes later, as if it had been there before.
    pub(super) fn first_arrival(&mut self, share_elsewhere: f64) -> Duration {
        let latest = if self.chance(share_elsewhere) { self.habits.pause.end } else { self.habits.arrival };
        self.within(&(0.0..latest))
    }

    /// What a visitor does who is in the shop from the start: is in the middle of it, so that not all leave together.
    pub(super) fn plan_under_way(&mut self) -> Plan {
        let plan = self.plan();
        Plan { shopping: plan.shopping.mul_f64(self.random.random()), ..plan }
    }

    /// What the visitor does next.
    pub(super) fn plan(&mut self) -> Plan {
        let patience = if self.chance(self.habits.closes_page) { self.closes_page() } else { Patience::StayCounts };
        let ending = match self.random.random::<f64>() {
            drawn if drawn < self.habits.closes_shop => Ending::Closes,
            drawn if drawn < 0.6 => Ending::Buys,
            _ => Ending::Leaves,
        };
        // Most are quick and a few take their time.
        let share = self.random.random::<f64>().powi(3);
        let shopping = self.habits.shopping.start + (self.habits.shopping.end - self.habits.shopping.start) * share;
        let pause = self.within(&self.habits.pause.clone());
        Plan { patience, shopping: Duration::from_secs_f64(shopping), ending, pause }
    }

    fn closes_page(&mut self) -> Patience {
        let after = self.within(&self.habits.patience.clone());
        let during = self.within(&self.habits.absence.clone());
        if self.chance(2.0 / 3.0) { Patience::LooksAway { after, during } } else { Patience::GivesUp { after } }
    }

    fn chance(&mut self, share: f64) -> bool {
        self.random.random::<f64>() < share
    }

    fn within(&mut self, range: &Range<f64>) -> Duration {
        let share = self.random.random::<f64>();
        Duration::from_secs_f64(range.start + (range.end - range.start) * share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plans(seed: u64, count: u64) -> Vec<Plan> {
        (0..count).map(|number| Mind::new(Habits::default(), seed, number).plan()).collect()
    }

    #[test]
    fn a_crowd_of_one_seed_does_the_same_again() {
        assert_eq!(plans(1, 50), plans(1, 50));
        assert_ne!(plans(1, 50), plans(2, 50));
        assert_ne!(plans(1, 50)[1..], plans(2, 50)[..49], "nor is one crowd the next one, a visitor later");
    }

    #[test]
    fn most_wait_and_leave_and_a_few_just_close_the_page() {
        let plans = plans(7, 4000);
        let share = |of: &dyn Fn(&Plan) -> bool| plans.iter().filter(|plan| of(plan)).count() as f64 / 4000.0;
        assert!((0.85..0.91).contains(&share(&|plan| plan.patience == Patience::StayCounts)));
        assert!((0.02..0.06).contains(&share(&|plan| plan.ending == Ending::Closes)));
        assert!((0.02..0.06).contains(&share(&|plan| matches!(plan.patience, Patience::GivesUp { .. }))));
        assert!(plans.iter().all(|plan| (5..=25).contains(&plan.shopping.as_secs())));
        let stay = plans.iter().map(|plan| plan.shopping.as_secs_f64()).sum::<f64>() / 4000.0;
        assert!((9.5..10.5).contains(&stay), "{stay}");
    }

    #[test]
    fn all_come_within_seconds_but_those_who_are_elsewhere() {
        let first = |number| Mind::new(Habits::default(), 3, number).first_arrival(0.25).as_secs_f64();
        let early = (0..4000).filter(|number| first(*number) < 3.0).count() as f64 / 4000.0;
        assert!((0.73..0.80).contains(&early), "{early}");
    }

    #[test]
    fn a_newcomer_to_the_usual_demo_waits_about_a_minute() {
        let wait = |crowd, quota| Habits::default().expected_wait(crowd, quota, 30.0).as_secs();
        assert!((45..=90).contains(&wait(200, 20)), "{}", wait(200, 20));
        assert_eq!(wait(0, 20), 0);
        assert_eq!(wait(20, 20), 0);
        assert!(wait(200, 1) > 1500);
    }
}
