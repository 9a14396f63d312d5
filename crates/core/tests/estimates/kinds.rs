//! Kinds of on-sales. Everything within a kind is drawn anew for every sale: sizes, times, who comes.

use vestibule_core::line::{LineRules, Mode};

use crate::chance::Chance;

/// A kind of on-sale.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// People come one by one, somewhat more than get in.
    Steady,
    /// All of them come within ten seconds.
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
    /// Requests that keep no cookie join as well, up to one and a half as many as people.
    Robots,
    /// A burst and a ramp before many places, in which people shop for half a minute: what rehearsals play.
    Flash,
    /// A third to two thirds close the shop without a word, and the others are quick.
    Silent,
}

/// What people in a crowd do. Times in seconds.
#[derive(Debug, Clone)]
pub(crate) struct Habits {
    /// How long people shop in the mean.
    pub(crate) shopping: f64,
    /// Shape of the log-normal time that they shop.
    pub(crate) spread: f64,
    /// Share of those who close the shop without a word, so that their places lapse.
    pub(crate) silent: f64,
    /// Share of those who close the page while they wait, and the mean time after which they do.
    pub(crate) closed_tabs: (f64, f64),
    /// Share of them who come back, and the mean time after which they do.
    pub(crate) come_back: (f64, f64),
    /// Share of phones.
    pub(crate) phones: f64,
    /// Mean time for which a phone is awake, and the longest for which it then sleeps.
    pub(crate) awake: (f64, f64),
    /// Requests of robots a second.
    pub(crate) robots: f64,
}

/// One on-sale. Times in seconds.
#[derive(Debug, Clone)]
pub(crate) struct Sale {
    pub(crate) rules: LineRules,
    /// When people come.
    pub(crate) arrivals: Vec<f64>,
    pub(crate) habits: Habits,
    /// When the quota becomes what.
    pub(crate) changes: Vec<(f64, u64)>,
}

impl Sale {
    pub(crate) fn of(kind: Kind, chance: &mut Chance) -> Self {
        match kind {
            Kind::Flash => flash(chance),
            Kind::Silent => silent(chance),
            _ => slow(kind, chance),
        }
    }
}

fn slow(kind: Kind, chance: &mut Chance) -> Sale {
    let quota = chance.between(10.0, 40.0) as u64;
    let shopping = chance.between(100.0, 400.0);
    let pace = quota as f64 / shopping;
    let mut sale = Sale {
        rules: LineRules { waiting_ttl: 180, active_ttl: 600, claim_ttl: 60, ..rules(quota) },
        arrivals: rush(chance, quota, 60.0),
        habits: Habits {
            shopping,
            spread: 0.8,
            silent: 0.33,
            closed_tabs: (0.05, 300.0),
            come_back: (0.0, 60.0),
            phones: 0.0,
            awake: (400.0, 300.0),
            robots: 0.0,
        },
        changes: Vec::new(),
    };
    match kind {
        Kind::Steady => sale.arrivals = stream(chance, quota, pace),
        Kind::Burst => sale.arrivals = rush(chance, quota, 10.0),
        Kind::QuotaChanges => sale.changes = changes(chance, quota),
        Kind::HeavyTails => sale.habits.spread = 1.1,
        Kind::ClosedTabs => sale.habits.closed_tabs = (0.5, chance.between(100.0, 600.0)),
        Kind::RateLimited => {
            let per_minute = chance.between(10.0, 40.0) as u64;
            (sale.rules.admissions_per_minute, sale.rules.quota) = (Some(per_minute), per_minute * 12);
            let crowd = per_minute as f64 * chance.between(8.0, 25.0);
            sale.arrivals = (0..crowd as usize).map(|_| chance.between(0.0, 60.0)).collect();
        }
        Kind::Phones => sale.habits.phones = 0.33,
        Kind::Robots => {
            sale.arrivals = stream(chance, quota, pace);
            sale.habits.robots = pace * chance.between(0.5, 1.5);
        }
        Kind::Flash | Kind::Silent => {}
    }
    sale
}

/// Many places, short visits, and the habits that a rehearsal plays.
fn flash(chance: &mut Chance) -> Sale {
    let quota = chance.between(100.0, 300.0) as u64;
    let crowd = quota as f64 * chance.between(4.0, 10.0);
    let (burst, ramp) = (chance.between(30.0, 180.0), chance.between(60.0, 300.0));
    let early = chance.between(0.4, 1.0);
    let comes = |chance: &mut Chance| {
        // Cubed, half of the shares are below an eighth of the time.
        if chance.happens(early) {
            burst * chance.between(0.0, 1.0).powi(3)
        } else {
            ramp * chance.between(0.0, 1.0).sqrt()
        }
    };
    Sale {
        rules: LineRules { active_ttl: chance.between(120.0, 300.0) as u64, ..rules(quota) },
        arrivals: (0..crowd as usize).map(|_| comes(chance)).collect(),
        habits: Habits {
            shopping: chance.between(20.0, 60.0),
            spread: 0.8,
            silent: chance.between(0.0, 0.3),
            closed_tabs: (0.05, 120.0),
            come_back: (0.5, 60.0),
            phones: 0.05,
            awake: (120.0, 90.0),
            robots: 0.0,
        },
        changes: Vec::new(),
    }
}

/// Places that lapse rather than become free.
fn silent(chance: &mut Chance) -> Sale {
    let quota = chance.between(30.0, 150.0) as u64;
    let crowd = quota as f64 * chance.between(4.0, 10.0);
    let seconds = chance.between(10.0, 200.0);
    Sale {
        rules: LineRules { active_ttl: chance.between(120.0, 600.0) as u64, ..rules(quota) },
        arrivals: (0..crowd as usize).map(|_| chance.between(0.0, seconds)).collect(),
        habits: Habits {
            shopping: chance.between(30.0, 120.0),
            spread: 0.8,
            silent: chance.between(0.33, 0.67),
            closed_tabs: (0.05, 300.0),
            come_back: (0.0, 60.0),
            phones: 0.0,
            awake: (400.0, 300.0),
            robots: 0.0,
        },
        changes: Vec::new(),
    }
}

fn rules(quota: u64) -> LineRules {
    LineRules {
        mode: Mode::Open,
        quota,
        admissions_per_minute: None,
        waiting_ttl: 60,
        active_ttl: 600,
        claim_ttl: 30,
        hold_ttl: 600,
        max_session: None,
        credential_ttl: 2,
        epoch: 1,
        revision: 1,
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
        let share = chance.between(0.1, 0.4);
        let up = chance.happens(0.5);
        changes.push((at, (quota as f64 * if up { 1.0 + share } else { 1.0 - share }) as u64));
    }
    changes
}
