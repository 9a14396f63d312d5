//! A complete sale in virtual time, from the first rush to the last visitor.
//!
//! `VESTIBULE_SIM_SEEDS` sets the number of seeds, `VESTIBULE_SIM_SEED` a single one; `--nocapture`
//! shows the result of each.

// With the attribute, clippy grants the helpers what it grants the tests: to unwrap.
#![cfg(test)]

mod event_queue;
mod observed_line;
mod report;
mod rng;
mod scenario;
mod simulation;
mod visitor;

mod tests {
    use std::env;
    use std::ops::Range;

    use super::report::{Report, Summary};
    use super::scenario::Scenario;
    use super::simulation::Simulation;

    /// Seeds of an ordinary run.
    const SEEDS: u64 = 20;

    fn number(name: &str) -> Option<u64> {
        env::var(name)
            .ok()
            .map(|text| text.parse().unwrap_or_else(|_| panic!("{name} takes a whole number, not {text:?}")))
    }

    fn seeds() -> Range<u64> {
        match number("VESTIBULE_SIM_SEED") {
            Some(seed) => seed..seed + 1,
            None => 0..number("VESTIBULE_SIM_SEEDS").unwrap_or(SEEDS),
        }
    }

    fn simulate(closed_tabs: f64) -> Summary {
        let mut summary = Summary::default();
        for seed in seeds() {
            let scenario = Scenario::of(seed, closed_tabs);
            let report: Report = Simulation::new(seed, scenario.clone()).run();
            println!("seed {seed}, {:.0} % closed tabs: {report}; {scenario:?}", closed_tabs * 100.0);
            report.check(seed);
            summary.add(seed, &report, &scenario);
        }
        println!("{:.0} % closed tabs: {summary}", closed_tabs * 100.0);
        summary
    }

    /// Shoppers whose pages ask every 150 to 200 s, before twenty slots that are all taken when the state is lost.
    #[test]
    fn lost_state_sends_few_active_visitors_back_to_the_line() {
        let (mut evicted, mut sales) = (0, 0);
        for seed in seeds() {
            let report = Simulation::new(seed, Scenario::of_a_loss(seed)).run();
            println!(
                "seed {seed}: {} evicted, at most {} shop at once; {report}",
                report.evicted, report.most_shopping
            );
            report.check(seed);
            let too_low = report.position_too_low;
            assert!(too_low <= 0.01, "a shown position is {too_low:.3} below the rank: VESTIBULE_SIM_SEED={seed}");
            assert!(report.most_shopping <= 23, "{} shop at once: VESTIBULE_SIM_SEED={seed}", report.most_shopping);
            evicted += report.evicted;
            sales += 1;
        }
        let mean = evicted as f64 / f64::from(sales);
        assert!(mean <= 0.1, "{mean} of twenty are evicted in the mean");
    }

    /// The shares of slots that nobody claimed, without and with waits shown, which make far visitors poll less often.
    fn assert_as_many_claim(scenario: impl Fn(u64) -> Scenario) {
        let (mut before, mut after, mut visits) = ((0, 0), (0, 0), (0, 0));
        for seed in seeds() {
            let report = Simulation::new(seed, Scenario { shows_waits: false, ..scenario(seed) }).run();
            report.check(seed);
            (before.0, before.1, visits.0) =
                (before.0 + report.unclaimed, before.1 + report.admitted, visits.0 + report.visits);
            let report = Simulation::new(seed, scenario(seed)).run();
            println!("seed {seed}: {:.4} unclaimed; {report}", report.unclaimed_share());
            report.check(seed);
            (after.0, after.1, visits.1) =
                (after.0 + report.unclaimed, after.1 + report.admitted, visits.1 + report.visits);
        }
        let share = |(unclaimed, admitted): (u64, u64)| unclaimed as f64 / admitted as f64;
        let (before, after) = (share(before), share(after));
        println!("{before:.4} unclaimed without waits shown, {after:.4} with; {} and {} visits", visits.0, visits.1);
        assert!(after <= before + 0.007, "{after:.4} of the slots are not claimed, {before:.4} without waits shown");
        assert!(visits.1 < visits.0, "{visits:?}: those far from the front poll less often");
    }

    #[test]
    fn rare_polls_leave_no_more_slots_unclaimed() {
        assert_as_many_claim(|seed| Scenario::of(seed, 0.9));
    }

    #[test]
    fn ten_times_the_pace_leaves_no_more_slots_unclaimed() {
        assert_as_many_claim(|seed| Scenario::of_ten_times_the_quota(seed, true));
    }

    /// Those who are admitted at once and did not know return to the head.
    #[test]
    fn ten_times_the_slots_at_once_are_assigned_fairly() {
        for seed in seeds() {
            let report = Simulation::new(seed, Scenario::of_ten_times_the_quota(seed, false)).run();
            println!("seed {seed}: {:.4} unclaimed; {report}", report.unclaimed_share());
            report.check(seed);
        }
    }

    #[test]
    fn sale_is_fair_without_over_admission() {
        simulate(0.0).assert_use(0.97);
    }

    #[test]
    fn one_third_of_closed_tabs_leaves_few_empty_slots() {
        simulate(0.3).assert_use(0.97);
    }

    #[test]
    fn nine_tenths_of_closed_tabs_leave_few_empty_slots() {
        simulate(0.9).assert_use(0.90);
    }
}
