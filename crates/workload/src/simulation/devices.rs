//! What solves challenges in virtual time: the phone or computer of each visitor, and the processor cores of a group of hostile clients.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::sim_time::SimTime;
use crate::workload::Workload;

/// Seconds that a browser takes for a key derivation: 1.0 s for 2,500 of them, as measured in Chromium (`docs/attacks.md`).
const BROWSER_SECONDS: f64 = 1.0 / 2500.0;
/// Seconds that a core of a hostile client takes: 0.71 s for 2,500 of them, in a program without a browser.
const CORE_SECONDS: f64 = 0.71 / 2500.0;

/// The cores of groups, with the instants at which they are free. Those of visitors are always.
#[derive(Default)]
pub(super) struct Devices {
    /// By the first client of the group.
    groups: HashMap<u32, BinaryHeap<Reverse<SimTime>>>,
}

impl Devices {
    /// When a client begins to solve a challenge, and when it has computed this many key derivations.
    pub(super) fn solve(
        &mut self,
        workload: &Workload,
        client: u32,
        now: SimTime,
        derivations: f64,
    ) -> (SimTime, SimTime) {
        let Some((group, first)) = workload.group_of(client) else {
            return (now, now.add_seconds(derivations * BROWSER_SECONDS));
        };
        let cores = self.groups.entry(first).or_default();
        let free = if cores.len() < group.cores as usize { now } else { cores.pop().map_or(now, |Reverse(free)| free) };
        let starts = free.max(now);
        let solved = starts.add_seconds(derivations * CORE_SECONDS);
        cores.push(Reverse(solved));
        (starts, solved)
    }
}
