//! The virtual visitors of `vestibule rehearse` and `vestibule plan`.

use std::path::Path;

use anyhow::{Context as _, bail};
use clap::Args;
use vestibule_workload::{
    ARRIVALS_EXPECTED, Arrivals, Behavior, Curve, HOSTILE_MAX, Hostile, Shopping, VISITORS_MAX, Workload,
};

use crate::arguments::whole;

/// The virtual visitors.
#[derive(Args)]
pub(crate) struct WorkloadOptions {
    /// Number of virtual visitors (1 to 5000000); ignored with csv: arrivals
    #[arg(long, default_value_t = 1000, value_parser = whole::<u32>(1..=u64::from(VISITORS_MAX)), value_name = "N")]
    visitors: u32,

    /// Arrivals: burst:SECONDS, steady:SECONDS, ramp:SECONDS, or csv:FILE with rows of seconds,visitors
    #[arg(long, default_value = "burst:10", value_name = "CURVE")]
    arrivals: String,

    /// Random seed
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>(0..=u64::MAX), value_name = "N")]
    seed: u64,

    /// Time on the site: fixed:SECONDS, uniform:FROM..TO, exponential:MEAN or lognormal:MEAN
    #[arg(long, default_value = "lognormal:180", value_name = "TIMES")]
    pub(crate) shopping: Shopping,

    /// Number of pages per visit
    #[arg(long, default_value_t = 3, value_parser = whole::<u32>(1..=1000), value_name = "N")]
    pages: u32,

    /// The site does not embed the keepalive script
    #[arg(long)]
    no_keepalive: bool,

    /// Share of visitors who leave with the leave request, 0 to 1; the others close the page
    #[arg(long, default_value_t = 0.7, value_parser = share, value_name = "SHARE")]
    leave: f64,

    /// Share of visitors who close the queue page while they wait
    #[arg(long, default_value_t = 0.05, value_parser = share, value_name = "SHARE")]
    close: f64,

    /// Mean time until they close it, in seconds
    #[arg(long, default_value_t = 300.0, value_parser = seconds, value_name = "SECONDS")]
    patience: f64,

    /// Share of them whose browser sends the away beacon
    #[arg(long, default_value_t = 0.7, value_parser = share, value_name = "SHARE")]
    beacon: f64,

    /// Share of them who return
    #[arg(long, default_value_t = 0.5, value_parser = share, value_name = "SHARE")]
    come_back: f64,

    /// Mean time until they return, in seconds
    #[arg(long, default_value_t = 60.0, value_parser = seconds, value_name = "SECONDS")]
    away: f64,

    /// Share of visitors whose phone sleeps while they wait
    #[arg(long, default_value_t = 0.05, value_parser = share, value_name = "SHARE")]
    sleep: f64,

    /// Mean time until a phone sleeps, in seconds
    #[arg(long, default_value_t = 300.0, value_parser = seconds, value_name = "SECONDS")]
    awake: f64,

    /// Maximum time that a phone sleeps, in seconds; must be shorter than `hold_ttl`, otherwise positions are lost as documented
    #[arg(long, default_value_t = 120.0, value_parser = seconds, value_name = "SECONDS")]
    asleep: f64,

    /// Share of visitors who reload the queue page
    #[arg(long, default_value_t = 0.03, value_parser = share, value_name = "SHARE")]
    reload: f64,

    /// Mean time between reloads, in seconds
    #[arg(long, default_value_t = 60.0, value_parser = seconds, value_name = "SECONDS")]
    reload_every: f64,

    /// Share of visitors with two tabs
    #[arg(long, default_value_t = 0.05, value_parser = share, value_name = "SHARE")]
    second_tab: f64,

    /// Share of bots without cookies
    #[arg(long, default_value_t = 0.0, value_parser = share, value_name = "SHARE")]
    bots: f64,

    /// Mean time between requests of a bot, in seconds
    #[arg(long, default_value_t = 10.0, value_parser = seconds, value_name = "SECONDS")]
    bots_every: f64,

    /// Share of visitors whose script ignores the poll interval
    #[arg(long, default_value_t = 0.0, value_parser = share, value_name = "SHARE")]
    flood: f64,

    /// Time from a response to the next request of such a script, in seconds
    #[arg(long, default_value_t = 0.3, value_parser = seconds, value_name = "SECONDS")]
    flood_every: f64,

    /// Hostile clients beside the visitors, as KIND:KEY=VALUE,..; can be repeated. `cookieless:rate=..` requests pages without
    /// cookies, `farm:sessions=..,cores=..,proof=solve|delayed|none` keeps cookies and proves work,
    /// `hoard:pre_tickets=..,redeem=..` redeems pre-tickets at once, `replay:clients=..,what=pre-ticket|ticket` sends one token,
    /// `forge:rate=..` forges tokens, and `leaver:sessions=..,away=..` leaves and returns. All take
    /// `addresses=..,networks=..,at=..`
    #[arg(long, value_name = "CLIENTS")]
    hostile: Vec<Hostile>,
}

pub(crate) fn share(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    number.ok_or_else(|| "must be a share from 0 to 1, such as 0.05".to_owned())
}

fn seconds(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('s').parse().ok().filter(|seconds| (0.01..=86_400.0).contains(seconds));
    number.ok_or_else(|| "must be a number of seconds from 0.01 to 86400".to_owned())
}

impl WorkloadOptions {
    /// The workload, with the curve of its file.
    pub(crate) fn workload(&self) -> anyhow::Result<Workload> {
        let (arrivals, visitors) = if let Some(path) = self.arrivals.strip_prefix("csv:") {
            curve(Path::new(path))?
        } else {
            let arrivals: Arrivals =
                self.arrivals.parse().map_err(|expected| anyhow::anyhow!("--arrivals {expected}"))?;
            (arrivals, self.visitors)
        };
        if self.hostile.len() > HOSTILE_MAX {
            bail!("--hostile: {} groups; the maximum is {HOSTILE_MAX}", self.hostile.len());
        }
        let hostile: u64 = self.hostile.iter().map(|group| u64::from(group.clients())).sum();
        if u64::from(visitors) + hostile > u64::from(VISITORS_MAX) {
            bail!("--hostile: {hostile} clients and {visitors} visitors; the maximum is {VISITORS_MAX} together");
        }
        if self.bots + self.flood > 1.0 {
            bail!("--bots and --flood must sum to 1 at most");
        }
        let behavior = Behavior {
            shopping: self.shopping.clone(),
            pages: self.pages,
            keepalive: !self.no_keepalive,
            leave: self.leave,
            close: self.close,
            patience: self.patience,
            beacon: self.beacon,
            come_back: self.come_back,
            away: self.away,
            sleep: self.sleep,
            awake: self.awake,
            asleep: self.asleep,
            reload: self.reload,
            reload_every: self.reload_every,
            second_tab: self.second_tab,
            bots: self.bots,
            bots_every: self.bots_every,
            flood: self.flood,
            flood_every: self.flood_every,
            streams: 0.0,
        };
        Ok(Workload { visitors, arrivals, behavior, seed: self.seed, repeat: None, hostile: self.hostile.clone() })
    }
}

fn curve(path: &Path) -> anyhow::Result<(Arrivals, u32)> {
    if path.as_os_str().is_empty() {
        bail!("--arrivals {ARRIVALS_EXPECTED}");
    }
    let text = read("--arrivals", path)?;
    let (curve, all) = Curve::parse(&text).with_context(|| format!("--arrivals {}", path.display()))?;
    if all > VISITORS_MAX {
        bail!("--arrivals {}: {all} visitors; the maximum is {VISITORS_MAX}", path.display());
    }
    Ok((Arrivals::Curve(curve), all))
}

/// The text of the file that a flag names.
pub(crate) fn read(flag: &str, path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("{flag}: cannot read {}", path.display()))
}
