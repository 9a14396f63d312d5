//! exploration
#[cfg(test)]
mod chance;
#[cfg(test)]
mod kinds;
#[cfg(test)]
mod run;

#[cfg(test)]
mod tests {
    use super::chance::Chance;
    use super::kinds::{Kind, Sale};
    use super::run::Run;
    use std::fmt::Write as _;

    fn dump(kind: Kind) {
        let seeds: u64 = std::env::var("SEEDS").map_or(8, |s| s.parse().unwrap());
        let mut out = String::new();
        let (mut n, mut a, mut b) = (0, 0, 0);
        for seed in 0..seeds {
            let mut chance = Chance::of(seed * 100 + kind as u64);
            let sale = Sale::of(kind, &mut chance);
            writeln!(out, "# {seed} {} {} {}", sale.quota, sale.per_minute.unwrap_or(0), sale.shopping).unwrap();
            for (at, q) in &sale.changes {
                writeln!(out, "Q {at} {q}").unwrap();
            }
            let (shown, log) = Run::new(sale, chance).run();
            for s in shown {
                n += 1;
                a += u64::from(s.took <= s.range.p50 as f64);
                b += u64::from(s.took <= s.range.p90 as f64);
            }
            for l in log {
                writeln!(out, "{l}").unwrap();
            }
        }
        println!("{kind:?}: {n} p50 {:.3} p90 {:.3}", a as f64 / n as f64, b as f64 / n as f64);
        std::fs::write(format!("/tmp/est-{kind:?}.txt"), out).unwrap();
    }
    #[test]
    fn steady() {
        dump(Kind::Steady)
    }
    #[test]
    fn burst() {
        dump(Kind::Burst)
    }
    #[test]
    fn quota() {
        dump(Kind::QuotaChanges)
    }
    #[test]
    fn heavy() {
        dump(Kind::HeavyTails)
    }
    #[test]
    fn tabs() {
        dump(Kind::ClosedTabs)
    }
    #[test]
    fn rate() {
        dump(Kind::RateLimited)
    }
    #[test]
    fn phones() {
        dump(Kind::Phones)
    }
    #[test]
    fn robots() {
        dump(Kind::Robots)
    }
}
