//! Kinds of on-sales. Within a kind, each sale draws its own sizes, times and visitors.

use vestibule_core::line::LineRules;
use vestibule_core::settings::Protection;

use crate::rng::Rng;

/// A kind of on-sale.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// Steady arrivals, somewhat faster than admissions.
    Steady,
    /// All visitors arrive within ten seconds.
    Burst,
    /// An operator changes the quota while visitors wait.
    QuotaChanges,
    /// Most visitors shop for a minute or two, some for very long.
    HeavyTails,
    /// Half of the waiting visitors close the page at some time.
    ClosedTabs,
    /// The line is limited by `admissions_per_minute`.
    RateLimited,
    /// A third of the visitors wait on phones that sleep.
    Phones,
    /// Clients without cookies join as well, up to one and a half times as many as visitors.
    Robots,
    /// A burst and a ramp before many slots with half-minute visits, as in rehearsals.
    Flash,
    /// A third to two thirds of the visitors close the site without a signal; the others leave soon.
    Silent,
    /// All visitors arrive within ten seconds and join with a pre-ticket, as by default.
    TwoSteps,
    /// Visits that are short for their `active_ttl`, once the line moved for two minutes; hardly anybody closes the site
    /// without a signal.
    ShortVisits,
}

/// Behavior of the visitors. Times in seconds.
#[derive(Debug, Clone)]
pub(crate) struct Behavior {
    /// Mean shopping time.
    pub(crate) shopping: f64,
    /// Shape of the log-normal shopping time.
    pub(crate) spread: f64,
    /// Share of visitors who close the site without a signal, so that their slots expire.
    pub(crate) silent: f64,
    /// Share of waiting visitors who close the page, and the mean time until they do.
    pub(crate) closed_tabs: (f64, f64),
    /// Share of them who return, and the mean time until they do.
    pub(crate) come_back: (f64, f64),
    /// Share of phones.
    pub(crate) phones: f64,
    /// Mean time for which a phone is awake, and the longest sleep.
    pub(crate) awake: (f64, f64),
    /// Robot requests per second.
    pub(crate) robots: f64,
}

/// One on-sale. Times in seconds.
#[derive(Debug, Clone)]
pub(crate) struct Sale {
    pub(crate) rules: LineRules,
    /// Arrival times.
    pub(crate) arrivals: Vec<f64>,
    pub(crate) behavior: Behavior,
    /// Times and values of quota changes.
    pub(crate) changes: Vec<(f64, u64)>,
    /// When ranges begin to count.
    pub(crate) counts_from: f64,
}

/// The rules of a queue in which every first visit joins.
fn rules_of(quota: u64) -> LineRules {
    LineRules { protection: Protection::without_pre_tickets(), ..LineRules::with_quota(quota) }
}

/// A third close the site silently, and a few the page in line.
fn behavior() -> Behavior {
    Behavior {
        shopping: 200.0,
        spread: 0.8,
        silent: 0.33,
        closed_tabs: (0.05, 300.0),
        come_back: (0.0, 60.0),
        phones: 0.0,
        awake: (400.0, 300.0),
        robots: 0.0,
    }
}

impl Sale {
    pub(crate) fn of(kind: Kind, rng: &mut Rng) -> Self {
        match kind {
            Kind::Flash => flash(rng),
            Kind::Silent => silent(rng),
            Kind::ShortVisits => short_visits(rng),
            _ => slow(kind, rng),
        }
    }
}

fn slow(kind: Kind, rng: &mut Rng) -> Sale {
    let quota = rng.between(10.0, 40.0) as u64;
    let shopping = rng.between(100.0, 400.0);
    let pace = quota as f64 / shopping;
    let mut sale = Sale {
        rules: LineRules { waiting_ttl: 180, active_ttl: 600, claim_ttl: 60, ..rules_of(quota) },
        arrivals: rush(rng, quota, 60.0),
        behavior: Behavior { shopping, ..behavior() },
        changes: Vec::new(),
        counts_from: 0.0,
    };
    match kind {
        Kind::Steady => sale.arrivals = stream(rng, quota, pace),
        Kind::Burst => sale.arrivals = rush(rng, quota, 10.0),
        Kind::QuotaChanges => sale.changes = changes(rng, quota),
        Kind::HeavyTails => sale.behavior.spread = 1.1,
        Kind::ClosedTabs => sale.behavior.closed_tabs = (0.5, rng.between(100.0, 600.0)),
        Kind::RateLimited => {
            let per_minute = rng.between(10.0, 40.0) as u64;
            (sale.rules.admissions_per_minute, sale.rules.quota) = (Some(per_minute), per_minute * 12);
            let visitors = per_minute as f64 * rng.between(8.0, 25.0);
            sale.arrivals = (0..visitors as usize).map(|_| rng.between(0.0, 60.0)).collect();
        }
        Kind::Phones => sale.behavior.phones = 0.33,
        Kind::Robots => {
            sale.arrivals = stream(rng, quota, pace);
            sale.behavior.robots = pace * rng.between(0.5, 1.5);
        }
        Kind::TwoSteps => {
            sale.arrivals = rush(rng, quota, 10.0);
            sale.rules.protection = Protection::default();
        }
        Kind::Flash | Kind::Silent | Kind::ShortVisits => {}
    }
    sale
}

/// Many slots, short visits, and the visitor behavior of a rehearsal.
fn flash(rng: &mut Rng) -> Sale {
    let quota = rng.between(100.0, 300.0) as u64;
    let visitors = quota as f64 * rng.between(4.0, 10.0);
    let (burst, ramp) = (rng.between(30.0, 180.0), rng.between(60.0, 300.0));
    let early = rng.between(0.4, 1.0);
    let comes = |rng: &mut Rng| {
        // Cubed, half of the shares are below an eighth of the time.
        if rng.happens(early) { burst * rng.between(0.0, 1.0).powi(3) } else { ramp * rng.between(0.0, 1.0).sqrt() }
    };
    Sale {
        rules: LineRules { active_ttl: rng.between(120.0, 300.0) as u64, ..rules_of(quota) },
        arrivals: (0..visitors as usize).map(|_| comes(rng)).collect(),
        behavior: Behavior {
            shopping: rng.between(20.0, 60.0),
            spread: 0.8,
            silent: rng.between(0.0, 0.3),
            closed_tabs: (0.05, 120.0),
            come_back: (0.5, 60.0),
            phones: 0.05,
            awake: (120.0, 90.0),
            robots: 0.0,
        },
        changes: Vec::new(),
        counts_from: 0.0,
    }
}

/// Slots that mostly expire.
fn silent(rng: &mut Rng) -> Sale {
    let quota = rng.between(30.0, 150.0) as u64;
    let visitors = quota as f64 * rng.between(4.0, 10.0);
    let seconds = rng.between(10.0, 200.0);
    Sale {
        rules: LineRules { active_ttl: rng.between(120.0, 600.0) as u64, ..rules_of(quota) },
        arrivals: (0..visitors as usize).map(|_| rng.between(0.0, seconds)).collect(),
        behavior: Behavior { shopping: rng.between(30.0, 120.0), silent: rng.between(0.33, 0.67), ..behavior() },
        changes: Vec::new(),
        counts_from: 0.0,
    }
}

/// A small shop with short visits and a long `active_ttl`.
fn short_visits(rng: &mut Rng) -> Sale {
    let quota = rng.between(4.0, 60.0) as u64;
    let shopping = rng.between(5.0, 30.0);
    let visitors = quota as f64 / shopping * rng.between(200.0, 900.0);
    Sale {
        rules: LineRules { waiting_ttl: 180, active_ttl: 600, claim_ttl: 60, ..rules_of(quota) },
        arrivals: (0..visitors as usize).map(|_| rng.between(0.0, 30.0)).collect(),
        behavior: Behavior { shopping, silent: rng.between(0.0, 0.02), ..behavior() },
        changes: Vec::new(),
        counts_from: 120.0,
    }
}

/// Arrivals of several times the quota within `seconds`.
fn rush(rng: &mut Rng, quota: u64, seconds: f64) -> Vec<f64> {
    let visitors = quota as f64 * rng.between(4.0, 15.0);
    (0..visitors as usize).map(|_| rng.between(0.0, seconds)).collect()
}

/// Arrivals that, once all slots are taken, are somewhat faster than slots become free.
fn stream(rng: &mut Rng, quota: u64, pace: f64) -> Vec<f64> {
    let (mut at, mut arrivals) = (0.0, Vec::new());
    let every = 1.0 / (pace * rng.between(1.1, 1.6));
    for number in 0..quota * 10 {
        at += rng.exponential(if number < quota { every / 5.0 } else { every });
        arrivals.push(at);
    }
    arrivals
}

/// Quota changes of 10 to 40 % up or down, equally likely, every few minutes.
fn changes(rng: &mut Rng, quota: u64) -> Vec<(f64, u64)> {
    let mut at = 0.0;
    let mut changes = Vec::new();
    for _ in 0..6 {
        at += rng.between(600.0, 2400.0);
        let share = rng.between(0.1, 0.4);
        let up = rng.happens(0.5);
        changes.push((at, (quota as f64 * if up { 1.0 + share } else { 1.0 - share }) as u64));
    }
    changes
}
