//! Kinds of on-sales. Everything within a kind is drawn anew for every sale: sizes, times, who comes.

use vestibule_core::line::{LineRules, Mode};

use crate::chance::Chance;

/// A kind of on-sale.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// People come one by one, somewhat more than get in.
    Steady,
    /// All of them come within a minute.
    Burst,
    /// An operator turns the quota up and down while people wait.
    QuotaChanges,
    /// Most shop for a minute or two, some for very long.
    HeavyTails,
    /// Half of those who wait close the page sooner or later.
    ClosedTabs,
    /// `admissions_per_minute` is what people wait for.
    RateLimited,
    /// A third wait on phones that fall asleep.
    Phones,
    /// Requests that keep no cookie join as well, as many as people.
    Robots,
}

/// One on-sale. Times in seconds.
#[derive(Debug, Clone)]
pub(crate) struct Sale {
    pub(crate) quota: u64,
    pub(crate) per_minute: Option<u64>,
    /// When people come.
    pub(crate) arrivals: Vec<f64>,
    /// How long people shop in the mean.
    pub(crate) shopping: f64,
    /// Shape of the log-normal time that they shop.
    pub(crate) spread: f64,
    /// Share of those who close the page while they wait, and the mean time after which they do.
    pub(crate) closed_tabs: (f64, f64),
    /// Share of phones.
    pub(crate) phones: f64,
    /// Requests of robots a second.
    pub(crate) robots: f64,
    /// When the quota becomes what.
    pub(crate) changes: Vec<(f64, u64)>,
}

impl Sale {
    pub(crate) fn of(kind: Kind, chance: &mut Chance) -> Self {
        let quota = chance.between(10.0, 40.0) as u64;
        let shopping = chance.between(100.0, 400.0);
        let pace = quota as f64 / shopping;
        let mut sale = Self {
            quota,
            per_minute: None,
            arrivals: rush(chance, quota, 60.0),
            shopping,
            spread: 0.8,
            closed_tabs: (0.05, 300.0),
            phones: 0.0,
            robots: 0.0,
            changes: Vec::new(),
        };
        match kind {
            Kind::Steady => sale.arrivals = stream(chance, quota, pace),
            Kind::Burst => sale.arrivals = rush(chance, quota, 10.0),
            Kind::QuotaChanges => sale.changes = changes(chance, quota),
            Kind::HeavyTails => sale.spread = 1.1,
            Kind::ClosedTabs => sale.closed_tabs = (0.5, chance.between(100.0, 600.0)),
            Kind::RateLimited => {
                let per_minute = chance.between(10.0, 40.0) as u64;
                (sale.per_minute, sale.quota) = (Some(per_minute), per_minute * 12);
                let crowd = per_minute as f64 * chance.between(8.0, 25.0);
                sale.arrivals = (0..crowd as usize).map(|_| chance.between(0.0, 60.0)).collect();
            }
            Kind::Phones => sale.phones = 0.33,
            Kind::Robots => {
                sale.arrivals = stream(chance, quota, pace);
                sale.robots = pace * chance.between(0.5, 1.5);
            }
        }
        sale
    }

    pub(crate) fn rules(&self) -> LineRules {
        LineRules {
            mode: Mode::Open,
            quota: self.quota,
            admissions_per_minute: self.per_minute,
            waiting_ttl: 180,
            active_ttl: 600,
            claim_ttl: 60,
            hold_ttl: 600,
            max_session: None,
            epoch: 1,
            revision: 1,
        }
    }
}

/// A crowd of several times the quota that comes within `seconds`.
fn rush(chance: &mut Chance, quota: u64, seconds: f64) -> Vec<f64> {
    let crowd = quota as f64 * chance.between(4.0, 15.0);
    (0..crowd as usize).map(|_| chance.between(0.0, seconds)).collect()
}

/// People who come one by one, once the places are taken somewhat faster than they become free.
fn stream(chance: &mut Chance, quota: u64, pace: f64) -> Vec<f64> {
    let (mut at, mut arrivals) = (0.0, Vec::new());
    let every = 1.0 / (pace * chance.between(1.1, 1.6));
    for number in 0..quota * 10 {
        at += chance.exponential(if number < quota { every / 5.0 } else { every });
        arrivals.push(at);
    }
    arrivals
}

/// Up or down by a tenth to four tenths, as likely the one as the other, every few minutes.
fn changes(chance: &mut Chance, quota: u64) -> Vec<(f64, u64)> {
    let mut at = 0.0;
    let mut changes = Vec::new();
    for _ in 0..6 {
        at += chance.between(600.0, 2400.0);
        let factor = chance.between(1.1, 1.4);
        let up = chance.happens(0.5);
        changes.push((at, (quota as f64 * if up { factor } else { 1.0 / factor }) as u64));
    }
    changes
}
