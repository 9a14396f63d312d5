//! A workload: the number, arrivals and behavior of virtual visitors.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::arrivals::Arrivals;
use crate::hostile::{Hostile, HostilePlan, ProofPolicy};
use crate::rng::Rng;
use crate::sim_time::SimTime;
use crate::visitor_kind::VisitorKind;

/// The valid shopping times, for error messages.
pub const SHOPPING_EXPECTED: &str =
    "must be fixed:SECONDS, uniform:FROM..TO, exponential:MEAN or lognormal:MEAN, in seconds; a mean is more than 0";

/// Seconds that clients of a replay stay on the site: longer than runs last.
const REPLAYERS_STAY: f64 = 172_800.0;

/// A workload. The seed determines all random choices.
#[derive(Debug, Clone)]
pub struct Workload {
    /// Number of virtual visitors.
    pub visitors: u32,
    /// Their arrivals.
    pub arrivals: Arrivals,
    /// Their behavior.
    pub behavior: Behavior,
    /// The random seed.
    pub seed: u64,
    /// If visitors come back as new visitors after they have left: the range of the pause, in seconds. A run then ends by
    /// its limits only.
    pub repeat: Option<(f64, f64)>,
    /// Hostile clients, who come beside the visitors.
    pub hostile: Vec<Hostile>,
}

/// The behavior of visitors. Shares are from 0 to 1, times in seconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Behavior {
    /// Time on the site.
    #[serde(serialize_with = "as_text")]
    pub shopping: Shopping,
    /// Number of pages per visit, at least 1.
    pub pages: u32,
    /// Whether the site embeds the keepalive script.
    pub keepalive: bool,
    /// Share of visitors who leave with a request; the others close the page.
    pub leave: f64,
    /// Share of visitors who close the queue page while they wait.
    pub close: f64,
    /// Mean time until they close it.
    pub patience: f64,
    /// Share of them whose browser sends the away beacon.
    pub beacon: f64,
    /// Share of them who return.
    pub come_back: f64,
    /// Mean time until they return.
    pub away: f64,
    /// Share of visitors whose phone sleeps while they wait.
    pub sleep: f64,
    /// Mean time until a phone sleeps.
    pub awake: f64,
    /// Maximum time that a phone sleeps.
    pub asleep: f64,
    /// Share of visitors who reload the queue page.
    pub reload: f64,
    /// Mean time between reloads.
    pub reload_every: f64,
    /// Share of visitors with two tabs.
    pub second_tab: f64,
    /// Share of bots without cookies.
    pub bots: f64,
    /// Mean time between requests of a bot.
    pub bots_every: f64,
    /// Share of visitors whose script ignores `poll_after`.
    pub flood: f64,
    /// Time from a response to the next request of such a script.
    pub flood_every: f64,
    /// Share of visitors with one tab whose page listens to a stream instead of polling.
    pub streams: f64,
}

impl Default for Behavior {
    fn default() -> Self {
        Self {
            shopping: Shopping::LogNormal(180.0),
            pages: 3,
            keepalive: true,
            leave: 0.7,
            close: 0.05,
            patience: 300.0,
            beacon: 0.7,
            come_back: 0.5,
            away: 60.0,
            sleep: 0.05,
            awake: 300.0,
            asleep: 120.0,
            reload: 0.03,
            reload_every: 60.0,
            second_tab: 0.05,
            bots: 0.0,
            bots_every: 10.0,
            flood: 0.0,
            flood_every: 0.3,
            streams: 0.0,
        }
    }
}

impl Behavior {
    /// All visitors wait, shop and leave.
    pub fn patient(shopping: Shopping) -> Self {
        let none = Self { leave: 1.0, close: 0.0, sleep: 0.0, reload: 0.0, second_tab: 0.0, ..Self::default() };
        Self { shopping, ..none }
    }
}

fn as_text<S: serde::Serializer>(shopping: &Shopping, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(shopping)
}

/// The distribution of the time on the site, in seconds.
#[derive(Debug, Clone, PartialEq)]
pub enum Shopping {
    /// The same for all.
    Fixed(f64),
    /// Evenly distributed between two times.
    Uniform(f64, f64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Log-normal with this mean: most are short and a few are very long.
    LogNormal(f64),
}

impl Shopping {
    fn draw(&self, rng: &mut Rng) -> f64 {
        match self {
            Self::Fixed(seconds) => *seconds,
            Self::Uniform(min, most) => rng.between(*min, *most),
            Self::Exponential(mean) => rng.exponential(*mean),
            Self::LogNormal(mean) => rng.log_normal(*mean),
        }
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Fixed(mean) | Self::Exponential(mean) | Self::LogNormal(mean) => *mean,
            Self::Uniform(min, most) => f64::midpoint(*min, *most),
        }
    }
}

impl FromStr for Shopping {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || SHOPPING_EXPECTED.to_owned();
        let seconds = |text: &str| -> Result<f64, String> {
            let number: f64 = text.trim_end_matches('s').parse().map_err(|_| expected())?;
            if (0.0..=86_400.0).contains(&number) { Ok(number) } else { Err(expected()) }
        };
        let mean = |text: &str| seconds(text).and_then(|mean| if mean > 0.0 { Ok(mean) } else { Err(expected()) });
        let Some((kind, rest)) = text.split_once(':') else { return seconds(text).map(Self::Fixed) };
        match kind {
            "fixed" => seconds(rest).map(Self::Fixed),
            "exponential" => mean(rest).map(Self::Exponential),
            "lognormal" => mean(rest).map(Self::LogNormal),
            "uniform" => {
                let (min, most) = rest.split_once("..").ok_or_else(expected)?;
                let (min, most) = (seconds(min)?, seconds(most)?);
                if min <= most { Ok(Self::Uniform(min, most)) } else { Err(expected()) }
            }
            _ => Err(expected()),
        }
    }
}

impl fmt::Display for Shopping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(seconds) => write!(f, "{seconds} s"),
            Self::Uniform(min, most) => write!(f, "{min} to {most} s"),
            Self::Exponential(mean) => write!(f, "exponential, mean {mean} s"),
            Self::LogNormal(mean) => write!(f, "log-normal, mean {mean} s"),
        }
    }
}

/// What a visitor will do, drawn in advance.
#[expect(clippy::struct_excessive_bools, reason = "the flags are independent")]
#[derive(Debug, Clone)]
pub(crate) struct Intent {
    pub(crate) kind: VisitorKind,
    pub(crate) arrives: SimTime,
    /// Time in line until the visitor closes the queue page.
    pub(crate) closes: Option<SimTime>,
    pub(crate) sends_beacon: bool,
    /// Time until the visitor returns; `None` is never.
    pub(crate) returns_after: Option<SimTime>,
    pub(crate) sleeps: bool,
    pub(crate) reloads: bool,
    pub(crate) second_tab: bool,
    pub(crate) streams: bool,
    pub(crate) shopping: SimTime,
    pub(crate) leaves: bool,
    /// Mean seconds between requests of a client without a session.
    pub(crate) requests_every: f64,
    /// When a hoarded pre-ticket is redeemed.
    pub(crate) redeems: Option<SimTime>,
    /// Whether the client stops after the first response.
    pub(crate) stops: bool,
    /// What the client does when a proof of work is needed.
    pub(crate) proof: ProofPolicy,
}

impl Workload {
    /// Number of all virtual visitors: people, bots and hostile clients.
    pub fn clients(&self) -> u32 {
        self.visitors + self.hostile.iter().map(Hostile::clients).sum::<u32>()
    }

    /// The same workload without hostile clients: its visitors do the same, from the same addresses.
    #[must_use]
    pub fn without_hostile(&self) -> Self {
        let nobody = |group: &Hostile| Hostile { amount: 0.0, ..group.clone() };
        Self { hostile: self.hostile.iter().map(nobody).collect(), ..self.clone() }
    }

    /// The group of a hostile client, and the number of its first client; `None` for a visitor.
    pub(crate) fn group_of(&self, number: u32) -> Option<(&Hostile, u32)> {
        let mut first = self.visitors;
        for group in &self.hostile {
            if (first..first + group.clients()).contains(&number) {
                return Some((group, first));
            }
            first += group.clients();
        }
        None
    }

    /// The client whose token this client sends.
    pub(crate) fn replayed_by(&self, number: u32) -> Option<u32> {
        let (group, first) = self.group_of(number)?;
        (group.kind.visitor_kind() == VisitorKind::Replayer && number > first).then_some(first)
    }

    /// Draws what the virtual visitor of this number will do.
    pub(crate) fn intent(&self, number: u32, rng: &mut Rng) -> Intent {
        match self.group_of(number) {
            None => self.visitor_intent(rng),
            Some((group, first)) => {
                let plan = group.plan(number - first, || rng.share());
                self.hostile_intent(group.kind.visitor_kind(), &plan, rng)
            }
        }
    }

    /// A hostile client with a session stays on the site as long as a visitor, and leaves. Those of a replay stay, so that the
    /// session of their token does not end.
    fn hostile_intent(&self, kind: VisitorKind, plan: &HostilePlan, rng: &mut Rng) -> Intent {
        let (closes, returns_after) = plan.leaves_and_returns.unzip();
        let is_replay = kind == VisitorKind::Replayer;
        let shopping = if is_replay { REPLAYERS_STAY } else { self.behavior.shopping.draw(rng) };
        Intent {
            kind,
            arrives: plan.arrives,
            closes,
            sends_beacon: true,
            returns_after,
            sleeps: false,
            reloads: false,
            second_tab: false,
            streams: false,
            shopping: SimTime::from_seconds(shopping),
            leaves: !is_replay,
            requests_every: plan.every,
            redeems: plan.redeems,
            stops: plan.stops,
            proof: plan.proof,
        }
    }

    /// Draws what a visitor will do.
    fn visitor_intent(&self, rng: &mut Rng) -> Intent {
        let behavior = &self.behavior;
        let kind = match rng.share() {
            drawn if drawn < behavior.bots => VisitorKind::Bot,
            drawn if drawn < behavior.bots + behavior.flood => VisitorKind::Flooder,
            _ => VisitorKind::Person,
        };
        let arrives = SimTime::from_seconds(self.arrivals.draw(rng));
        let closes = rng.happens(behavior.close).then(|| SimTime::from_seconds(rng.exponential(behavior.patience)));
        let back = SimTime::from_seconds(rng.exponential(behavior.away).max(1.0));
        let intent = Intent {
            kind,
            arrives,
            closes,
            sends_beacon: rng.happens(behavior.beacon),
            returns_after: rng.happens(behavior.come_back).then_some(back),
            sleeps: rng.happens(behavior.sleep),
            reloads: rng.happens(behavior.reload),
            second_tab: rng.happens(behavior.second_tab),
            streams: false,
            shopping: SimTime::from_seconds(behavior.shopping.draw(rng)),
            leaves: rng.happens(behavior.leave),
            requests_every: behavior.bots_every,
            redeems: None,
            stops: false,
            proof: ProofPolicy::Solve,
        };
        // Drawn only where streams are asked for, so that a seed means the same workload with and without them.
        let listens = behavior.streams > 0.0 && rng.happens(behavior.streams);
        Intent { streams: listens && kind == VisitorKind::Person && !intent.second_tab, ..intent }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shopping_times_are_parsed() {
        let read = |text: &str| text.parse::<Shopping>();
        assert_eq!(read("30"), Ok(Shopping::Fixed(30.0)));
        assert_eq!(read("uniform:10..30"), Ok(Shopping::Uniform(10.0, 30.0)));
        assert_eq!(read("lognormal:120s"), Ok(Shopping::LogNormal(120.0)));
        for wrong in ["", "fixed", "uniform:30..10", "normal:3", "exponential:-1"] {
            assert_eq!(read(wrong), Err(SHOPPING_EXPECTED.to_owned()), "{wrong}");
        }
    }

    #[test]
    fn workload_has_the_configured_shares() {
        let behavior = Behavior { bots: 0.1, flood: 0.2, streams: 0.5, second_tab: 0.0, ..Behavior::default() };
        let workload = Workload {
            visitors: 10_000,
            arrivals: Arrivals::Steady(60.0),
            behavior,
            seed: 5,
            repeat: None,
            hostile: Vec::new(),
        };
        let intents: Vec<Intent> =
            (0..10_000).map(|number| workload.intent(number, &mut Rng::for_visitor(5, number))).collect();
        let share = |of: &dyn Fn(&Intent) -> bool| intents.iter().filter(|intent| of(intent)).count() as f64 / 10_000.0;
        assert!((share(&|intent| intent.kind == VisitorKind::Bot) - 0.1).abs() < 0.01);
        assert!((share(&|intent| intent.kind == VisitorKind::Flooder) - 0.2).abs() < 0.015);
        assert!((share(&|intent| intent.leaves) - 0.7).abs() < 0.015);
        assert!((share(&|intent| intent.streams) - 0.35).abs() < 0.015, "half of the people");
        assert!((share(&|intent| intent.closes.is_some()) - 0.05).abs() < 0.01);
    }
}
