//! The mode that ends by itself: a draining queue closes when nobody can come to its turn any more.

use super::Mode;
use super::state::Line;
use crate::time::Micros;

impl Line {
    /// Rule 9: closes a draining queue whose line has been empty for `hold_ttl`. Returns the revision if it did.
    ///
    /// Not at the very moment at which the line is empty: a page that is loaded anew is away for an instant, and a phone
    /// that sleeps for minutes, and a closed queue admits nobody. Whoever was in the line last had a ticket signed before
    /// it was empty, and `hold_ttl` later no such ticket is good any more. Nothing is lost by the delay, since newcomers
    /// see the closed page all along.
    pub(super) fn close_when_drained(&mut self, now: Micros) -> Option<u64> {
        if self.rules.mode != Mode::Draining || !self.order.is_empty() {
            return None;
        }
        let since = *self.empty_since.get_or_insert(now);
        if now < since.add_seconds(self.rules.hold_ttl) {
            return None;
        }
        self.rules.mode = Mode::Closed;
        self.rules.revision += 1;
        self.empty_since = None;
        Some(self.rules.revision)
    }
}
