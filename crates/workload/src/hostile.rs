//! Hostile clients beside the visitors of a workload: what `--hostile` describes.
//!
//! A hostile client is a virtual visitor of another [kind](crate::VisitorKind). Clients that keep cookies behave like visitors
//! once they are in line, so a run shows what their positions are worth.

mod addresses;
mod figures;
mod forge;

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::sim_time::SimTime;
use crate::visitor_kind::{VISITORS_MAX, VisitorKind};

pub(crate) use addresses::ClientAddresses;
pub use figures::{MeasuredRun, add_hostile_figures};
pub(crate) use forge::forged_cookies;

/// Maximum number of networks of a group of hostile clients: half of the /48 networks of `2001:db8::/32`.
const NETWORKS_MAX: u32 = 32_768;
/// Maximum number of groups of hostile clients.
pub const HOSTILE_MAX: usize = 8;
/// Seconds within which the sessions of a farm or a leaver come.
const ARRIVES_WITHIN: f64 = 7.0;
/// Seconds after the first client of a replay from which the others send its token.
const REPLAYS_AFTER: f64 = 5.0;
/// Seconds within which the pre-tickets of a hoard are redeemed.
const REDEEMS_WITHIN: f64 = 1.0;
/// Seconds that a leaver stays in line before the page is closed again.
const LEAVER_STAYS: f64 = 5.0;
/// Default seconds after which a leaver returns: just before the default `hold_ttl` of 10 minutes.
const LEAVER_AWAY: f64 = 570.0;
/// Default seconds after which a hoard is redeemed.
const HOARD_REDEEM: f64 = 60.0;
/// Default number of processor cores with which a group of hostile clients solves challenges.
const CORES: u32 = 64;
/// Maximum number of processor cores.
const CORES_MAX: u32 = 100_000;
/// Maximum of times and rates.
const NUMBER_MAX: f64 = 100_000.0;

vestibule_core::names! {
    /// What hostile clients do.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum HostileKind {
        /// Request pages without cookies.
        Cookieless = "cookieless",
        /// Keep cookies, and join at the same time.
        Farm = "farm",
        /// Get pre-tickets early, and redeem all of them at once.
        Hoard = "hoard",
        /// Send the token of one client.
        Replay = "replay",
        /// Send tokens that they made up or changed.
        Forge = "forge",
        /// Join, report that they are away, and return just before `hold_ttl`, repeatedly.
        Leaver = "leaver",
    }
    /// The name.
    fn name
}

/// What the clients of a replay send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReplayedToken {
    /// The pre-ticket of one first visit.
    PreTicket,
    /// The ticket of one session.
    Ticket,
}

vestibule_core::names! {
    /// What a client does when it needs a proof of work to join.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ProofPolicy {
        /// It gives up.
        None = "none",
        /// It solves the challenge.
        Solve = "solve",
        /// It waits until it may join without a proof.
        Delayed = "delayed",
    }
    /// The value of the key `proof`.
    fn name
}

/// A group of hostile clients.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hostile {
    /// What they do.
    pub kind: HostileKind,
    /// Requests per second (`cookieless`, `forge`), or number of clients.
    pub amount: f64,
    /// Number of client addresses.
    pub addresses: u32,
    /// Number of networks that the addresses belong to.
    pub networks: u32,
    /// Seconds after the start at which they come.
    pub at: f64,
    /// For a hoard, seconds after the start at which the pre-tickets are redeemed.
    pub redeem: f64,
    /// For a leaver, seconds after which it returns.
    pub away: f64,
    /// For a replay, what is sent.
    pub what: ReplayedToken,
    /// For a farm, what it does when proofs of work are needed. The others solve challenges.
    pub proof: ProofPolicy,
    /// Number of processor cores that solve challenges.
    pub cores: u32,
}

/// An invalid group of hostile clients.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostileError {
    /// Not a kind.
    #[error("unknown kind {0:?}; use {kinds}", kinds = kinds())]
    Kind(String),
    /// Not a key of the kind.
    #[error("{kind} has no key {key:?}; its keys are {keys}")]
    Key {
        /// The kind.
        kind: &'static str,
        /// The key that was given.
        key: String,
        /// The valid ones.
        keys: String,
    },
    /// A required key is missing.
    #[error("{kind} needs {key}, such as {kind}:{key}={example}")]
    Missing {
        /// The kind.
        kind: &'static str,
        /// The key.
        key: &'static str,
        /// A value.
        example: &'static str,
    },
    /// A key that is given twice.
    #[error("{0} is given twice")]
    Twice(String),
    /// Not a valid value.
    #[error("{key}={value}: must be {expected}")]
    Value {
        /// The key.
        key: &'static str,
        /// The value that was given.
        value: String,
        /// What is valid.
        expected: String,
    },
    /// More networks than addresses.
    #[error("networks={networks} is more than addresses={addresses}: each network has at least one address")]
    Networks {
        /// The networks.
        networks: u32,
        /// The addresses.
        addresses: u32,
    },
}

impl HostileKind {
    /// The key that says how many clients or requests there are.
    const fn amount_key(self) -> &'static str {
        match self {
            Self::Cookieless | Self::Forge => "rate",
            Self::Farm | Self::Leaver => "sessions",
            Self::Hoard => "pre_tickets",
            Self::Replay => "clients",
        }
    }

    /// The keys of this kind only.
    const fn own_keys(self) -> &'static [&'static str] {
        match self {
            Self::Cookieless | Self::Forge => &[],
            Self::Farm => &["cores", "proof"],
            Self::Hoard => &["redeem"],
            Self::Replay => &["what"],
            Self::Leaver => &["away"],
        }
    }

    fn keys(self) -> Vec<&'static str> {
        [&[self.amount_key(), "addresses", "networks", "at"][..], self.own_keys()].concat()
    }

    /// The kind of its virtual visitors.
    pub(crate) const fn visitor_kind(self) -> VisitorKind {
        match self {
            Self::Cookieless => VisitorKind::Bot,
            Self::Farm | Self::Hoard => VisitorKind::Farm,
            Self::Replay => VisitorKind::Replayer,
            Self::Forge => VisitorKind::Forger,
            Self::Leaver => VisitorKind::Leaver,
        }
    }
}

fn kinds() -> String {
    let described = |kind: HostileKind| format!("{}:{}=..", kind.name(), kind.keys().join("=..,"));
    HostileKind::ALL.map(described).join(" or ")
}

/// When a hostile client acts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct HostilePlan {
    /// When it comes.
    pub(crate) arrives: SimTime,
    /// Mean seconds between requests of a client that never joins.
    pub(crate) every: f64,
    /// When it redeems its pre-ticket, if it keeps it.
    pub(crate) redeems: Option<SimTime>,
    /// Time in line until it leaves, and until it returns.
    pub(crate) leaves_and_returns: Option<(SimTime, SimTime)>,
    /// Whether it stops after the first response.
    pub(crate) stops: bool,
    /// What it does when it needs a proof of work.
    pub(crate) proof: ProofPolicy,
}

impl Hostile {
    /// Number of clients.
    pub fn clients(&self) -> u32 {
        // Clients without a session send a request a second each.
        self.amount.ceil() as u32
    }

    /// What the client with this number in the group does. `share` gives random numbers from 0 to 1.
    pub(crate) fn plan(&self, number: u32, mut share: impl FnMut() -> f64) -> HostilePlan {
        let clients = f64::from(self.clients());
        let every = clients / self.amount;
        let leads = self.kind == HostileKind::Replay && number == 0;
        let after = match self.kind {
            HostileKind::Cookieless | HostileKind::Forge => every * share(),
            HostileKind::Farm | HostileKind::Leaver => ARRIVES_WITHIN * share(),
            HostileKind::Hoard => (self.redeem - self.at).max(0.0) * share(),
            HostileKind::Replay if leads => 0.0,
            HostileKind::Replay => REPLAYS_AFTER + ARRIVES_WITHIN * share(),
        };
        let redeems = (self.kind == HostileKind::Hoard).then(|| self.redeem + REDEEMS_WITHIN * share());
        let leaves = self.kind == HostileKind::Leaver;
        HostilePlan {
            arrives: SimTime::from_seconds(self.at + after),
            every,
            redeems: redeems.map(SimTime::from_seconds),
            leaves_and_returns: leaves.then(|| (SimTime::from_seconds(LEAVER_STAYS), SimTime::from_seconds(self.away))),
            stops: leads && self.what == ReplayedToken::PreTicket,
            proof: self.proof,
        }
    }
}

/// The value of a key, within bounds.
fn number(key: &'static str, value: &str, least: f64, most: f64, is_whole: bool) -> Result<f64, HostileError> {
    let number = value.parse::<f64>().ok();
    let number = number.filter(|number| (least..=most).contains(number) && (!is_whole || number.fract() == 0.0));
    number.ok_or_else(|| {
        let unit = if is_whole { "a whole number" } else { "a number" };
        HostileError::Value { key, value: value.to_owned(), expected: format!("{unit} from {least} to {most}") }
    })
}

impl FromStr for Hostile {
    type Err = HostileError;

    fn from_str(text: &str) -> Result<Self, HostileError> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let kind = HostileKind::ALL.into_iter().find(|kind| kind.name() == name);
        let kind = kind.ok_or_else(|| HostileError::Kind(name.to_owned()))?;
        let (amount_key, keys) = (kind.amount_key(), kind.keys());
        let mut group = Self {
            kind,
            amount: 0.0,
            addresses: 1,
            networks: 1,
            at: 0.0,
            redeem: HOARD_REDEEM,
            away: LEAVER_AWAY,
            what: ReplayedToken::PreTicket,
            proof: ProofPolicy::Solve,
            cores: CORES,
        };
        let mut given: Vec<&str> = Vec::new();
        for pair in rest.split(',').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let Some(key) = keys.iter().copied().find(|key| *key == name) else {
                return Err(HostileError::Key { kind: kind.name(), key: name.to_owned(), keys: keys.join(", ") });
            };
            if given.contains(&key) {
                return Err(HostileError::Twice(key.to_owned()));
            }
            given.push(key);
            group.set(key, value)?;
        }
        if !given.contains(&amount_key) {
            return Err(HostileError::Missing { kind: kind.name(), key: amount_key, example: "100" });
        }
        if group.networks > group.addresses {
            return Err(HostileError::Networks { networks: group.networks, addresses: group.addresses });
        }
        Ok(group)
    }
}

impl Hostile {
    fn set(&mut self, key: &'static str, value: &str) -> Result<(), HostileError> {
        let whole = |most: u32| number(key, value, 1.0, f64::from(most), true);
        match key {
            "rate" => self.amount = number(key, value, 0.1, NUMBER_MAX, false)?,
            "addresses" => self.addresses = whole(VISITORS_MAX)? as u32,
            "networks" => self.networks = whole(NETWORKS_MAX)? as u32,
            "at" => self.at = number(key, value, 0.0, NUMBER_MAX, false)?,
            "redeem" => self.redeem = number(key, value, 0.0, NUMBER_MAX, false)?,
            "away" => self.away = number(key, value, 1.0, NUMBER_MAX, false)?,
            "cores" => self.cores = whole(CORES_MAX)? as u32,
            "proof" => {
                let found = ProofPolicy::ALL.into_iter().find(|policy| policy.name() == value);
                let expected = || "none, solve or delayed".to_owned();
                self.proof =
                    found.ok_or_else(|| HostileError::Value { key, value: value.to_owned(), expected: expected() })?;
            }
            "what" => {
                self.what = match value {
                    "pre-ticket" => ReplayedToken::PreTicket,
                    "ticket" => ReplayedToken::Ticket,
                    _ => {
                        let expected = "pre-ticket or ticket".to_owned();
                        return Err(HostileError::Value { key, value: value.to_owned(), expected });
                    }
                }
            }
            _ => self.amount = whole(VISITORS_MAX)?,
        }
        Ok(())
    }
}

impl fmt::Display for Hostile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}={}", self.kind.name(), self.kind.amount_key(), self.amount)?;
        write!(f, ",addresses={},networks={},at={}", self.addresses, self.networks, self.at)?;
        match self.kind {
            HostileKind::Hoard => write!(f, ",redeem={}", self.redeem),
            HostileKind::Leaver => write!(f, ",away={}", self.away),
            HostileKind::Replay if self.what == ReplayedToken::Ticket => write!(f, ",what=ticket"),
            HostileKind::Replay => write!(f, ",what=pre-ticket"),
            HostileKind::Farm => write!(f, ",cores={},proof={}", self.cores, self.proof.name()),
            HostileKind::Cookieless | HostileKind::Forge => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_clients_are_parsed_and_displayed() {
        for text in [
            "cookieless:rate=500,addresses=20,networks=5,at=0",
            "farm:sessions=20000,addresses=1000,networks=16,at=30,cores=8,proof=delayed",
            "hoard:pre_tickets=10000,addresses=1,networks=1,at=0,redeem=90",
            "replay:clients=1000,addresses=1000,networks=500,at=0,what=ticket",
            "forge:rate=0.5,addresses=1,networks=1,at=0",
            "leaver:sessions=50,addresses=1,networks=1,at=0,away=570",
        ] {
            assert_eq!(text.parse::<Hostile>().unwrap().to_string(), text);
        }
        let farm: Hostile = "farm:sessions=7".parse().unwrap();
        assert_eq!((farm.clients(), farm.addresses, farm.networks), (7, 1, 1));
        assert_eq!((farm.proof, farm.cores), (ProofPolicy::Solve, CORES));
        let flood: Hostile = "cookieless:rate=2.5".parse().unwrap();
        assert_eq!((flood.clients(), flood.plan(0, || 0.0).every), (3, 1.2));
    }

    #[test]
    fn invalid_hostile_clients_say_what_is_valid() {
        for (text, error) in [
            ("", "unknown kind \"\"; use cookieless:rate=..,addresses=..,networks=..,at=.. or farm:sessions=..,"),
            ("swarm:sessions=3", "unknown kind \"swarm\"; use cookieless:"),
            ("farm", "farm needs sessions, such as farm:sessions=100"),
            ("farm:rate=3", "farm has no key \"rate\"; its keys are sessions, addresses, networks, at, cores, proof"),
            ("hoard:redeem=3", "hoard needs pre_tickets, such as hoard:pre_tickets=100"),
            ("farm:sessions=0", "sessions=0: must be a whole number from 1 to 5000000"),
            ("farm:sessions=1.5", "sessions=1.5: must be a whole number from 1 to 5000000"),
            ("cookieless:rate=fast", "rate=fast: must be a number from 0.1 to 100000"),
            ("farm:sessions=3,sessions=4", "sessions is given twice"),
            ("farm:sessions=3,networks=2", "networks=2 is more than addresses=1"),
            ("farm:sessions=3,proof=maybe", "proof=maybe: must be none, solve or delayed"),
            ("farm:sessions=3,cores=0", "cores=0: must be a whole number from 1 to 100000"),
            ("replay:clients=3,what=pass", "what=pass: must be pre-ticket or ticket"),
        ] {
            let found = text.parse::<Hostile>().unwrap_err().to_string();
            assert!(found.starts_with(error), "{text}: {found}");
        }
    }

    #[test]
    fn clients_of_a_group_act_together() {
        let plan = |text: &str, number, share| text.parse::<Hostile>().unwrap().plan(number, || share);
        let farm = plan("farm:sessions=3,at=10", 0, 0.5);
        assert_eq!(farm.arrives, SimTime::from_seconds(10.0 + ARRIVES_WITHIN / 2.0));
        let hoard = plan("hoard:pre_tickets=3,redeem=40", 0, 0.5);
        assert_eq!(hoard.arrives, SimTime::from_seconds(20.0));
        assert_eq!(hoard.redeems, Some(SimTime::from_seconds(40.0 + REDEEMS_WITHIN / 2.0)));
        let [first, second] = [0, 1].map(|number| plan("replay:clients=3", number, 0.0));
        assert!(first.stops && !second.stops && first.arrives < second.arrives);
        assert!(!plan("replay:clients=3,what=ticket", 0, 0.0).stops);
    }
}
