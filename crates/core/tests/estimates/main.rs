//! How often the waits that visitors are shown are right: on-sales of many kinds in virtual time, by the rules themselves.
//!
//! docs/estimates.md has what comes out. `VESTIBULE_ESTIMATE_SALES` says how many sales of each kind, `--nocapture` shows
//! the shares.

#[cfg(test)]
mod chance;
#[cfg(test)]
mod kinds;
#[cfg(test)]
mod run;

#[cfg(test)]
mod tests {
    use std::env;

    use super::chance::Chance;
    use super::kinds::{Kind, Sale};
    use super::run::{Run, Shown};

    /// Sales of each kind in an ordinary run: with fewer, the shares stray by more than the bands allow.
    const SALES: u64 = 20;

    fn sales() -> u64 {
        env::var("VESTIBULE_ESTIMATE_SALES").map_or(SALES, |text| text.parse().expect("a number of sales"))
    }

    /// Every range that was shown in sales of this kind, to those who stayed.
    fn shown(kind: Kind) -> Vec<Shown> {
        let of = |seed: u64| {
            let mut chance = Chance::of(seed * 100 + kind as u64);
            let sale = Sale::of(kind, &mut chance);
            Run::new(sale, chance).run()
        };
        (0..sales()).flat_map(of).collect()
    }

    fn share(shown: &[Shown], is: impl Fn(&Shown) -> bool) -> f64 {
        shown.iter().filter(|shown| is(shown)).count() as f64 / shown.len() as f64
    }

    /// What all but a share of the medians jump by at most.
    fn jump(shown: &[Shown], but: f64) -> f64 {
        let mut jumps: Vec<f64> = shown.iter().filter_map(|shown| shown.jump).collect();
        jumps.sort_by(f64::total_cmp);
        jumps[(jumps.len() as f64 * (1.0 - but)) as usize]
    }

    /// The true wait lies below the median in 45 to 55 of 100 cases, and below the 0.9-quantile in 85 to 95. What is shown
    /// does not jump either: 19 of 20 medians are within a quarter of what the one before let expect.
    fn holds(kind: Kind) {
        let shown = shown(kind);
        let below_p50 = share(&shown, |shown| shown.took <= shown.range.p50 as f64);
        let below_p90 = share(&shown, |shown| shown.took <= shown.range.p90 as f64);
        let (of, jump) = (shown.len(), jump(&shown, 0.05));
        println!("{kind:?} | {of} | {below_p50:.3} | {below_p90:.3} | {jump:.3}");
        assert!(of > 10_000, "{kind:?}: hardly any range was shown");
        assert!((0.45..=0.55).contains(&below_p50), "{kind:?}: {below_p50:.3} of the waits lie below p50");
        assert!((0.85..=0.95).contains(&below_p90), "{kind:?}: {below_p90:.3} of the waits lie below p90");
        assert!(jump < 0.25, "{kind:?}: one of 20 medians jumps by {jump:.3}");
    }

    macro_rules! kinds {
        ($($name:ident: $kind:ident,)+) => {
            $(#[test]
            fn $name() {
                holds(Kind::$kind);
            })+
        };
    }

    kinds! {
        the_range_holds_where_people_come_one_by_one: Steady,
        the_range_holds_where_all_come_at_once: Burst,
        the_range_holds_while_the_quota_is_turned_up_and_down: QuotaChanges,
        the_range_holds_where_some_shop_for_very_long: HeavyTails,
        the_range_holds_where_half_close_the_page: ClosedTabs,
        the_range_holds_where_a_rate_is_the_limit: RateLimited,
        the_range_holds_where_phones_fall_asleep: Phones,
        the_range_holds_among_robots: Robots,
    }
}
