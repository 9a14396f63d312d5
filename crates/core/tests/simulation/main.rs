//! A whole sale in virtual time: a crowd at a door, from the first rush to the last who leaves.
//!
//! `VESTIBULE_SIM_SEEDS` runs more seeds than the ordinary ones, `VESTIBULE_SIM_SEED` a single one; `--nocapture` shows
//! what came out of each.

#[cfg(test)]
mod agenda;
#[cfg(test)]
mod chance;
#[cfg(test)]
mod hall;
#[cfg(test)]
mod report;
#[cfg(test)]
mod scenario;
#[cfg(test)]
mod street;
#[cfg(test)]
mod visitor;

#[cfg(test)]
mod tests {
    use std::env;

    use super::report::{Report, Summary};
    use super::scenario::Scenario;
    use super::street::Street;

    /// Seeds of an ordinary run.
    const SEEDS: u64 = 20;

    fn number(name: &str) -> Option<u64> {
        env::var(name)
            .ok()
            .map(|text| text.parse().unwrap_or_else(|_| panic!("{name} takes a whole number, not {text:?}")))
    }

    fn simulate(closed_tabs: f64) -> Summary {
        let seeds = match number("VESTIBULE_SIM_SEED") {
            Some(seed) => seed..seed + 1,
            None => 0..number("VESTIBULE_SIM_SEEDS").unwrap_or(SEEDS),
        };
        let mut summary = Summary::default();
        for seed in seeds {
            let scenario = Scenario::of(seed, closed_tabs);
            let report: Report = Street::new(seed, scenario.clone()).run();
            println!("seed {seed}, {:.0} % closed tabs: {report}; {scenario:?}", closed_tabs * 100.0);
            report.check(seed);
            summary.add(seed, &report, &scenario);
        }
        println!("{:.0} % closed tabs: {summary}", closed_tabs * 100.0);
        summary
    }

    #[test]
    fn a_sale_is_fair_and_never_too_full_when_all_stay() {
        simulate(0.0).assert_use(0.97);
    }

    #[test]
    fn a_third_of_closed_tabs_leaves_hardly_a_place_empty() {
        simulate(0.3).assert_use(0.97);
    }

    #[test]
    fn nine_closed_tabs_of_ten_leave_few_places_empty() {
        simulate(0.9).assert_use(0.90);
    }
}
