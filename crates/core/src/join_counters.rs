//! Rule L2: joins of the current and the previous window by address and network, in a count-min sketch
//! (<https://dl.acm.org/doi/10.1016/j.jalgor.2003.12.001>). Its size does not depend on the number of clients, and an
//! estimate is never below the true count.

use crate::time::{MICROS_PER_SECOND, Micros};
use crate::token::COUNTER_ROWS;

/// Length of a window, in seconds. Estimates span the current window and the previous one: 5 to 10 minutes.
pub const JOIN_WINDOW: u64 = 300;
/// Windows that are kept.
pub const JOIN_WINDOWS: usize = 2;
/// The accepted numbers of cells per row.
pub const COUNTERS: [u64; 3] = [131_072, 524_288, 1_048_576];
/// Where a cell saturates.
pub const CELL_MAX: u16 = u16::MAX;

/// The number of the window at an instant.
pub const fn join_window(now: Micros) -> u64 {
    now.0 / (JOIN_WINDOW * MICROS_PER_SECOND)
}

/// The part of the counters that belongs to a window. The other part is that of the previous one.
pub(crate) const fn half_of(window: u64) -> usize {
    (window % JOIN_WINDOWS as u64) as usize
}

/// Which parts have to be cleared when counting continues in the window `next` after `last`: none in the same one, that of the
/// next window, or all of them. A clock that stepped back to another window clears all of them as well.
pub(crate) fn expired_halves(last: Option<u64>, next: u64) -> &'static [usize] {
    match last {
        Some(last) if last == next => &[],
        Some(last) if last + 1 == next && half_of(next) == 0 => &[0],
        Some(last) if last + 1 == next => &[1],
        _ => &[0, 1],
    }
}

/// The cells of one prefix, one in each row.
pub(crate) type Cells = [u32; COUNTER_ROWS];

/// Counters of joins: two windows of two rows.
#[derive(Debug, Clone)]
pub(crate) struct JoinCounters {
    /// The window of the last join.
    window: u64,
    /// Cells by window, row and cell.
    cells: Box<[u16]>,
    counters: usize,
}

impl JoinCounters {
    /// Empty counters with this many cells per row, from `now` on.
    pub(crate) fn new(counters: u64, now: Micros) -> Self {
        let counters = counters as usize;
        let cells = vec![0; JOIN_WINDOWS * COUNTER_ROWS * counters].into_boxed_slice();
        Self { window: join_window(now), cells, counters }
    }

    /// The number of cells per row.
    pub(crate) const fn counters(&self) -> u64 {
        self.counters as u64
    }

    /// Continues in the window of `now`: clears what is too old.
    pub(crate) fn advance(&mut self, now: Micros) {
        let next = join_window(now);
        for half in expired_halves(Some(self.window), next) {
            let size = COUNTER_ROWS * self.counters;
            self.cells[half * size..(half + 1) * size].fill(0);
        }
        self.window = next;
    }

    fn index(&self, half: usize, row: usize, cell: u32) -> usize {
        (half * COUNTER_ROWS + row) * self.counters + cell as usize
    }

    /// At least the joins of this prefix in one part: the least of its cells, since others can only add to one.
    fn least(&self, half: usize, cells: Cells) -> u64 {
        let counts = cells.iter().enumerate().map(|(row, cell)| self.cells[self.index(half, row, *cell)]);
        counts.min().unwrap_or_default().into()
    }

    /// At least the joins of this prefix in the current window.
    pub(crate) fn in_window(&self, cells: Cells) -> u64 {
        self.least(half_of(self.window), cells)
    }

    /// At least the joins of this prefix in both windows, while fewer than [`CELL_MAX`] joined in one.
    pub(crate) fn estimate(&self, cells: Cells) -> u64 {
        (0..JOIN_WINDOWS).map(|half| self.least(half, cells)).sum()
    }

    /// Counts a join.
    pub(crate) fn add(&mut self, cells: Cells) {
        for (row, cell) in cells.iter().enumerate() {
            let index = self.index(half_of(self.window), row, *cell);
            self.cells[index] = self.cells[index].saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;
    use rand::rngs::SmallRng;
    use rand::{Rng as _, SeedableRng as _};

    use super::*;

    const START: Micros = Micros(1_700_000_100_000_000);
    const LEAST_COUNTERS: u64 = COUNTERS[0];

    fn cells(number: u64, counters: u64) -> Cells {
        let mut random = SmallRng::seed_from_u64(number);
        [0; COUNTER_ROWS].map(|_: u32| random.random_range(0..counters as u32))
    }

    #[test]
    fn estimates_span_two_windows() {
        let mut counters = JoinCounters::new(LEAST_COUNTERS, START);
        let (one, other) = (cells(1, LEAST_COUNTERS), cells(2, LEAST_COUNTERS));
        counters.add(one);
        counters.add(one);
        assert_eq!((counters.estimate(one), counters.in_window(one), counters.estimate(other)), (2, 2, 0));
        counters.advance(START.add_seconds(JOIN_WINDOW));
        assert_eq!((counters.estimate(one), counters.in_window(one)), (2, 0));
        counters.add(one);
        assert_eq!((counters.estimate(one), counters.in_window(one)), (3, 1));
        counters.advance(START.add_seconds(2 * JOIN_WINDOW));
        assert_eq!(counters.estimate(one), 1);
        counters.advance(START.add_seconds(4 * JOIN_WINDOW));
        assert_eq!(counters.estimate(one), 0, "both windows are over");
    }

    #[test]
    fn clock_that_steps_back_starts_from_zero() {
        let mut counters = JoinCounters::new(LEAST_COUNTERS, START.add_seconds(2));
        let one = cells(1, LEAST_COUNTERS);
        counters.add(one);
        counters.advance(START);
        assert_eq!(counters.estimate(one), 1, "in the same window");
        counters.advance(Micros(START.0 - 1));
        assert_eq!(counters.estimate(one), 0);
    }

    #[test]
    fn cells_saturate() {
        let mut counters = JoinCounters::new(LEAST_COUNTERS, START);
        let one = cells(1, LEAST_COUNTERS);
        for _ in 0..u64::from(CELL_MAX) + 5 {
            counters.add(one);
        }
        assert_eq!(counters.estimate(one), u64::from(CELL_MAX));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Few cells, so that they collide.
        #[test]
        fn estimates_are_never_below_true_counts(
            joins in proptest::collection::vec((0_u64..40, 0_u64..200), 1..400),
        ) {
            let (mut counters, mut now) = (JoinCounters::new(16, START), START);
            let mut counted: HashMap<(u64, u64), u64> = HashMap::new();
            for (client, pause) in joins {
                now = now.add_seconds(pause / 4);
                counters.advance(now);
                counters.add(cells(client, 16));
                *counted.entry((join_window(now), client)).or_default() += 1;
                for client in 0..40 {
                    let of = |window| counted.get(&(window, client)).copied().unwrap_or_default();
                    let (current, previous) = (of(join_window(now)), of(join_window(now) - 1));
                    prop_assert!(counters.in_window(cells(client, 16)) >= current);
                    prop_assert!(counters.estimate(cells(client, 16)) >= current + previous);
                }
            }
        }
    }

    /// The shares of joins that read above a limit though their true count is not, over two full windows: of addresses above 20,
    /// of networks above 64 and of addresses above 4.
    fn errors(joins_per_window: u64, networks: u64, size: u64) -> [f64; 3] {
        let mut random = SmallRng::seed_from_u64(7);
        let mut counters = JoinCounters::new(size, START);
        let mut counted: HashMap<u64, u64> = HashMap::new();
        let mut wrong = [0_u64; 3];
        for window in 0..2 {
            counters.advance(START.add_seconds(window * JOIN_WINDOW));
            for _ in 0..joins_per_window {
                let network = random.random_range(0..networks);
                let address = (network << 32) + (1 << 31) + random.random_range(0..256);
                for prefix in [network, address] {
                    counters.add(cells(prefix, size));
                    *counted.entry(prefix).or_default() += 1;
                }
                let exceeds =
                    |prefix, limit| counted[&prefix] <= limit && counters.estimate(cells(prefix, size)) > limit;
                for (wrong, (prefix, limit)) in wrong.iter_mut().zip([(address, 20), (network, 64), (address, 4)]) {
                    *wrong += u64::from(window == 1 && exceeds(prefix, limit));
                }
            }
        }
        wrong.map(|wrong| wrong as f64 / joins_per_window as f64)
    }

    #[test]
    fn errors_are_as_documented() {
        let found = errors(100_000, 60_000, LEAST_COUNTERS);
        for (found, limit) in found.into_iter().zip([0.0001, 0.0012, 0.16]) {
            assert!(found <= limit, "{found} above {limit}");
        }
    }
}
