//! The timers of all visitors, in order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::sim_time::SimTime;

/// A priority queue of timers. Timers of the same instant fire in the order in which they were set.
#[derive(Default)]
pub(crate) struct TimerQueue {
    timers: BinaryHeap<Reverse<(SimTime, u64, u32)>>,
    set: u64,
}

impl TimerQueue {
    /// Sets a timer for a visitor.
    pub(crate) fn set(&mut self, at: SimTime, visitor: u32) {
        self.set += 1;
        self.timers.push(Reverse((at, self.set, visitor)));
    }

    /// Removes the earliest timer.
    pub(crate) fn pop(&mut self) -> Option<(SimTime, u32)> {
        self.timers.pop().map(|Reverse((at, _, visitor))| (at, visitor))
    }

    /// Removes the earliest timer that is due at `now`.
    pub(crate) fn pop_due(&mut self, now: SimTime) -> Option<(SimTime, u32)> {
        if self.timers.peek()?.0.0 <= now { self.pop() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_fire_in_order_of_time_and_insertion() {
        let mut queue = TimerQueue::default();
        for (at, visitor) in [(30, 1), (10, 2), (30, 3), (20, 4)] {
            queue.set(SimTime(at), visitor);
        }
        let fired: Vec<u32> = std::iter::from_fn(|| queue.pop()).map(|(_, visitor)| visitor).collect();
        assert_eq!(fired, [2, 4, 1, 3]);
    }

    #[test]
    fn timers_are_due_at_their_time_and_not_before() {
        let mut queue = TimerQueue::default();
        queue.set(SimTime(100), 1);
        assert_eq!(queue.pop_due(SimTime(99)), None);
        assert_eq!(queue.pop_due(SimTime(100)), Some((SimTime(100), 1)));
        assert_eq!(queue.pop_due(SimTime(200)), None);
    }
}
