//! Rule 17: the line as everyone may see it.

use super::state::Line;
use super::types::Stats;
use crate::SessionId;
use crate::time::Micros;

/// Ranks up to this one are all checkpoints.
pub const CHECKPOINTS_EXACT: u64 = 16;

/// What is true of a line for everyone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineView {
    /// The statistics of the queue.
    pub stats: Stats,
    /// Arrivals at some ranks, in order: the first [`CHECKPOINTS_EXACT`], then each rank 1.5 times the one
    /// before, and the last. Empty if nobody waits.
    pub checkpoints: Vec<Checkpoint>,
    /// The session that is admitted next.
    pub front: Option<SessionId>,
}

/// The arrival at a rank of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checkpoint {
    /// Rank in the line, from 1.
    pub rank: u64,
    /// Arrival of the session at this rank.
    pub arrival: Micros,
}

/// The ranks of the checkpoints of a line of this length.
fn checkpoint_ranks(waiting: u64) -> Vec<u64> {
    let mut ranks = Vec::new();
    let mut rank = 1;
    while rank < waiting {
        ranks.push(rank);
        rank = if rank < CHECKPOINTS_EXACT { rank + 1 } else { rank * 3 / 2 };
    }
    if waiting > 0 {
        ranks.push(waiting);
    }
    ranks
}

impl Line {
    /// The line as everyone may see it. Does not change the state.
    pub fn view(&self, now: Micros) -> LineView {
        let at = |rank: u64| {
            let &(arrival, _) = self.order.get_by_rank(rank as usize - 1)?;
            Some(Checkpoint { rank, arrival })
        };
        let checkpoints = checkpoint_ranks(self.waiting()).into_iter().filter_map(at).collect();
        LineView { stats: self.stats(now), checkpoints, front: self.order.first().map(|(_, session)| *session) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::line::{LineRules, Mode, Visit};
    use crate::settings::Protection;

    #[test]
    fn checkpoints_are_few_and_end_at_the_last_rank() {
        assert_eq!(checkpoint_ranks(0), [0; 0]);
        assert_eq!(checkpoint_ranks(1), [1]);
        assert_eq!(checkpoint_ranks(17), (1..=17).collect::<Vec<_>>());
        assert_eq!(checkpoint_ranks(100)[15..], [16, 24, 36, 54, 81, 100]);
        let ranks = checkpoint_ranks(1_000_000);
        assert!(ranks.len() <= 48 && ranks.last() == Some(&1_000_000), "{}", ranks.len());
    }

    /// The rank of an arrival as a client reads it from the checkpoints.
    fn interpolated(checkpoints: &[Checkpoint], arrival: Micros) -> u64 {
        let next = checkpoints.partition_point(|it| it.arrival <= arrival);
        let one = checkpoints[next.saturating_sub(1)];
        let Some(other) = checkpoints.get(next) else { return one.rank };
        let (ranks, micros) = (other.rank - one.rank, other.arrival.since(one.arrival));
        one.rank + (u128::from(ranks) * u128::from(arrival.since(one.arrival)) / u128::from(micros)) as u64
    }

    /// A line with arrivals after these pauses, in microseconds.
    fn line(pauses: impl Iterator<Item = u64>) -> (Vec<Micros>, LineView) {
        let rules = LineRules {
            mode: Mode::Paused,
            quota: 1,
            waiting_ttl: 3600,
            claim_ttl: 3600,
            protection: Protection::without_pre_tickets(),
            ..LineRules::default()
        };
        let mut now = Micros(1_700_000_000_000_000);
        let mut line = Line::new(rules, now, false);
        let arrivals = pauses.enumerate().map(|(number, pause)| {
            now = Micros(now.0 + pause);
            let mut id = [0; SessionId::SIZE];
            id[..8].copy_from_slice(&number.to_be_bytes());
            line.visit(now, &Visit::joining(SessionId::from_bytes(id))).session.unwrap().arrival
        });
        (arrivals.collect(), line.view(now))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        /// Steady arrivals, and bursts with pauses between them.
        #[test]
        fn interpolated_ranks_are_between_exact_ones(
            pauses in prop_oneof![
                proptest::collection::vec(1_u64..2_000, 2..3_000),
                proptest::collection::vec(prop_oneof![9 => Just(1_u64), 1 => 1_u64..1_000_000], 2..3_000),
            ],
        ) {
            let (arrivals, view) = line(pauses.into_iter());
            for (index, arrival) in arrivals.iter().enumerate() {
                let (rank, shown) = (index as u64 + 1, interpolated(&view.checkpoints, *arrival));
                let before = view.checkpoints.iter().rev().find(|it| it.rank <= rank).unwrap().rank;
                let after = view.checkpoints.iter().find(|it| it.rank >= rank).unwrap().rank;
                prop_assert!((before..=after).contains(&shown), "{shown} for {rank}");
            }
        }

        #[test]
        fn interpolated_ranks_of_steady_arrivals_are_close(
            pauses in proptest::collection::vec(900_u64..1_100, 200..3_000),
        ) {
            let (arrivals, view) = line(pauses.into_iter());
            for (index, arrival) in arrivals.iter().enumerate().skip(100) {
                let (rank, shown) = (index as u64 + 1, interpolated(&view.checkpoints, *arrival));
                prop_assert!(shown.abs_diff(rank) as f64 <= 0.03 * rank as f64, "{shown} for {rank}");
            }
        }
    }
}
