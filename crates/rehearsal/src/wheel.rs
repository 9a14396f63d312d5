//! What is due when, for a hundred thousand visitors: a timer wheel.
//!
//! A wake-up costs a push into a slot and nothing more; what lies further ahead than one turn waits in a heap. Two of
//! one slot come in the order in which they were put in, so a run is the same again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::moment::Moment;

/// Milliseconds of a slot.
pub(crate) const SLOT_MS: u32 = 10;
/// Slots of a turn: 41 seconds.
const SLOTS: usize = 4096;

/// Who is to be woken, and when.
pub(crate) struct Wheel {
    slots: Vec<Vec<(Moment, u32)>>,
    /// The slot that is looked at next, counted from the beginning.
    next: usize,
    later: BinaryHeap<Reverse<(Moment, u64, u32)>>,
    put: u64,
    count: usize,
}

impl Default for Wheel {
    fn default() -> Self {
        Self { slots: vec![Vec::new(); SLOTS], next: 0, later: BinaryHeap::new(), put: 0, count: 0 }
    }
}

const fn slot_of(at: Moment) -> usize {
    (at.0 / SLOT_MS) as usize
}

impl Wheel {
    /// Wakes `who` at `at`; what lies behind is due at once.
    pub(crate) fn put(&mut self, at: Moment, who: u32) {
        self.count += 1;
        let slot = slot_of(at).max(self.next);
        if slot < self.next + SLOTS {
            self.slots[slot % SLOTS].push((at, who));
        } else {
            self.put += 1;
            self.later.push(Reverse((at, self.put, who)));
        }
    }

    /// Moves what is due by `now` into `due`, slot by slot. What is due within the slot of `now` comes with the next one.
    pub(crate) fn due(&mut self, now: Moment, due: &mut Vec<(Moment, u32)>) {
        let end = slot_of(now);
        while self.next < end {
            self.turn(due);
        }
    }

    /// The next slot in which something is due, and its entries. For time that jumps.
    pub(crate) fn next_due(&mut self, due: &mut Vec<(Moment, u32)>) -> bool {
        while due.is_empty() {
            if self.count == 0 {
                return false;
            }
            if self.count == self.later.len()
                && let Some(Reverse((at, _, _))) = self.later.peek()
            {
                self.next = self.next.max(slot_of(*at));
            }
            self.turn(due);
        }
        true
    }

    fn turn(&mut self, due: &mut Vec<(Moment, u32)>) {
        while let Some(Reverse((at, _, who))) = self.later.peek().copied() {
            if slot_of(at) >= self.next + SLOTS {
                break;
            }
            self.later.pop();
            self.slots[slot_of(at).max(self.next) % SLOTS].push((at, who));
        }
        let slot = &mut self.slots[self.next % SLOTS];
        self.count -= slot.len();
        due.append(slot);
        self.next += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_is_woken_once_and_in_order() {
        let mut wheel = Wheel::default();
        let times: Vec<u32> = (0..5000_u32).map(|number| number.wrapping_mul(2_654_435_761) % 400_000).collect();
        for (number, at) in times.iter().enumerate() {
            wheel.put(Moment(*at), number as u32);
        }
        let mut woken = Vec::new();
        let mut due = Vec::new();
        while wheel.next_due(&mut due) {
            woken.append(&mut due);
        }
        assert_eq!(woken.len(), times.len());
        assert!(woken.is_sorted_by_key(|(at, _)| at.0 / SLOT_MS));
        assert!(woken.iter().all(|(at, who)| times[*who as usize] == at.0));
        assert_eq!(wheel.count, 0);
    }

    #[test]
    fn nobody_is_woken_early_and_what_lies_behind_is_due_at_once() {
        let mut wheel = Wheel::default();
        wheel.put(Moment(95), 1);
        let mut due = Vec::new();
        wheel.due(Moment(99), &mut due);
        assert!(due.is_empty(), "within the slot that runs");
        wheel.due(Moment(100), &mut due);
        assert_eq!(due, [(Moment(95), 1)]);
        wheel.put(Moment(3), 2);
        due.clear();
        wheel.due(Moment(110), &mut due);
        assert_eq!(due, [(Moment(3), 2)]);
    }
}
