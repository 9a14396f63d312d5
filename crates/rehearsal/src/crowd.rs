//! A crowd: how many come, when, and what they are like.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::arrivals::Arrivals;
use crate::chance::Chance;
use crate::moment::Moment;

/// What a distribution of shopping times takes, for messages.
pub const SHOPPING_TAKES: &str =
    "takes fixed:SECONDS, uniform:FROM..TO, exponential:MEAN or lognormal:MEAN, in seconds";

/// Most visitors of a crowd.
pub const VISITORS_MAX: u32 = 5_000_000;

/// A crowd. The same one does the same again: all chance comes from its seed.
#[derive(Debug, Clone)]
pub struct Crowd {
    /// How many come.
    pub visitors: u32,
    /// When they come.
    pub arrivals: Arrivals,
    /// What they are like.
    pub habits: Habits,
    /// Where all chance comes from.
    pub seed: u64,
}

/// What is usual in a crowd. Shares are from 0 to 1, times in seconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Habits {
    /// How long somebody shops.
    #[serde(serialize_with = "as_text")]
    pub shopping: Shopping,
    /// Pages of the site that somebody opens while shopping, the first one included; 1 at least.
    pub pages: u32,
    /// Whether the site embeds the gate's keepalive script.
    pub keepalive: bool,
    /// Share of shoppers who say that they leave; the others just close the site.
    pub leave: f64,
    /// Share of those who close the queue page at some time while they wait.
    pub close: f64,
    /// Mean time after which they do.
    pub patience: f64,
    /// Share of them whose browser tells of it (the away beacon).
    pub beacon: f64,
    /// Share of them who open the page again.
    pub come_back: f64,
    /// Mean time for which it stays closed then.
    pub away: f64,
    /// Share of phones, which fall asleep while they wait.
    pub sleep: f64,
    /// Mean time for which a phone is awake.
    pub awake: f64,
    /// Longest time for which it sleeps.
    pub asleep: f64,
    /// Share of those who load the queue page anew now and then.
    pub reload: f64,
    /// Mean time between two loads.
    pub reload_every: f64,
    /// Share of those who have the queue page open twice.
    pub second_tab: f64,
    /// Share of robots, which keep no cookie.
    pub bots: f64,
    /// Mean time between two requests of a robot.
    pub bots_every: f64,
    /// Share of those whose script asks all the time, whatever `poll_after` says.
    pub flood: f64,
    /// Time between an answer to such a script and its next request.
    pub flood_every: f64,
}

impl Default for Habits {
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
        }
    }
}

impl Habits {
    /// Everybody waits to the end, shops and leaves.
    #[must_use]
    pub fn steadfast(shopping: Shopping) -> Self {
        let none = Self { leave: 1.0, close: 0.0, sleep: 0.0, reload: 0.0, second_tab: 0.0, ..Self::default() };
        Self { shopping, ..none }
    }
}

fn as_text<S: serde::Serializer>(shopping: &Shopping, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(shopping)
}

/// How shopping times are distributed. Seconds.
#[derive(Debug, Clone, PartialEq)]
pub enum Shopping {
    /// All the same.
    Fixed(f64),
    /// Evenly between two.
    Uniform(f64, f64),
    /// Exponential, with this mean.
    Exponential(f64),
    /// Log-normal, with this mean: most are quick, and a few take very long.
    LogNormal(f64),
}

impl Shopping {
    fn draw(&self, chance: &mut Chance) -> f64 {
        match self {
            Self::Fixed(seconds) => *seconds,
            Self::Uniform(least, most) => chance.between(*least, *most),
            Self::Exponential(mean) => chance.exponential(*mean),
            Self::LogNormal(mean) => chance.log_normal(*mean),
        }
    }

    /// The mean.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match self {
            Self::Fixed(mean) | Self::Exponential(mean) | Self::LogNormal(mean) => *mean,
            Self::Uniform(least, most) => f64::midpoint(*least, *most),
        }
    }
}

impl FromStr for Shopping {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let takes = || SHOPPING_TAKES.to_owned();
        let seconds = |text: &str| -> Result<f64, String> {
            let number: f64 = text.trim_end_matches('s').parse().map_err(|_| takes())?;
            if (0.0..=86_400.0).contains(&number) { Ok(number) } else { Err(takes()) }
        };
        let Some((kind, rest)) = text.split_once(':') else { return seconds(text).map(Self::Fixed) };
        match kind {
            "fixed" => seconds(rest).map(Self::Fixed),
            "exponential" => seconds(rest).map(Self::Exponential),
            "lognormal" => seconds(rest).map(|mean| Self::LogNormal(mean.max(0.001))),
            "uniform" => {
                let (least, most) = rest.split_once("..").ok_or_else(takes)?;
                let (least, most) = (seconds(least)?, seconds(most)?);
                if least <= most { Ok(Self::Uniform(least, most)) } else { Err(takes()) }
            }
            _ => Err(takes()),
        }
    }
}

impl fmt::Display for Shopping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(seconds) => write!(f, "{seconds} s"),
            Self::Uniform(least, most) => write!(f, "{least} to {most} s"),
            Self::Exponential(mean) => write!(f, "exponential, {mean} s in the mean"),
            Self::LogNormal(mean) => write!(f, "log-normal, {mean} s in the mean"),
        }
    }
}

/// What kind of visitor somebody is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A person with a browser.
    Person,
    /// A person whose script asks all the time.
    Flooder,
    /// A robot that keeps no cookie.
    Bot,
}

/// What a visitor means to do, drawn ahead.
#[expect(clippy::struct_excessive_bools, reason = "each of them is drawn by itself")]
#[derive(Debug, Clone)]
pub(crate) struct Intent {
    pub(crate) kind: Kind,
    pub(crate) comes: Moment,
    /// After how long in line the queue page is closed.
    pub(crate) closes: Option<Moment>,
    pub(crate) tells: bool,
    /// For how long it stays closed; `None` is for good.
    pub(crate) stays_away: Option<Moment>,
    pub(crate) sleeps: bool,
    pub(crate) reloads: bool,
    pub(crate) second_tab: bool,
    pub(crate) shopping: Moment,
    pub(crate) leaves: bool,
}

impl Crowd {
    /// What the visitor of this number means to do.
    pub(crate) fn intent(&self, chance: &mut Chance) -> Intent {
        let habits = &self.habits;
        let kind = match chance.share() {
            drawn if drawn < habits.bots => Kind::Bot,
            drawn if drawn < habits.bots + habits.flood => Kind::Flooder,
            _ => Kind::Person,
        };
        let comes = Moment::of_seconds(self.arrivals.draw(chance));
        let closes = chance.happens(habits.close).then(|| Moment::of_seconds(chance.exponential(habits.patience)));
        let back = Moment::of_seconds(chance.exponential(habits.away).max(1.0));
        Intent {
            kind,
            comes,
            closes,
            tells: chance.happens(habits.beacon),
            stays_away: chance.happens(habits.come_back).then_some(back),
            sleeps: chance.happens(habits.sleep),
            reloads: chance.happens(habits.reload),
            second_tab: chance.happens(habits.second_tab),
            shopping: Moment::of_seconds(habits.shopping.draw(chance)),
            leaves: chance.happens(habits.leave),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shopping_times_are_read_as_they_are_written() {
        let read = |text: &str| text.parse::<Shopping>();
        assert_eq!(read("30"), Ok(Shopping::Fixed(30.0)));
        assert_eq!(read("uniform:10..30"), Ok(Shopping::Uniform(10.0, 30.0)));
        assert_eq!(read("lognormal:120s"), Ok(Shopping::LogNormal(120.0)));
        for wrong in ["", "fixed", "uniform:30..10", "normal:3", "exponential:-1"] {
            assert_eq!(read(wrong), Err(SHOPPING_TAKES.to_owned()), "{wrong}");
        }
    }

    #[test]
    fn a_crowd_has_the_shares_that_were_asked_for() {
        let habits = Habits { bots: 0.1, flood: 0.2, ..Habits::default() };
        let crowd = Crowd { visitors: 10_000, arrivals: Arrivals::Steady(60.0), habits, seed: 5 };
        let intents: Vec<Intent> = (0..10_000).map(|number| crowd.intent(&mut Chance::of(5, number))).collect();
        let share = |of: &dyn Fn(&Intent) -> bool| intents.iter().filter(|intent| of(intent)).count() as f64 / 10_000.0;
        assert!((share(&|intent| intent.kind == Kind::Bot) - 0.1).abs() < 0.01);
        assert!((share(&|intent| intent.kind == Kind::Flooder) - 0.2).abs() < 0.015);
        assert!((share(&|intent| intent.leaves) - 0.7).abs() < 0.015);
        assert!((share(&|intent| intent.closes.is_some()) - 0.05).abs() < 0.01);
    }
}
